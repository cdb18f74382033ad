"""What every test shares: inputs, float64 comparison, poisoned memory, times.

Part of a worker under the target's interpreter: stdlib and torch only, Python 3.8 syntax.
"""

from __future__ import annotations

import json
import statistics
import time
import zlib
from typing import Any, Callable, Dict, List, Sequence, Tuple

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp8": "float8_e4m3fn"}
"""Our names -> names in torch."""

RUNS = {"cuda": 5, "cpu": 1}
"""Warm runs that a time is the median of; on a GPU of several calls each. On a CPU it is an
impression."""

BUDGET_S = {"cuda": 2.0, "cpu": 0.3}
"""Seconds after which no further run is started: some kernels are slow, and one may hang."""

CALLS_MS, MOST_CALLS = 20.0, 32
"""On a GPU a run is as many calls as take this long, milliseconds, between two events; so few that
they do not fill the queue of launches, where Python would wait for the GPU."""

LAUNCH_BOUND = 0.9
"""Share of the time of a call that Python takes to launch it, from which on that is the time."""


class LackingError(Exception):
    """What is tested has no such thing: no failure, and nothing to run."""


def torch_dtype(torch: Any, name: str) -> Any:
    """Return torch's dtype for one of our names."""
    found = getattr(torch, DTYPES[name], None)
    if found is None:
        raise LackingError("this torch has no " + DTYPES[name])
    return found


def generator(torch: Any, cell: Dict[str, str], device: str) -> Any:
    """Return a random generator of its own for each cell and device.

    Inputs differ from cell to cell, so that a kernel that does nothing cannot find the right answer
    in memory that an earlier one has left.
    """
    seed = zlib.crc32(json.dumps([cell, device], sort_keys=True).encode("ascii"))
    return torch.Generator().manual_seed(seed)


def poison(torch: Any, like: Sequence[Any]) -> None:
    """Fill memory of the given tensors' sizes with NaN and free it again.

    torch's allocator hands the same blocks to what comes next: a tile that a kernel never writes
    then holds NaN, and not the right answer of an earlier run.
    """
    kept = [torch.full_like(tensor, float("nan")) for tensor in like if tensor.element_size() > 1]
    del kept


def finish(torch: Any, device: str) -> None:
    """Wait until a device has done what it was given: its errors belong to this phase."""
    if device != "cpu":
        torch.cuda.synchronize(device)


def compare(torch: Any, trace: Any, names: Sequence[str], pairs: Sequence[Tuple[Any, Any]]) -> None:
    """Keep the relative Frobenius error of each (got, want) pair; None where it is not finite."""
    for name, (got, want) in zip(names, pairs):
        trace.found["errors"][name] = relative_error(torch, got, want)


def keep_dtype(trace: Any, out: Any) -> None:
    """Keep the dtype of an output, by its name in torch."""
    trace.found["out_dtype"] = str(out.dtype).rpartition(".")[2]


def relative_error(torch: Any, got: Any, want: Any) -> Any:
    """Return the relative Frobenius error as a float, or None where `got` is not finite."""
    if tuple(got.shape) != tuple(want.shape):
        raise ValueError("the result has the shape %s, not %s" % (got.shape, want.shape))
    got = got.detach().cpu().double()
    if not bool(torch.isfinite(got).all()):
        return None
    return float((got - want.detach()).norm() / want.detach().norm())


def keep_time(torch: Any, trace: Any, name: str, work: Callable[[], Any]) -> None:
    """Keep the median time of warm runs, milliseconds: by events of the device on a GPU.

    There an event before and one after a single call would time Python's launch of it.
    """
    if trace.device == "cpu":
        trace.found[name] = repeat("cpu", lambda: once_on_cpu(work))[0]
        return
    one = between_events(torch, work, 1)[0]
    calls = min(max(int(CALLS_MS / max(one, 1e-3)), 1), MOST_CALLS)
    median, runs = repeat("cuda", lambda: between_events(torch, work, calls))
    trace.found[name] = median[0]
    if statistics.median(host / device for device, host in runs if device) > LAUNCH_BOUND:
        trace.note("launch-bound: the GPU waited for Python, so the time is that of launching")


def repeat(kind: str, once: Callable[[], Any]) -> Tuple[Any, List[Any]]:
    """Run something several times within the budget; return the median and all."""
    found: List[Any] = []
    started = time.perf_counter()
    while len(found) < RUNS[kind] and time.perf_counter() - started <= BUDGET_S[kind]:
        found.append(once())
    return statistics.median_low(found), found


def once_on_cpu(work: Callable[[], Any]) -> float:
    """Return the time of one run, milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def between_events(torch: Any, work: Callable[[], Any], calls: int) -> Tuple[float, float]:
    """Return the time of a call on the device and that of launching it, milliseconds.

    Events of the current stream stand before the first and after the last of several calls.
    """
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    started = time.perf_counter()
    for _ in range(calls):
        work()
    host = (time.perf_counter() - started) * 1000
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / calls, host / calls
