"""Run cells under the target's interpreter and report what happened; nothing is judged here.

Called as ``python _fadoctor_worker.py EVENTS PULSE REQUEST``. EVENTS is the file that takes one
JSON object a line; PULSE gets a byte whenever the time limit begins anew; REQUEST is a JSON
object: ``device``, ``cells`` by kind of device (``cuda``, ``cpu``), ``modules``, the file that
runs each backend, and ``asked``, what some backends need to know beside. Events go to a file,
because torch and drivers print to stdout, and each is written at once: when this process dies, the
last one names the cell and the phase.

Only stdlib and what is tested, Python 3.8 syntax: this is not fadoctor's interpreter.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import platform
import sys
import traceback
import warnings
from typing import Any, Dict, List

SCHEMA = 3
"""Version of the events; the other side refuses any other."""

DEVICE_LIMIT = 64
TEXT_LIMIT = 600
TRACE_LIMIT = 6000
WARNING_LIMIT = 16

Cell = Dict[str, str]


class Events:
    """The files that take the events and the pulse."""

    def __init__(self, path: str, pulse: str) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        self.pulse = os.open(pulse, os.O_WRONLY | os.O_APPEND)

    def emit(self, event: str, **fields: Any) -> None:
        """Write one event, in one call."""
        line = json.dumps(dict(fields, schema=SCHEMA, event=event), allow_nan=False)
        os.write(self.descriptor, line.encode("ascii") + b"\n")

    def beat(self) -> None:
        """Let the time limit begin anew."""
        os.write(self.pulse, b".")


class Trace:
    """What one cell has shown so far; what runs the cell fills it."""

    def __init__(
        self, events: Events, device: str, cell: Cell, asked: Dict[str, str] | None = None
    ) -> None:
        self.events = events
        self.device = device
        self.cell = cell
        self.asked = asked or {}
        """What the request says of the cell's backend beside its module."""
        self.like: Dict[str, Any] = {}
        """The attention of a model, where its shape is asked for."""
        self.worn = False
        """Whether the cell has changed torch for good: the next ones need another process."""
        self.timed = True
        self.is_proved = False
        """Whether all but the times is known: what goes wrong from here on is a note."""
        self.patient = False
        """Whether the time limit begins anew with each phase: for what compiles on the spot."""
        self.found: Dict[str, Any] = {"phase": "", "kernels": [], "errors": {}, "notes": []}

    def phase(self, name: str) -> None:
        """Say what is going on from here on, so that a death can be blamed on it."""
        self.found["phase"] = name
        if self.patient:
            self.events.beat()
        self.events.emit("phase", cell=self.cell, phase=name)

    def proved(self) -> None:
        """Tell what is known, before the times, which are optional: they may take too long."""
        self.phase("timing")
        self.is_proved = True
        self.events.emit("proved", cell=self.cell, **self.found)

    def kernel(self, out: Any) -> None:
        """Keep the name of an output's node: autograd's proof of which kernel ran."""
        if out.grad_fn is not None:
            names = {*self.found["kernels"], type(out.grad_fn).__name__}
            self.found["kernels"] = sorted(names)

    def note(self, text: str) -> None:
        """Keep a sentence about how the cell was run."""
        if text not in self.found["notes"]:
            self.found["notes"].append(text)


def main(path: str, pulse: str, request: Dict[str, Any]) -> None:
    """Import torch, then run every cell that is asked for. Does not return."""
    prepare()
    events = Events(path, pulse)
    events.emit("start", python=platform.python_version())
    try:
        import torch

        imported = describe_torch(torch, request["device"])
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        events.emit("import-failed", missing=missing, exception=describe(error))
        leave(1)
    pin_precision(torch)
    events.emit("imported", **imported)
    device = imported["device"]
    if device:
        run_cells(torch, events, device, request)
    events.emit("end")
    leave(0)


_THREADS = 4
"""Threads for the reference, at most, of what runs on a GPU."""


def run_cells(torch: Any, events: Events, device: str, request: Dict[str, Any]) -> None:
    """Run the cells for one device; leave at once where a GPU's context has become unusable."""
    # Threads that wait for each other take many times as long where other programs, or the limit
    # of a container, keep them from running; the shapes are small enough for one. Beside a GPU,
    # the reference of what is timed is larger.
    with contextlib.suppress(Exception):
        torch.set_num_threads(1 if device == "cpu" else min(torch.get_num_threads(), _THREADS))
    cells = request["cells"]["cpu" if device == "cpu" else "cuda"]
    if cells and device != "cpu":
        events.beat()
        run_first_kernel(torch, events, device)
    for cell in cells:
        events.beat()
        backend = cell["backend"]
        trace = Trace(events, device, cell, request.get("asked", {}).get(backend))
        trace.like = request.get("like", {})
        trace.phase("import")
        measure(torch, trace, request["modules"][backend])
        events.emit("done", cell=cell, **trace.found)
        if trace.found.get("poisoned") or trace.worn:
            leave(1)


def run_first_kernel(torch: Any, events: Events, device: str) -> None:
    """Run a kernel of torch's own: where not even that works, no backend has to be asked.

    Without it the first kernel would be one of a cell's, and each cell would fail in its own words.
    """
    try:
        torch.cuda.set_device(device)
        ones = torch.ones(2, device=device)
        total = float(ones.sum())
    except Exception as error:
        memory = describe_memory(torch, device)
        events.emit("device-failed", exception=describe(error), memory=memory)
        leave(1)
    if total != 2.0:
        text = "1 + 1 gives %r on %s" % (total, device)
        events.emit("device-failed", exception={"type": "ValueError", "text": text, "trace": ""})
        leave(1)


def pin_precision(torch: Any) -> None:
    """Compute float32 products as such: with TF32 their error is that of half precision."""
    with contextlib.suppress(Exception):
        torch.set_float32_matmul_precision("highest")
    with contextlib.suppress(Exception):
        torch.backends.cuda.matmul.allow_tf32 = False
    with contextlib.suppress(Exception):
        torch.backends.cudnn.allow_tf32 = False


def describe_memory(torch: Any, device: str) -> Any:
    """Return a GPU's memory in bytes: free, all, and what this process holds; None untold."""
    with contextlib.suppress(Exception):
        free, total = torch.cuda.mem_get_info(device)
        own = torch.cuda.memory_reserved(device)
        return {"free": int(free), "total": int(total), "own": int(own)}
    return None


def prepare() -> None:
    """Put this folder last on sys.path, write no core dump, show a stack where a signal kills."""
    here = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != here]
    sys.path.append(here)
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


def shorten(text: Any, limit: int = TEXT_LIMIT) -> str:
    """Return text that JSON can carry: not endless, and without what undecodable bytes leave."""
    return str(text)[:limit].encode("utf-8", "replace").decode("utf-8")


def describe(error: BaseException) -> Dict[str, str]:
    """Return an exception as type, text and the end of its traceback."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return {
        "type": type(error).__name__,
        "text": shorten(error),
        "trace": shorten("".join(lines)[-TRACE_LIMIT:], TRACE_LIMIT),
    }


def texts(caught: List[warnings.WarningMessage]) -> List[str]:
    """Return the texts of recorded warnings, each once."""
    return list(dict.fromkeys(shorten(w.message) for w in caught))[:WARNING_LIMIT]


def describe_torch(torch: Any, wanted: str) -> Dict[str, Any]:
    """Return torch's version, the GPUs that it sees, and the device to work on.

    ``device`` is empty where there is none of the kind that is wanted.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = bool(torch.cuda.is_available())
        count = min(torch.cuda.device_count(), DEVICE_LIMIT) if available else 0
    gpus = [describe_gpu(torch, index) for index in range(count)]
    cpu = {"device": "cpu", "name": "CPU " + platform.machine()}
    names = [gpu["device"] for gpu in gpus]
    first = names[0] if names else ""
    chosen = {"auto": first or "cpu", "all": first, "cuda": first, "cpu": "cpu"}
    return {
        "torch_version": shorten(torch.__version__),
        "cuda_available": available,
        "cuda_warnings": texts(caught),
        "devices": [*gpus, cpu],
        "device": chosen.get(wanted, wanted if wanted in names else ""),
    }


def describe_gpu(torch: Any, index: int) -> Dict[str, str]:
    """Return a GPU's name and compute capability, as far as torch tells them."""
    gpu = {"device": "cuda:%d" % index, "name": "GPU %d" % index}
    # A GPU that cannot be described still gets its cells: they show the real error.
    with contextlib.suppress(Exception):
        properties = torch.cuda.get_device_properties(index)
        gpu["name"] = shorten(properties.name)
        # Under ROCm these two numbers are no compute capability.
        if not getattr(torch.version, "hip", None):
            gpu["compute_capability"] = "%d.%d" % (properties.major, properties.minor)
    return gpu


def measure(torch: Any, trace: Trace, module: str) -> None:
    """Run one cell; keep what was seen, up to the exception where there is one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if trace.device != "cpu":
                torch.cuda.set_device(trace.device)
            importlib.import_module(module).run(torch, trace)
        except Exception as error:
            keep_exception(torch, trace, error)
    trace.found["warnings"] = texts(caught)


def keep_exception(torch: Any, trace: Trace, error: Exception) -> None:
    """Keep why a cell came to no end; of a cell that is proved only that it was not timed."""
    # Known by its name: an own exception class would be another one in another file.
    lacking = type(error).__name__ == "LackingError"
    if trace.is_proved:
        first = (shorten(error, 200).strip().splitlines() or [""])[0]
        trace.note("not timed: %s: %s" % (type(error).__name__, first))
    elif lacking:
        trace.found["lacking"] = shorten(error)
    else:
        trace.found["exception"] = describe(error)
        if trace.device != "cpu" and "out of memory" in str(error):
            trace.found["memory"] = describe_memory(torch, trace.device)
    if not lacking:
        trace.found["poisoned"] = is_poisoned(torch, trace.device)


def is_poisoned(torch: Any, device: str) -> bool:
    """Tell whether a GPU's context is unusable, by using it.

    An illegal memory access is an ordinary exception in Python, but everything after it fails too.
    """
    if device == "cpu":
        return False
    try:
        torch.cuda.synchronize(device)
        return float(torch.ones(2, device=device).sum()) != 2.0
    except Exception:
        return True


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
