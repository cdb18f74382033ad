"""xformers' memory-efficient attention, with the operator that xformers chooses.

Read in the wheel 0.0.35: (batch, seqlen, heads, head_dim), ``LowerTriangularMask`` for causal. Part
of a worker under the target's interpreter.
"""

from __future__ import annotations

from typing import Any

from _fadoctor_attention import prove
from _fadoctor_shapes import lacks


def run(torch: Any, trace: Any) -> None:
    """Run one cell."""
    from xformers.ops import LowerTriangularMask, memory_efficient_attention

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        lacks(shape)
        mask = LowerTriangularMask() if shape.causal else None
        return memory_efficient_attention(q, k, v, attn_bias=mask)

    prove(torch, trace, attend)
