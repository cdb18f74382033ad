"""vLLM's own FlashAttention, forward only: it has no backward.

The five arguments below have had the same names since vLLM 0.6.2, in changing order. Part of a
worker under the target's interpreter.
"""

from __future__ import annotations

from typing import Any

from _fadoctor_attention import prove


def run(torch: Any, trace: Any) -> None:
    """Run one cell: the sequences of the batch, packed into one."""
    from vllm.vllm_flash_attn import flash_attn_varlen_func

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
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
        )
        out = out[0] if isinstance(out, (tuple, list)) else out
        return out.reshape(q.shape)

    prove(torch, trace, attend, backward=False)
