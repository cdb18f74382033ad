"""torch.compile with flex attention: dynamo, inductor and, on a GPU, triton.

On a CPU it has no backward. Part of a worker under the target's interpreter: stdlib and torch only.
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict

from _fadoctor_attention import lacks, prove
from _fadoctor_numbers import LackingError

SEQLEN = 256
"""A multiple of 128: the first releases take no other length."""


def keep_no_graphs() -> None:
    """Compile each cell anew: torch 2.11.0 on an H200 took a kept graph of another autocast dtype.

    float16 then came out with the error of bfloat16.
    """
    with contextlib.suppress(Exception):
        from torch._inductor import config

        config.force_disable_caches = True


def run(torch: Any, trace: Any) -> None:
    """Run one cell."""
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError:
        raise LackingError("this torch has no flex_attention") from None
    trace.patient = True
    # All cells compile the same code object: without a reset the limit of recompilations is soon
    # reached, and attention would run uncompiled and pass. `fullgraph` makes that an error.
    torch.compiler.reset()
    keep_no_graphs()
    compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)
    masks: Dict[int, Any] = {}  # making one takes longer than the attention

    def is_past(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
        return query >= key

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        lacks(shape)
        length = shape.seqlen
        if shape.causal and length not in masks:
            masks[length] = create_block_mask(
                is_past, None, None, length, length, device=trace.device
            )
        heads_first = (tensor.transpose(1, 2) for tensor in (q, k, v))
        out = compiled(*heads_first, block_mask=masks.get(length))
        trace.kernel(out)
        return out.transpose(1, 2)

    prove(torch, trace, attend, backward=trace.device != "cpu", seqlen=SEQLEN)
