"""Run attention forward and backward under the target's interpreter and report what happened.

Called as ``python _fadoctor_smoke.py EVENTS REQUEST``. EVENTS is the file that takes one JSON
object a line; REQUEST is a JSON object with ``backends``, ``dtypes`` and ``skip`` (cells already
done). Events go to a file because torch and drivers print to stdout, and each is written at once:
when this process dies, the last event names what was running. Nothing is judged here.

Only stdlib and torch, Python 3.8 syntax: this is not fadoctor's interpreter.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import math
import os
import platform
import sys
import time
import warnings
import zlib
from typing import Any, Dict, List, Tuple

SCHEMA = 1
"""Version of the events; the other side refuses any other."""

SHAPE = (1, 4, 320, 64)
"""(batch, heads, seqlen, head_dim): several tiles and a ragged last one, yet quick on a CPU."""

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
"""Our names -> names in torch."""

SDPA = {
    "sdpa-flash": (
        "FLASH_ATTENTION",
        {"enable_flash": True, "enable_math": False, "enable_mem_efficient": False},
    )
}
"""Backend -> member of SDPBackend, and arguments of the older ``sdp_kernel``."""

DEVICE_LIMIT = 64
TEXT_LIMIT = 600
WARNING_LIMIT = 16

Cell = Dict[str, str]
Found = Dict[str, Any]
Tensors = Tuple[Any, Any, Any, Any]


class Events:
    """The file that takes the events."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)

    def emit(self, event: str, **fields: Any) -> None:
        """Write one event, in one call."""
        line = json.dumps(dict(fields, schema=SCHEMA, event=event), allow_nan=False)
        os.write(self.descriptor, line.encode("ascii") + b"\n")


def main(path: str, request: Dict[str, Any]) -> None:
    """Import torch, then run every cell that is asked for. Does not return."""
    prepare()
    events = Events(path)
    events.emit("start", python=platform.python_version())
    try:
        import torch

        imported = describe_torch(torch)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        events.emit("import-failed", missing=missing, exception=describe(error))
        leave(1)
    events.emit("imported", **imported)
    for cell in cells(imported["devices"], request):
        events.emit("run", cell=cell)
        found = measure(torch, cell)
        events.emit("done", cell=cell, **found)
        if may_be_poisoned(cell, found):
            leave(1)
    events.emit("end")
    leave(0)


def prepare() -> None:
    """Take this folder off sys.path, write no core dump, show a stack where a signal kills us."""
    here = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != here]
    with contextlib.suppress(Exception):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(Exception):
        faulthandler.enable()


def leave(code: int) -> None:
    """Exit at once: tearing down a broken driver's context can crash or hang."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def shorten(text: Any) -> str:
    """Return text that JSON can carry: not endless, and without what undecodable bytes leave."""
    return str(text)[:TEXT_LIMIT].encode("utf-8", "replace").decode("utf-8")


def describe(error: BaseException) -> Dict[str, str]:
    """Return an exception as type and text."""
    return {"type": type(error).__name__, "text": shorten(error)}


def texts(caught: List[warnings.WarningMessage]) -> List[str]:
    """Return the texts of recorded warnings, each once."""
    return list(dict.fromkeys(shorten(w.message) for w in caught))[:WARNING_LIMIT]


def describe_torch(torch: Any) -> Dict[str, Any]:
    """Return torch's version and its devices: all GPUs that it sees, else the CPU."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = bool(torch.cuda.is_available())
        count = min(torch.cuda.device_count(), DEVICE_LIMIT) if available else 0
    gpus = [describe_gpu(torch, index) for index in range(count)]
    return {
        "torch_version": shorten(torch.__version__),
        "cuda_available": available,
        "cuda_warnings": texts(caught),
        "devices": gpus or [{"device": "cpu", "name": "CPU " + platform.machine()}],
    }


def describe_gpu(torch: Any, index: int) -> Dict[str, str]:
    """Return a GPU's name, compute capability and UUID, as far as torch tells them."""
    gpu = {"device": "cuda:%d" % index, "name": "GPU %d" % index}
    # A GPU that cannot be described still gets its cells: they show the real error.
    with contextlib.suppress(Exception):
        properties = torch.cuda.get_device_properties(index)
        gpu["name"] = shorten(properties.name)
        gpu["uuid"] = shorten(getattr(properties, "uuid", ""))
        # Under ROCm these two numbers are no compute capability.
        if not getattr(torch.version, "hip", None):
            gpu["compute_capability"] = "%d.%d" % (properties.major, properties.minor)
    return gpu


def cells(devices: List[Dict[str, str]], request: Dict[str, Any]) -> List[Cell]:
    """Return the cells to run, in the order in which the other side expects them."""
    every = [
        {"device": device["device"], "backend": backend, "dtype": dtype}
        for device in devices
        for backend in request["backends"]
        for dtype in request["dtypes"]
    ]
    return [cell for cell in every if cell not in request["skip"]]


def measure(torch: Any, cell: Cell) -> Found:
    """Run one cell, causal and not; return what was seen, up to the exception where there is one.

    ``phase`` is what was going on last, ``errors`` the larger relative error of the two runs, null
    where a tensor holds NaN or infinity; the times are those of the second, warm run.
    """
    found: Found = {"phase": "inputs", "available": True, "kernels": [], "errors": {}}
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        found["available"] = False
        return found
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for causal in (False, True):
                attend(torch, cell, found, causal=causal)
        except Exception as error:
            found["exception"] = describe(error)
    found["warnings"] = texts(caught)
    return found


def attend(torch: Any, cell: Cell, found: Found, *, causal: bool) -> None:
    """Run attention forward and backward once, and compare it with the reference."""
    device = cell["device"]
    host = make_inputs(torch, cell, causal=causal)
    q, k, v = (tensor.to(device, copy=True).requires_grad_() for tensor in host[:3])
    upstream = host[3].to(device, copy=True)
    started = now_ms(torch, device)
    found["phase"] = "forward"
    with forced(torch, cell["backend"]):
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    between = now_ms(torch, device)
    kernel = type(out.grad_fn).__name__
    found["kernels"] = sorted({*found["kernels"], kernel})
    found["phase"] = "backward"
    gradients = torch.autograd.grad(out, (q, k, v), upstream)
    found["forward_ms"] = between - started
    found["backward_ms"] = now_ms(torch, device) - between
    found["phase"] = "comparison"
    got, want = (out, *gradients), reference(torch, host, causal=causal)
    for index, name in enumerate(("out", "dq", "dk", "dv")):
        error = relative_error(torch, got[index], want[index])
        found["errors"][name] = worse(found["errors"].get(name, 0.0), error)


def make_inputs(torch: Any, cell: Cell, *, causal: bool) -> Tensors:
    """Return q, k, v and the upstream gradient: SHAPE, the cell's dtype, on the CPU.

    The seed differs from run to run within a worker, so that a kernel that does nothing cannot
    find the right answer in memory that an earlier run has left.
    """
    seed = zlib.crc32(json.dumps([cell, causal], sort_keys=True).encode("ascii"))
    generator = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, DTYPES[cell["dtype"]])
    q, k, v, upstream = (torch.randn(SHAPE, generator=generator).to(dtype) for _ in range(4))
    return q, k, v, upstream


def forced(torch: Any, backend: str) -> Any:
    """Return the context in which torch may use this one backend only."""
    member, arguments = SDPA[backend]
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:  # before there was torch.nn.attention
        return torch.backends.cuda.sdp_kernel(**arguments)
    return sdpa_kernel(getattr(SDPBackend, member))


def now_ms(torch: Any, device: str) -> float:
    """Return the time in milliseconds once the device has done what it was given."""
    if device != "cpu":
        torch.cuda.synchronize(device)
    return time.perf_counter() * 1000


def reference(torch: Any, host: Tensors, *, causal: bool) -> Tensors:
    """Return out, dq, dk and dv in float64 on the CPU, by plain softmax of the rounded inputs."""
    q, k, v = (tensor.double().requires_grad_() for tensor in host[:3])
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(SHAPE[-1])
    if causal:
        future = torch.ones(SHAPE[2], SHAPE[2]).triu(1).bool()
        scores = scores.masked_fill(future, -math.inf)
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    out = (weights / weights.sum(-1, keepdim=True)) @ v
    dq, dk, dv = torch.autograd.grad(out, (q, k, v), host[3].double())
    return out.detach(), dq, dk, dv


def relative_error(torch: Any, got: Any, want: Any) -> Any:
    """Return the relative Frobenius error as a float, or None where `got` is not finite."""
    got = got.detach().cpu().double()
    if not bool(torch.isfinite(got).all()):
        return None
    return float((got - want).norm() / want.norm())


def worse(one: Any, other: Any) -> Any:
    """Return the larger error; None (not finite) is worst."""
    return None if one is None or other is None else max(one, other)


def may_be_poisoned(cell: Cell, found: Found) -> bool:
    """Tell whether the GPU's context may be unusable after this cell.

    An illegal memory access is an ordinary exception in Python, but everything after it fails too.
    A refused kernel was never launched and leaves the context as it was.
    """
    exception = found.get("exception")
    if cell["device"] == "cpu" or exception is None:
        return False
    return "No available kernel" not in exception["text"]


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
