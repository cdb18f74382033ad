"""torch's scaled_dot_product_attention with one backend forced.

Part of a worker under the target's interpreter: stdlib and torch only, Python 3.8 syntax.
"""

from __future__ import annotations

from typing import Any, Dict

from _fadoctor_attention import prove
from _fadoctor_numbers import LackingError
from _fadoctor_shapes import lacks, visible

BACKENDS = {
    "sdpa-flash": ("FLASH_ATTENTION", "enable_flash"),
    "sdpa-efficient": ("EFFICIENT_ATTENTION", "enable_mem_efficient"),
    "sdpa-cudnn": ("CUDNN_ATTENTION", ""),
    "sdpa-math": ("MATH", "enable_math"),
}
"""Backend -> member of SDPBackend, and its argument of the older ``sdp_kernel``."""


def run(torch: Any, trace: Any, backend: str = "") -> None:
    """Run one cell; `backend`: the one that is forced, where it is not the cell's."""
    function = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if function is None:
        raise LackingError("this torch has no scaled_dot_product_attention")
    context = forced(torch, backend or trace.cell["backend"])

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        lacks(shape, "a mask", "a sliding window")
        heads_first = (tensor.transpose(1, 2) for tensor in (q, k, v))
        causal = shape.causal and not shape.window
        more: Dict[str, Any] = {"enable_gqa": True} if shape.heads != shape.kv_heads else {}
        if shape.masked or shape.window:
            seen = visible(torch, shape).to(trace.device)
            more["attn_mask"] = (
                seen.expand(q.shape[0], -1, q.shape[1], -1) if shape.masked else seen
            )
        with context():
            try:
                out = function(*heads_first, is_causal=causal, **more)
            except TypeError as error:  # the argument is younger than the function
                if more and "enable_gqa" in str(error):
                    raise LackingError("this torch has no grouped heads here") from None
                raise
        # The transposed view would hide the node that proves which kernel ran.
        trace.kernel(out)
        return out.transpose(1, 2)

    prove(torch, trace, attend)


def forced(torch: Any, backend: str) -> Any:
    """Return what makes the context in which torch may use this one backend only."""
    member, argument = BACKENDS[backend]
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:  # before there was torch.nn.attention
        if not argument:
            raise LackingError("this torch has no such backend") from None
        off = {"enable_flash": False, "enable_math": False, "enable_mem_efficient": False}
        return lambda: torch.backends.cuda.sdp_kernel(**dict(off, **{argument: True}))
    if not hasattr(SDPBackend, member):
        raise LackingError("this torch has no SDPBackend." + member)
    return lambda: sdpa_kernel(getattr(SDPBackend, member))
