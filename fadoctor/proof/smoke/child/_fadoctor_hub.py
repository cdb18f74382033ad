"""Kernels of the Hub, loaded by the package kernels that is installed, as transformers loads them.

Read in the wheels 0.8.2 to 0.17.2: ``get_kernel`` takes a repository and a revision, from 0.11 on a
version, which is the branch vN. The FlashAttention of the Hub has the functions of the packages,
in its first module or in ``flash_attn_interface``; SageAttention has ``sageattn``, and no backward.
What to load comes with the cell. Part of a worker under the target's interpreter.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from typing import Any, Dict, List, Tuple

from _fadoctor_attention import prove
from _fadoctor_numbers import LackingError
from _fadoctor_shapes import lacks

DOWNLOAD_S = 3600
"""Longest time for which a download keeps the limit of a cell from ending it, seconds."""

LOADED: Dict[Tuple[str, str], Any] = {}
"""Repository and branch -> the kernel, for the cells that follow."""

_NOT_THERE = ("OfflineModeIsEnabled", "LocalEntryNotFoundError")
_WORDS = ("offline mode", "local snapshot", "local cache", "HF_HUB_OFFLINE")


def run(torch: Any, trace: Any) -> None:
    """Run one cell."""
    ways = importlib.import_module("_fadoctor_flash_attn")
    module = load(trace, ways.takes)
    case = trace.cell["case"]
    on_gpu = trace.device != "cpu"  # builds for a CPU have no backward
    if trace.cell["backend"] == "hub-sage":
        prove(torch, trace, sage(torch, function_of(module, "sageattn")), backward=False)
    elif case == "kvcache":
        ways.decode(torch, trace, function_of(module, "flash_attn_with_kvcache"))
    elif case == "varlen":
        function = function_of(module, "flash_attn_varlen_func")
        prove(torch, trace, ways.packed(torch, trace, function), backward=on_gpu)
    else:
        prove(torch, trace, ways.plain(function_of(module, "flash_attn_func")), backward=on_gpu)


def load(trace: Any, takes: Any) -> Any:
    """Let kernels load what transformers would; a kernel that is not in the cache is a lack."""
    trace.patient = trace.cell["backend"] == "hub-fa4"
    asked = trace.asked
    from kernels import get_kernel

    trace.phase("load")
    key = (asked["repository"], asked["branch"])
    trace.note("from the Hub: %s@%s" % key)
    if asked.get("folder") and not os.environ.get("LOCAL_KERNELS"):
        os.environ["LOCAL_KERNELS"] = "%s=%s" % (asked["repository"], asked["folder"])
        trace.note("named by LOCAL_KERNELS, for without the network it is not found by its version")
    if key not in LOADED:
        arguments = arguments_of(get_kernel, asked["branch"], takes)
        with contextlib.ExitStack() as stack:
            if asked["online"] == "yes":
                stack.enter_context(beating(trace.events))
            try:
                LOADED[key] = get_kernel(asked["repository"], **arguments)
            except Exception as error:
                if asked["online"] == "no" and is_not_there(error):
                    raise LackingError(
                        "%s@%s needs the network: --online lets kernels download it" % key
                    ) from None
                raise
    return LOADED[key]


def arguments_of(get_kernel: Any, branch: str, takes: Any) -> Dict[str, Any]:
    """Return how a branch is told to this release of kernels."""
    number = branch[1:]
    if branch.startswith("v") and number.isdigit() and takes(get_kernel, "version"):
        return {"version": int(number)}
    return {"revision": branch}


def is_not_there(error: BaseException) -> bool:
    """Tell whether an error says that only the network could help, itself or one behind it."""
    seen: List[Any] = []
    current: Any = error
    while current is not None and current not in seen and len(seen) < 10:
        seen.append(current)
        text = str(current)
        if type(current).__name__ in _NOT_THERE or any(word in text for word in _WORDS):
            return True
        current = current.__cause__ or current.__context__
    return False


@contextlib.contextmanager
def beating(events: Any) -> Any:
    """Let the time limit begin anew while something is downloaded."""
    ended = threading.Event()

    def beat() -> None:
        for _ in range(DOWNLOAD_S):
            if ended.wait(1.0):
                return
            events.beat()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def function_of(module: Any, name: str) -> Any:
    """Return a function of a kernel; some have it one module further down only."""
    below = getattr(module, "flash_attn_interface", None)
    function = getattr(module, name, None) or getattr(below, name, None)
    if function is None:
        raise LackingError("this kernel has no " + name)
    return function


def sage(torch: Any, function: Any) -> Any:
    """Return SageAttention over whole batches; it knows no gradients."""

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        lacks(shape)
        with torch.no_grad():
            return function(q, k, v, tensor_layout="NHD", is_causal=shape.causal)

    return attend
