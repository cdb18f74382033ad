"""flash-attn's and triton's kernels on a CPU, by triton's interpreter.

Part of a worker under the target's interpreter, used only where the user has set TRITON_INTERPRET=1
(and FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE for flash-attn's attention). It shows that the Python
side and the algorithm are right; of a GPU it shows nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

OPERATORS = (
    "_flash_attn_forward",
    "_flash_attn_varlen_forward",
    "_flash_attn_backward",
    "_flash_attn_varlen_backward",
)


def lend_cpu_kernels(torch: Any) -> None:
    """Register flash-attn's operators for the CPU: they are declared for CUDA only.

    What runs is the same Python function that flash-attn gives to torch for CUDA; with its Triton
    backend it launches Triton kernels, which the interpreter runs.
    """
    interface = importlib.import_module("flash_attn.flash_attn_interface")
    if getattr(torch, "fadoctor_lent", False):
        return
    for name in OPERATORS:
        operator = getattr(interface, name)
        torch.library.register_kernel("flash_attn::" + name, "cpu", operator._init_fn)  # noqa: SLF001
    torch.fadoctor_lent = True


def mend_bf16(trace: Any) -> None:
    """Make the interpreter's tl.dot right for bfloat16, in this process, and say so.

    The interpreter keeps bfloat16 as 16-bit integers and multiplies these (seen in triton 3.4.0,
    3.7.1 and 3.9.0): results are off by a factor of millions. No compiled kernel does that, so that
    the cell would blame the wrong one.
    """
    if trace.cell["dtype"] != "bf16":
        return
    import numpy as np
    import triton.language as tl
    from triton.runtime import interpreter

    trace.note("triton's interpreter multiplies bf16 wrongly; mended for this run")
    builder = interpreter.InterpreterBuilder
    healthy = builder.create_dot
    if getattr(healthy, "mended", False):
        return

    def widened(handle: Any) -> Any:
        """Return a bf16 operand as float32: its bits are the upper half of those."""
        if handle.dtype.scalar != tl.bfloat16:
            return handle
        bits = handle.data.view(np.uint16).astype(np.uint32) << np.uint32(16)
        return interpreter.TensorHandle(bits.view(np.float32), tl.float32)

    def create_dot(self: Any, a: Any, b: Any, *rest: Any, **more: Any) -> Any:
        return healthy(self, widened(a), widened(b), *rest, **more)

    create_dot.mended = True  # type: ignore[attr-defined]
    builder.create_dot = create_dot
