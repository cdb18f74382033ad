"""Ask NVML for the driver and its GPUs; print one JSON object on one line.

Runs under fadoctor's own interpreter as ``python -I -S _fadoctor_nvml.py FOLDER``, where FOLDER
holds the module pynvml. Each answer is ``{"value": ...}`` or ``{"call", "code", "error"}``, so that
one call that fails costs one fact. Before each call its name goes to standard error: if the driver
never answers, or kills the process, the reader knows where.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

TYPE_CHECKING = False  # importing `typing` takes 5 ms
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

    Answer = Dict[str, Any]

SCHEMA = 1
GPU_LIMIT = 256
MIG_LIMIT = 64
TEXT_LIMIT = 4096


def announce(call: str) -> None:
    """Write the name of the call that is about to be made to standard error."""
    sys.stderr.write("call " + call + "\n")
    sys.stderr.flush()


def failure(call: str, error: Exception) -> Answer:
    """Return the answer for a call that failed; ``code`` is NVML's own number if it has one."""
    code = getattr(error, "value", None)
    if isinstance(code, int):
        return {"call": call, "code": code, "error": ""}
    return {"call": call, "code": None, "error": (type(error).__name__ + ": " + str(error))[:300]}


def ask(
    nvml: Any, call: str, *arguments: Any, pick: Optional[Callable[[Any], Any]] = None
) -> Answer:
    """Return the answer of one NVML function, or of `pick` on what it returned."""
    announce(call)
    try:
        value = getattr(nvml, call)(*arguments)
        return {"value": clean(pick(value) if pick else value)}
    except Exception as error:
        return failure(call, error)


def clean(value: Any) -> Any:
    """Return a value that JSON can hold: bytes as text, tuples as lists, text cut to a limit."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value[:TEXT_LIMIT]
    return list(value) if isinstance(value, (tuple, list)) else value


def read_gpu(nvml: Any, index: int) -> Answer:
    """Return the answers about one GPU; a GPU that gives no handle fails them all alike."""
    announce("nvmlDeviceGetHandleByIndex")
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except Exception as error:
        lost = failure("nvmlDeviceGetHandleByIndex", error)
        names = ("name", "compute_capability", "memory_bytes", "mig", "uuid", "mig_uuids")
        return dict.fromkeys(names, lost)
    answers = {
        "name": ask(nvml, "nvmlDeviceGetName", handle),
        "compute_capability": ask(nvml, "nvmlDeviceGetCudaComputeCapability", handle),
        "memory_bytes": ask(nvml, "nvmlDeviceGetMemoryInfo", handle, pick=lambda m: m.total),
        "mig": ask(nvml, "nvmlDeviceGetMigMode", handle, pick=lambda modes: modes[0]),
        "uuid": ask(nvml, "nvmlDeviceGetUUID", handle),
        "mig_uuids": {"value": []},
    }
    if answers["mig"].get("value") == 1:
        answers["mig_uuids"] = read_mig_uuids(nvml, handle)
    return answers


def read_mig_uuids(nvml: Any, handle: Any) -> Answer:
    """Return the UUIDs of a GPU's MIG instances; slots without an instance are passed over."""
    slots = ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", handle)
    if "value" not in slots:
        return slots
    uuids = []
    for slot in range(min(slots["value"], MIG_LIMIT)):
        announce("nvmlDeviceGetMigDeviceHandleByIndex")
        try:
            instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)
        except Exception as error:
            if getattr(error, "value", None) == nvml.NVML_ERROR_NOT_FOUND:
                continue
            return failure("nvmlDeviceGetMigDeviceHandleByIndex", error)
        answer = ask(nvml, "nvmlDeviceGetUUID", instance)
        if "value" not in answer:
            return answer
        uuids.append(answer["value"])
    return {"value": uuids}


def load(folder: str) -> Tuple[Any, Answer]:
    """Return (module pynvml, {}), or (None, the answer that says why not).

    The library comes first: a machine without a driver is answered before pynvml is imported,
    which costs more than everything else here. Windows finds nvml.dll in folders of its own, which
    pynvml knows (unverified).
    """
    announce("dlopen")
    if os.name != "nt":
        try:
            ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            return None, {"call": "dlopen", "code": None, "error": str(error)[:300]}
    sys.path.append(folder)
    announce("import pynvml")
    try:
        import pynvml
    except Exception as error:
        return None, failure("import pynvml", error)
    return pynvml, {}


def read(folder: str) -> Answer:
    """Return the whole report."""
    nvml, trouble = load(folder)
    if nvml is None:
        return {"schema": SCHEMA, "ok": False, "trouble": trouble}
    started = ask(nvml, "nvmlInit", pick=lambda _: True)
    if "value" not in started:
        return {"schema": SCHEMA, "ok": False, "trouble": started}
    report = {
        "schema": SCHEMA,
        "ok": True,
        "driver": ask(nvml, "nvmlSystemGetDriverVersion"),
        "cuda": ask(nvml, "nvmlSystemGetCudaDriverVersion_v2"),
    }
    count = ask(nvml, "nvmlDeviceGetCount")
    if count.get("value", 0) > GPU_LIMIT:
        count = {"call": "nvmlDeviceGetCount", "code": None, "error": "more GPUs than can be read"}
    if "value" not in count:
        return dict(report, ok=False, trouble=count)
    return dict(report, gpus=[read_gpu(nvml, index) for index in range(count["value"])])


def main() -> None:
    """Print the report and leave at once.

    nvmlShutdown and the library's exit handlers are passed over: they can hang as any call can,
    and the kernel frees everything. The line end first closes what the library may have printed.
    """
    text = json.dumps(read(sys.argv[1] if len(sys.argv) > 1 else ""))
    sys.stdout.write("\n" + text + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
