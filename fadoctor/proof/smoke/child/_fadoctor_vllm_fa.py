"""vLLM's own FlashAttention, forward only: it has no backward.

The arguments below have had the same names since vLLM 0.6.2, in changing order. It holds kernels of
FlashAttention 2, 3 and 4; what runs is the one that vLLM itself takes on this GPU, where it has the
function that says so. Part of a worker under the target's interpreter.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict

from _fadoctor_attention import prove
from _fadoctor_numbers import LackingError
from _fadoctor_shapes import lacks


def run(torch: Any, trace: Any) -> None:
    """Run one cell: the sequences of the batch, packed into one."""
    from vllm.vllm_flash_attn import flash_attn_varlen_func

    version = chosen_version()
    more: Dict[str, Any] = {} if version is None else {"fa_version": version}
    kind = "its default kernels" if version is None else "FlashAttention-%d" % version
    trace.note("vLLM's own: %s" % kind)

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        lacks(shape)
        if shape.queries:
            raise LackingError("it is packed here, queries and keys alike")
        lengths = shape.lengths or (shape.seqlen,) * shape.batch
        ends = torch.tensor((0, *lengths)).cumsum(0).to(trace.device, torch.int32)
        out = flash_attn_varlen_func(
            q=q.flatten(0, 1),
            k=k.flatten(0, 1),
            v=v.flatten(0, 1),
            cu_seqlens_q=ends,
            cu_seqlens_k=ends,
            max_seqlen_q=max(lengths),
            max_seqlen_k=max(lengths),
            causal=shape.causal,
            **more,
        )
        out = out[0] if isinstance(out, (tuple, list)) else out
        return out.reshape(q.shape)

    prove(torch, trace, attend, backward=False)


def chosen_version() -> Any:
    """Return which FlashAttention vLLM takes on this GPU; None where it does not tell."""
    for name in ("vllm.v1.attention.backends.fa_utils", "vllm.attention.utils.fa_utils"):
        try:
            found = importlib.import_module(name).get_flash_attn_version()
        except Exception:  # noqa: S112 -- it moved, and asserts what it likes
            continue
        if isinstance(found, int):
            return found
    return None
