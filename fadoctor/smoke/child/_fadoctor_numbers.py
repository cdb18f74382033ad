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

RUNS = {"cuda": 20, "cpu": 3}
"""Warm runs that a time is the median of."""

CPU_BUDGET_S = 0.3
"""Seconds after which no further run is started on a CPU: the interpreter of triton is slow."""


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


def relative_error(torch: Any, got: Any, want: Any) -> Any:
    """Return the relative Frobenius error as a float, or None where `got` is not finite."""
    if tuple(got.shape) != tuple(want.shape):
        raise ValueError("the result has the shape %s, not %s" % (got.shape, want.shape))
    got = got.detach().cpu().double()
    if not bool(torch.isfinite(got).all()):
        return None
    return float((got - want.detach()).norm() / want.detach().norm())


def median_ms(torch: Any, device: str, work: Callable[[], Any]) -> float:
    """Return the median time of warm runs, milliseconds: by events of the device on a GPU."""
    on_cpu = device == "cpu"
    times: List[float] = []
    started = time.perf_counter()
    for _ in range(RUNS["cpu" if on_cpu else "cuda"]):
        times.append(once_on_cpu(work) if on_cpu else once_on_gpu(torch, work))
        if on_cpu and time.perf_counter() - started > CPU_BUDGET_S:
            break
    return statistics.median(times)


def once_on_cpu(work: Callable[[], Any]) -> float:
    """Return the time of one run, milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def once_on_gpu(torch: Any, work: Callable[[], Any]) -> float:
    """Return the time of one run between two events of the current stream, milliseconds."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end))
