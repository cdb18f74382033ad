"""Attention forward and backward against a float64 reference, whatever the backend.

Part of a worker under the target's interpreter: stdlib and torch only, Python 3.8 syntax.
Tensors are (batch, seqlen, heads, head_dim) here; a backend that wants another layout changes it.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Callable, List, NamedTuple, Tuple

from _fadoctor_numbers import (
    compare,
    finish,
    generator,
    median_ms,
    poison,
    torch_dtype,
)


class Shape(NamedTuple):
    """One case: 320 is several tiles and a ragged last one, yet quick on a CPU."""

    batch: int = 1
    heads: int = 4
    kv_heads: int = 4
    seqlen: int = 320
    head_dim: int = 64
    causal: bool = False
    lengths: Tuple[int, ...] = ()
    """Sequences that are packed into the one of the batch."""
    cached: Tuple[int, ...] = ()
    """Filled length of each cache, for one new token each."""
    inputs: Tuple[str, ...] = ()
    """Dtypes of q, k and v where they are not the cell's: a trap."""
    autocast: bool = False


SHAPES = {
    "full": Shape(),
    "causal": Shape(causal=True),
    "gqa": Shape(heads=8, kv_heads=2, causal=True),
    "hdim128": Shape(head_dim=128, causal=True),
    "hdim256": Shape(head_dim=256, causal=True),
    "varlen": Shape(seqlen=320, causal=True, lengths=(130, 1, 189)),
    "kvcache": Shape(batch=3, heads=8, kv_heads=2, seqlen=256, cached=(130, 1, 255)),
    "mixed": Shape(causal=True, inputs=("", "fp32", "fp32")),
    "mixed-autocast": Shape(causal=True, inputs=("", "fp32", "fp32"), autocast=True),
    "fp32-autocast": Shape(causal=True, inputs=("fp32", "fp32", "fp32"), autocast=True),
}
"""Case -> shape."""

SPEED_HEADS, SPEED_SEQLEN = 16, 2048
"""What is timed on a GPU instead: a shape that fills it and still fits a small one."""

Attend = Callable[[Any, Any, Any, Shape], Any]
Tensors = List[Any]


def prove(torch: Any, trace: Any, attend: Attend, backward: bool = True, **changes: Any) -> None:
    """Run a case forward and backward, compare it with the reference, and time it.

    `attend` takes q, k, v and the shape. `changes` replace parts of the case's shape.
    """
    shape = SHAPES[trace.cell["case"]]._replace(**changes)
    backward = backward and trace.cell["dtype"] != "fp8"
    trace.phase("inputs")
    host = make_inputs(torch, trace, shape)
    q, k, v = given = on_device(torch, trace, shape, host[:3], backward)
    upstream = host[3].to(trace.device)
    poison(torch, [upstream, q, k, v])
    trace.phase("forward")
    out = run_forward(torch, trace, attend, given, shape)
    finish(torch, trace.device)
    if not trace.found["kernels"]:  # else the backend has named it, below a view of the output
        trace.kernel(out)
    got = [out]
    if backward:
        trace.phase("backward")
        got += torch.autograd.grad(out, (q, k, v), upstream.to(out.dtype))
        finish(torch, trace.device)
    trace.phase("comparison")
    want = reference(torch, host, visible(torch, shape), backward)
    compare(torch, trace, ("out", "dq", "dk", "dv"), list(zip(got, want)))
    if trace.timed and not shape.inputs:
        measure_speed(torch, trace, attend, shape, backward)


def make_inputs(torch: Any, trace: Any, shape: Shape) -> Tensors:
    """Return q, k, v and the upstream gradient in the cell's dtype, on the CPU."""
    rng = generator(torch, trace.cell, trace.device)
    dtype = torch_dtype(torch, trace.cell["dtype"])
    batch, seqlen, dim = shape.batch, shape.seqlen, shape.head_dim
    q_form = (batch, seqlen, shape.heads, dim)
    kv_form = (batch, seqlen, shape.kv_heads, dim)
    forms = (q_form, kv_form, kv_form, q_form)
    q, k, v, upstream = (torch.randn(form, generator=rng).to(dtype) for form in forms)
    if trace.cell["dtype"] == "fp8":  # there is no backward
        upstream = upstream.float()
    return [q, k, v, upstream]


def on_device(torch: Any, trace: Any, shape: Shape, host: Tensors, backward: bool) -> Tensors:
    """Return q, k and v on the device, in the dtypes that a trap asks for."""
    dtypes = shape.inputs or ("", "", "")
    own = trace.cell["dtype"]
    moved = [
        tensor.to(trace.device, torch_dtype(torch, name or own), copy=True)
        for tensor, name in zip(host, dtypes)
    ]
    return [tensor.requires_grad_() for tensor in moved] if backward else moved


def run_forward(torch: Any, trace: Any, attend: Attend, given: Tensors, shape: Shape) -> Any:
    """Call the backend, under autocast where the case says so."""
    kind = "cpu" if trace.device == "cpu" else "cuda"
    dtype = torch_dtype(torch, trace.cell["dtype"])
    cast = torch.autocast(kind, dtype=dtype) if shape.autocast else contextlib.nullcontext()
    with cast:
        return attend(given[0], given[1], given[2], shape)


def visible(torch: Any, shape: Shape) -> Any:
    """Return which keys a query sees, (seqlen, seqlen); None where it sees all."""
    if not shape.causal and not shape.lengths:
        return None
    seen = torch.ones(shape.seqlen, shape.seqlen, dtype=torch.bool)
    if shape.causal:
        seen = seen.tril()
    if shape.lengths:
        owner = torch.repeat_interleave(
            torch.arange(len(shape.lengths)), torch.tensor(shape.lengths)
        )
        seen = seen & (owner[:, None] == owner[None, :])
    return seen


def reference(torch: Any, host: Tensors, seen: Any, backward: bool = True) -> Tensors:
    """Return out, dq, dk and dv in float64 on the CPU, by plain softmax of the rounded inputs."""
    leaves = [tensor.double().requires_grad_(backward) for tensor in host[:3]]
    q, k, v = (tensor.transpose(1, 2) for tensor in leaves)
    share = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    out = ((weights / weights.sum(-1, keepdim=True)) @ v).transpose(1, 2)
    if not backward:
        return [out]
    return [out.detach(), *torch.autograd.grad(out, leaves, host[3].double())]


def measure_speed(torch: Any, trace: Any, attend: Attend, shape: Shape, backward: bool) -> None:
    """Keep the times of warm runs, what they computed, and on a GPU the memory that they took."""
    trace.phase("timing")
    on_gpu = trace.device != "cpu"
    if on_gpu and not shape.lengths:
        ratio = shape.heads // shape.kv_heads
        shape = shape._replace(
            heads=SPEED_HEADS, kv_heads=SPEED_HEADS // ratio, seqlen=SPEED_SEQLEN
        )
    host = make_inputs(torch, trace, shape)
    q, k, v = given = on_device(torch, trace, shape, host[:3], backward)
    upstream = host[3].to(trace.device)

    def run_once() -> Any:
        return attend(q, k, v, shape)

    def run_back() -> Any:
        return torch.autograd.grad(out, given, upstream, retain_graph=True)

    try:
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(trace.device)
        out = run_once()
        trace.found["forward_ms"] = median_ms(torch, trace.device, run_once)
        if backward:
            upstream = upstream.to(out.dtype)
            run_back()
            trace.found["backward_ms"] = median_ms(torch, trace.device, run_back)
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        trace.note("not timed: " + str(error).splitlines()[0][:200])
        return
    trace.found["forward_flop"] = flop(shape)
    if on_gpu:
        trace.found["peak_memory_bytes"] = torch.cuda.max_memory_allocated(trace.device)


def flop(shape: Shape) -> float:
    """Return the floating-point operations of a forward: two products of (query, key) pairs."""
    lengths = shape.lengths or (shape.seqlen,) * shape.batch
    pairs = sum(n * (n + 1) / 2 if shape.causal else n * n for n in lengths)
    return 4.0 * pairs * shape.heads * shape.head_dim
