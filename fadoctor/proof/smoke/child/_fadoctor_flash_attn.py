"""flash-attn 2, 3 and 4 by their public functions.

Read at the tags v2.0.4 to v2.8.3 (2), hopper at v2.6.3 to the main branch (3) and in the wheel
4.0.0b36 (4): all take (batch, seqlen, heads, head_dim), all name the arguments below the same, and
3 and 4 give a tuple in some releases. Part of a worker under the target's interpreter.
"""

from __future__ import annotations

import importlib
import inspect
import os
from typing import Any, Dict

from _fadoctor_attention import make_inputs, prove, reference
from _fadoctor_numbers import LackingError, compare, finish, keep_dtype, poison
from _fadoctor_shapes import SHAPES, lacks

MODULES = {
    "fa2": "flash_attn",
    "fa3": "flash_attn_interface",
    "fa4": "flash_attn.cute",
}
"""Backend -> module with the functions. ``flash_attn`` alone proves nothing: 4 has it, too."""


def run(torch: Any, trace: Any) -> None:
    """Run one cell."""
    module = load(torch, trace)
    case = trace.cell["case"]
    if case == "kvcache":
        decode(torch, trace, public(module, "flash_attn_with_kvcache"))
    elif case == "varlen":
        prove(torch, trace, packed(torch, trace, public(module, "flash_attn_varlen_func")))
    else:
        prove(torch, trace, plain(public(module, "flash_attn_func")))


def load(torch: Any, trace: Any) -> Any:
    """Import the package; on a CPU, give it kernels that triton interprets."""
    backend = trace.cell["backend"]
    trace.patient = backend == "fa4"
    module = importlib.import_module(MODULES[backend])
    if backend == "fa2" and getattr(module, "__file__", None) is None:
        raise LackingError("flash_attn is an empty namespace here: there is no flash-attn 2")
    if trace.device == "cpu" and os.environ.get("TRITON_INTERPRET") == "1":
        from _fadoctor_interpreted import lend_cpu_kernels, mend_bf16

        lend_cpu_kernels(torch)
        mend_bf16(trace)
        trace.timed = False  # times of an interpreter say nothing, and cost seconds
    return module


def public(module: Any, name: str) -> Any:
    """Return a public function; releases before it was added have none."""
    function = getattr(module, name, None)
    if function is None:
        raise LackingError("this release has no " + name)
    return function


def plain(function: Any) -> Any:
    """Return attention over whole batches."""

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        lacks(shape, "a sliding window", "a softcap")
        more: Dict[str, Any] = {}
        if shape.window:
            more["window_size"] = (shape.window - 1, 0)
        if shape.softcap:
            more["softcap"] = shape.softcap
        for name in more:
            if not takes(function, name):
                raise LackingError("this release has no " + name)
        return first(function(q, k, v, causal=shape.causal, **more))

    return attend


def packed(torch: Any, trace: Any, function: Any) -> Any:
    """Return attention over sequences of different length, packed into one."""
    unused = {name: None for name in ("seqused_q", "seqused_k") if requires(function, name)}

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        ends = torch.tensor((0, *shape.lengths)).cumsum(0).to(trace.device, torch.int32)
        out = function(
            q[0],
            k[0],
            v[0],
            cu_seqlens_q=ends,
            cu_seqlens_k=ends,
            max_seqlen_q=max(shape.lengths),
            max_seqlen_k=max(shape.lengths),
            causal=shape.causal,
            **unused,
        )
        out = first(out)
        trace.kernel(out)
        return out[None]

    return attend


def decode(torch: Any, trace: Any, function: Any) -> None:
    """Run one step of generation: a token for each sequence, appended to its cache. No backward."""
    if not takes(function, "k"):  # hopper from v2.7.0 to v2.7.2
        raise LackingError("flash_attn_with_kvcache of this release appends no token")
    shape = SHAPES["kvcache"]
    trace.phase("inputs")
    q, k, v, _ = make_inputs(torch, trace, shape)
    new = make_inputs(torch, trace, shape._replace(seqlen=1, causal=True))
    filled = torch.tensor(shape.cached)
    for index, length in enumerate(shape.cached):  # what the kernel itself has to do
        k[index, length], v[index, length] = new[1][index, 0], new[2][index, 0]
    host = [q[:, :1], k, v]
    given = [tensor.to(trace.device, copy=True) for tensor in host]
    given[1].transpose(0, 1)[shape.cached, range(shape.batch)] = 0
    given[2].transpose(0, 1)[shape.cached, range(shape.batch)] = 0
    fresh = [tensor.to(trace.device) for tensor in new]
    lengths = filled.to(trace.device, torch.int32)
    poison(torch, [given[0]])
    trace.phase("forward")
    with torch.no_grad():
        out = first(
            function(
                given[0],
                given[1],
                given[2],
                k=fresh[1],
                v=fresh[2],
                cache_seqlens=lengths,
                causal=True,
            )
        )
    finish(torch, trace.device)
    keep_dtype(trace, out)
    trace.phase("comparison")
    seen = (torch.arange(shape.seqlen)[None, :] <= filled[:, None])[:, None, None, :]
    want = reference(host, seen, backward=False)
    compare(torch, trace, ("out", "cache"), [(out, want[0]), (given[1], k)])


def takes(function: Any, name: str) -> bool:
    """Tell whether a function has an argument; one that cannot be looked at has it."""
    try:
        arguments = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return name in arguments or any(a.kind is a.VAR_KEYWORD for a in arguments.values())


def requires(function: Any, name: str) -> bool:
    """Tell whether a function cannot do without an argument: hopper's at v2.7.3 and v2.7.4."""
    try:
        found = inspect.signature(function).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return (
        found is not None and found.default is found.empty and found.kind is not found.VAR_KEYWORD
    )


def first(out: Any) -> Any:
    """Return the output alone: some releases of 3 and 4 give the log-sum-exp beside it."""
    return out[0] if isinstance(out, (tuple, list)) else out
