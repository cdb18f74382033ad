"""torch.compile with flex attention: dynamo, inductor and, on a GPU, triton.

On a CPU it has no backward. Part of a worker under the target's interpreter: stdlib and torch only.
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict

from _fadoctor_attention import prove
from _fadoctor_numbers import LackingError
from _fadoctor_shapes import lacks, sinks_of

SEQLEN = 256
"""A multiple of 128: the first releases take no other length."""


def keep_no_graphs() -> None:
    """Compile each cell anew: torch 2.11.0 on an H200 took a kept graph of another autocast dtype.

    float16 then came out with the error of bfloat16.
    """
    with contextlib.suppress(Exception):
        from torch._inductor import config

        config.force_disable_caches = True


def capped(torch: Any, softcap: float) -> Any:
    """Return what bounds the logits, None where nothing does."""

    def cap(score: Any, _batch: Any, _head: Any, _query: Any, _key: Any) -> Any:
        return softcap * torch.tanh(score / softcap)

    return cap if softcap else None


def seen_by(shape: Any) -> Any:
    """Return which keys a query sees, as flex asks for it; None where it sees all."""

    def sees(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
        past = query >= key
        return past & (query - key < shape.window) if shape.window else past

    return sees if shape.causal or shape.window else None


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
    options: Dict[str, Any] = {}

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        lacks(shape, "a sliding window", "a softcap", "sinks")
        if shape.sinks and trace.device == "cpu":
            raise LackingError("on a CPU it does not tell what the logits add up to")
        if shape.queries:
            raise LackingError("it is tried with as many queries as keys")
        length = shape.seqlen
        sees = seen_by(shape)
        if sees and length not in masks:
            masks[length] = create_block_mask(sees, None, None, length, length, device=trace.device)
        if not options:
            options["score_mod"] = capped(torch, shape.softcap)
            if q.shape[2] != k.shape[2]:
                options["enable_gqa"] = True
            if shape.sinks:
                options["return_lse"] = True
        heads_first = (tensor.transpose(1, 2) for tensor in (q, k, v))
        out = compiled(*heads_first, block_mask=masks.get(length), **options)
        if shape.sinks:  # a sink takes its share of what the logits add up to
            out, total = out
            sinks = sinks_of(torch, shape).to(total)[:, None]
            out = out * torch.sigmoid(total - sinks)[..., None].to(out.dtype)
        trace.kernel(out)
        return out.transpose(1, 2)

    prove(torch, trace, attend, backward=trace.device != "cpu", seqlen=SEQLEN)
