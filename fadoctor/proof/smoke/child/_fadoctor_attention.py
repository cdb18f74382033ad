"""Attention forward and backward against a float64 reference, whatever the backend.

Part of a worker under the target's interpreter: stdlib and torch only, Python 3.8 syntax.
Tensors are (batch, seqlen, heads, head_dim) here; a backend that wants another layout changes it.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Callable, List, Tuple

from _fadoctor_numbers import (
    compare,
    finish,
    generator,
    keep_dtype,
    keep_time,
    poison,
    relative_error,
    torch_dtype,
)
from _fadoctor_shapes import Shape, flop, shape_of, sinks_of, tell_options, visible

SPEED_BATCH, SPEED_HEADS, SPEED_SEQLEN = 4, 16, 2048
"""What is timed on a GPU instead: a shape that fills it."""

UNTIMED = ("short-q", "masked", "large", "hdim96", "hdim256", "like-decode")
"""Cases that are proved alone: their time is that of another."""

TIMED_ON_CPU = "causal"
"""The one case that is timed on a CPU, where a time is only an impression."""

SAMPLED = (*range(0, 2048, 157), 2047)
"""Some queries of a long sequence, its last one among them: a reference of all takes seconds."""

CHECKED_HEADS = (0, -1)
"""Heads of the last sequence whose timed output is compared."""

Attend = Callable[[Any, Any, Any, Shape], Any]
Tensors = List[Any]


def prove(torch: Any, trace: Any, attend: Attend, backward: bool = True, **changes: Any) -> None:
    """Run a case forward and backward, compare it with the reference, and time it.

    `attend` takes q, k, v and the shape. `changes` replace parts of the case's shape.
    """
    shape = shape_of(trace)._replace(**changes)
    on_cpu = trace.device == "cpu"
    tracked = backward and trace.cell["dtype"] != "fp8"
    backward = tracked and not (on_cpu and shape.rows)
    tell_options(trace, shape)
    trace.phase("inputs")
    host = make_inputs(torch, trace, shape)
    q, k, v = given = on_device(torch, trace, shape, host[:3], tracked)
    upstream = host[3].to(trace.device)
    poison(torch, [upstream, q, k, v])
    trace.phase("forward")
    out = run_forward(torch, trace, attend, given, shape)
    finish(torch, trace.device)
    keep_dtype(trace, out)
    if not trace.found["kernels"]:  # else the backend has named it, below a view of the output
        trace.kernel(out)
    got = [out]
    if backward:
        trace.phase("backward")
        got += torch.autograd.grad(*pushed(trace.device, out, (q, k, v), upstream.to(out.dtype)))
        finish(torch, trace.device)
    trace.phase("comparison")
    want = reference(
        host,
        visible(torch, shape),
        backward,
        shape.rows,
        shape.softcap,
        sinks_of(torch, shape),
    )
    got[:2] = [picked(tensor.detach(), shape.rows) for tensor in got[:2]]
    compare(torch, trace, ("out", "dq", "dk", "dv"), list(zip(got, want)))
    if not trace.timed or trace.cell["case"] in UNTIMED or shape.inputs or shape.rows:
        return
    if not on_cpu:
        trace.proved()
        measure_speed(torch, trace, attend, shape, backward)
    elif trace.cell["case"] == TIMED_ON_CPU:
        trace.proved()
        last = time_it(torch, trace, attend, given, upstream if backward else None, shape)
        trace.found["errors"]["timed"] = relative_error(torch, last, want[0])


def pushed(device: str, out: Any, inputs: Any, upstream: Any) -> Tuple[Any, ...]:
    """Return what to give to torch.autograd.grad.

    With an upstream gradient it imports sympy, which takes longer on a CPU than all cells.
    """
    return ((out * upstream).sum(), inputs) if device == "cpu" else (out, inputs, upstream)


def picked(tensor: Any, rows: Tuple[int, ...]) -> Any:
    """Return the queries of (batch, seqlen, ...) that are compared."""
    return tensor[:, list(rows)] if rows else tensor


def make_inputs(torch: Any, trace: Any, shape: Shape) -> Tensors:
    """Return q, k, v and the upstream gradient in the cell's dtype, on the CPU."""
    rng = generator(torch, trace.cell, trace.device)
    dtype = torch_dtype(torch, trace.cell["dtype"])
    batch, seqlen, dim = shape.batch, shape.seqlen, shape.head_dim
    q_form = (batch, shape.queries or seqlen, shape.heads, dim)
    kv_form = (batch, seqlen, shape.kv_heads, dim)
    forms = (q_form, kv_form, kv_form, q_form)
    factors = (shape.magnitude, shape.magnitude, 1.0, 1.0)
    q, k, v, upstream = (
        (torch.randn(form, generator=rng) * factor).to(dtype)
        for form, factor in zip(forms, factors)
    )
    if trace.cell["dtype"] == "fp8":  # there is no backward
        upstream = upstream.float()
    if shape.rows:
        kept = torch.zeros(seqlen, 1, 1, dtype=upstream.dtype)
        kept[list(shape.rows)] = 1
        upstream = upstream * kept
    return [q, k, v, upstream]


def on_device(torch: Any, trace: Any, shape: Shape, host: Tensors, tracked: bool) -> Tensors:
    """Return q, k and v on the device, in the dtypes that a trap asks for."""
    dtypes = shape.inputs or ("", "", "")
    own = trace.cell["dtype"]
    moved = [
        tensor.to(trace.device, torch_dtype(torch, name or own), copy=True)
        for tensor, name in zip(host, dtypes)
    ]
    return [tensor.requires_grad_() for tensor in moved] if tracked else moved


def run_forward(torch: Any, trace: Any, attend: Attend, given: Tensors, shape: Shape) -> Any:
    """Call the backend, under autocast where the case says so."""
    kind = "cpu" if trace.device == "cpu" else "cuda"
    dtype = torch_dtype(torch, trace.cell["dtype"])
    cast = torch.autocast(kind, dtype=dtype) if shape.autocast else contextlib.nullcontext()
    with cast:
        return attend(given[0], given[1], given[2], shape)


def reference(  # noqa: PLR0913, PLR0917 -- what attention consists of
    host: Tensors,
    seen: Any,
    backward: bool = True,
    rows: Tuple[int, ...] = (),
    softcap: float = 0.0,
    sinks: Any = None,
) -> Tensors:
    """Return out, dq, dk and dv in float64 on the CPU, by plain softmax of the rounded inputs.

    Of some queries alone where `rows` names them: dk and dv are theirs, since no other has an
    upstream gradient.
    """
    host = [picked(host[0], rows), *host[1:3], *(picked(tensor, rows) for tensor in host[3:])]
    q, k, v = (each.double().transpose(1, 2).contiguous() for each in host[:3])
    share, factor = q.shape[1] // k.shape[1], 1 / math.sqrt(q.shape[-1])
    if share > 1:
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
    scores = (q @ k.transpose(-2, -1)).mul_(factor)
    slope = factor
    if softcap:
        bent = (scores / softcap).tanh_()
        scores, slope = softcap * bent, factor * (1 - bent * bent)
    if seen is not None:
        scores.masked_fill_(~seen, -math.inf)
    top = scores.amax(-1, keepdim=True)
    weights = scores.sub_(top).exp_()
    total = weights.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + (sinks[:, None, None] - top).exp()
    out = weights.div_(total) @ v
    found = [out, *gradients(weights, slope, (q, k, v, out), host[3], share)] if backward else [out]
    return [each.transpose(1, 2) for each in found]


def gradients(
    weights: Any, slope: Any, given: Tuple[Any, ...], upstream: Any, share: int
) -> Tensors:
    """Return dq, dk and dv by the rule of softmax: autograd takes a fifth more time.

    `slope`: of logits by products of q and k. `share`: query heads of one head of keys.
    """
    q, k, v, out = given
    upstream = upstream.double().transpose(1, 2).contiguous()
    dv = weights.transpose(-2, -1) @ upstream
    change = upstream @ v.transpose(-2, -1)
    change.sub_((upstream * out).sum(-1, keepdim=True)).mul_(weights).mul_(slope)
    dq, dk = change @ k, change.transpose(-2, -1) @ q
    if share > 1:
        dk, dv = (each.unflatten(1, (-1, share)).sum(2) for each in (dk, dv))
    return [dq, dk, dv]


def measure_speed(torch: Any, trace: Any, attend: Attend, shape: Shape, backward: bool) -> None:
    """On a GPU, time a shape that fills it, compare what the last call computed, note memory."""
    if not shape.lengths:
        ratio = shape.heads // shape.kv_heads
        kv_heads = max(SPEED_HEADS // ratio, 1)
        shape = shape._replace(
            batch=SPEED_BATCH,
            heads=kv_heads * ratio,
            kv_heads=kv_heads,
            seqlen=SPEED_SEQLEN,
        )
    torch.cuda.reset_peak_memory_stats(trace.device)
    q, k, v, upstream = make_on_gpu(torch, trace, shape)
    given = [tensor.requires_grad_(backward) for tensor in (q, k, v)]
    last = time_it(torch, trace, attend, given, upstream if backward else None, shape)
    trace.found["peak_memory_bytes"] = torch.cuda.max_memory_allocated(trace.device)
    trace.found["errors"]["timed"] = timed_error(torch, given, last, shape)


def make_on_gpu(torch: Any, trace: Any, shape: Shape) -> Tensors:
    """Return q, k, v and the upstream gradient: so many random numbers take long on a CPU."""
    rng = torch.Generator(trace.device).manual_seed(generator(torch, trace.cell, "").initial_seed())
    dtype = torch_dtype(torch, trace.cell["dtype"])
    forms = [
        (shape.batch, shape.seqlen, heads, shape.head_dim)
        for heads in (shape.heads, shape.kv_heads, shape.kv_heads, shape.heads)
    ]
    return [torch.randn(form, generator=rng, device=trace.device).to(dtype) for form in forms]


def time_it(  # noqa: PLR0913, PLR0917 -- what a run consists of
    torch: Any, trace: Any, attend: Attend, given: Tensors, upstream: Any, shape: Shape
) -> Any:
    """Keep the times of warm runs and what they computed; return the last run's output.

    A backward is timed with a forward of its own, whose time is taken off: what torch.compile made
    gives its buffers away in its first backward, and refuses a second one of the same graph.
    Where a busy machine made the forward alone the slower one, the backward keeps no time.
    """
    results: List[Any] = []

    def run_once() -> None:
        results[:] = [attend(given[0], given[1], given[2], shape)]

    run_once()
    keep_time(torch, trace, "forward_ms", run_once)
    trace.found["forward_flop"] = flop(shape)
    if upstream is not None:

        def run_both() -> None:
            run_once()
            out = results[0]
            torch.autograd.grad(*pushed(trace.device, out, given, upstream.to(out.dtype)))

        run_both()
        keep_time(torch, trace, "backward_ms", run_both)
        backward_ms = trace.found.pop("backward_ms") - trace.found["forward_ms"]
        if backward_ms > 0:
            trace.found["backward_ms"] = backward_ms
    return results[0]


def timed_error(torch: Any, given: Tensors, last: Any, shape: Shape) -> Any:
    """Return the error of a timed output, at some queries and heads of the last sequence."""
    rows = tuple(range(0, shape.seqlen, 16)) if shape.lengths else SAMPLED
    share = shape.heads // shape.kv_heads
    heads = [head % shape.heads for head in CHECKED_HEADS]
    # In float64 on the CPU first: torch cannot index fp8 everywhere.
    q, k, v, got = (each.detach()[-1:].cpu().double() for each in (*given, last))
    above = [head // share for head in heads]
    host = [q[:, :, heads], k[:, :, above], v[:, :, above]]
    seen = visible(torch, shape._replace(rows=rows))
    [want] = reference(host, seen, False, rows, shape.softcap)
    return relative_error(torch, picked(got[:, :, heads], rows), want)
