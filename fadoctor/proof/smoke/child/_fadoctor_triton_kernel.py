"""The kernel of `_fadoctor_triton`, in a file of its own: triton reads it from there.

Part of a worker under the target's interpreter. Annotations are not postponed here: triton looks at
them.
"""

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def multiply(a, b, out, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, N803
    """Write the product of two (SIZE, SIZE) row-major matrices, in full float32 precision."""
    steps = tl.arange(0, SIZE)
    place = steps[:, None] * SIZE + steps[None, :]
    product = tl.dot(tl.load(a + place), tl.load(b + place), allow_tf32=False)
    tl.store(out + place, product)
