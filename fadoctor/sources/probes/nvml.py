"""NVML, asked in a child of our interpreter: a driver that hangs or crashes costs only that."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from fadoctor.model.typed import convert
from fadoctor.processes.command import Command, Ending, Result, child_environment, last_json_object
from fadoctor.sources.probes.nvidia import (
    GpuListObstacle,
    GpuReading,
    NvidiaGpu,
    Trouble,
    failed_reading,
)
from fadoctor.sources.probes.world import World, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact

NVML_TIMEOUT_S = 10.0
"""How long NVML may take, from the start of the child to its answer, seconds."""

_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_nvml.py"
# 570.86.15
_DRIVER_VERSION = r"[0-9]{1,5}(\.[0-9]{1,5}){1,3}"
_NOT_SUPPORTED, _DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND = 3, 9, 12
_MEANINGS = {
    1: "not initialized",
    2: "invalid argument",
    _NOT_SUPPORTED: "not supported",
    4: "no permission",
    6: "not found",
    7: "insufficient size",
    8: "insufficient external power",
    _DRIVER_NOT_LOADED: "driver not loaded",
    10: "time-out in the driver",
    11: "interrupt request issue",
    _LIBRARY_NOT_FOUND: "a library of the driver is not found",
    13: "function not found: the library is incomplete or too old",
    14: "corrupted infoROM",
    15: "GPU is lost",
    16: "GPU requires a reset",
    17: "blocked by the operating system",
    18: "Driver/library version mismatch",
    19: "in use",
    20: "insufficient memory",
    21: "no data",
    28: "GPU not found",
    29: "invalid state",
    999: "unknown error",
}
"""nvmlReturn_t of nvml.h, in words; 18 as nvidia-smi prints it, which is what people search for."""


class _Answer(msgspec.Struct):
    """One call's answer: a value, or which call failed and how."""

    value: int | str | list[int | str] | None = None
    call: str = ""
    code: int | None = None
    error: str = ""

    def describe(self) -> str:
        what = self.error
        if self.code is not None:
            what = f"{_MEANINGS.get(self.code, 'error')} (error {self.code})"
        return f"{self.call}: {what}"


class _Gpu(msgspec.Struct):
    name: _Answer
    compute_capability: _Answer
    memory_bytes: _Answer
    mig: _Answer
    uuid: _Answer
    mig_uuids: _Answer


class _Report(msgspec.Struct):
    schema: int
    ok: bool
    trouble: _Answer | None = None
    driver: _Answer | None = None
    cuda: _Answer | None = None
    gpus: Annotated[list[_Gpu], msgspec.Meta(max_length=256)] = []


def read_nvml(world: World, timeout_s: float = NVML_TIMEOUT_S) -> GpuReading:
    """Return what NVML says. Costs one process, at most `timeout_s`."""
    result = world.run(nvml_command(world.environ, timeout_s))
    found = last_json_object(result.stdout)
    if found is None:
        return _without_report(result)
    try:
        report = convert(found, _Report)
    except msgspec.ValidationError as error:
        return failed_reading(
            "nvml", GpuListObstacle.FAILED, f"NVML: answer not understood: {error}"
        )
    return _reading(report)


def nvml_command(environ: Mapping[str, str], timeout_s: float = NVML_TIMEOUT_S) -> Command:
    """Return the command that asks NVML; it depends on nothing but us and the environment."""
    argv = (sys.executable, "-I", "-S", str(_SCRIPT), find_pynvml())
    return Command(argv, timeout_s, child_environment(environ))


def find_pynvml() -> str:
    """Return the folder to put on the child's path so that it can import pynvml; "" where none."""
    try:
        spec = importlib.util.find_spec("pynvml")
    except (ImportError, ValueError):
        return ""
    if spec is None or spec.origin is None:
        return ""
    file = Path(spec.origin)
    return str(file.parent.parent if spec.submodule_search_locations else file.parent)


def _without_report(result: Result) -> GpuReading:
    """Return the reading of a child that said nothing: the last call that it announced is named."""
    calls = [line for line in result.stderr[-4096:].splitlines() if line.startswith("call ")]
    call = calls[-1][len("call ") :] if calls else "child"
    hung = result.ending in (Ending.TIMED_OUT, Ending.STUCK)
    reason = result.describe()
    if result.ending is Ending.EXITED:
        reason = f"exited with status {result.code} and without an answer"
    obstacle = GpuListObstacle.HUNG if hung else GpuListObstacle.FAILED
    return failed_reading("nvml", obstacle, f"NVML: {call} {reason}")


def _reading(report: _Report) -> GpuReading:
    if report.ok and report.driver is not None and report.cuda is not None:
        gpus = tuple(_gpu(index, answers) for index, answers in enumerate(report.gpus))
        return GpuReading("nvml", _driver(report.driver), _cuda(report.cuda), gpus)
    trouble = report.trouble or _Answer(call="child", error="an answer without a reason")
    obstacle = _obstacle(trouble)
    reason = f"NVML: {trouble.describe()}"
    if obstacle is GpuListObstacle.NOT_INSTALLED:
        reason = "NVML: libnvidia-ml.so.1 is not there"
    driver = _driver(report.driver) if report.driver else unknown(reason, "nvml")
    cuda = _cuda(report.cuda) if report.cuda else unknown(reason, "nvml")
    return GpuReading("nvml", driver, cuda, (), Trouble(obstacle, reason))


def _obstacle(trouble: _Answer) -> GpuListObstacle:
    """Tell a library that is not there, or that finds no driver, from one that fails.

    The loader's words: ``libnvidia-ml.so.1: cannot open shared object file: No such file or
    directory`` (glibc), ``Error loading shared library libnvidia-ml.so.1: No such file or
    directory`` (musl). A library that misses *another* one names that one.
    """
    if trouble.call == "dlopen":
        missing = "libnvidia-ml.so.1: " in trouble.error and "No such file" in trouble.error
        return GpuListObstacle.NOT_INSTALLED if missing else GpuListObstacle.FAILED
    if trouble.call == "nvmlInit" and trouble.code in (_DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND):
        return GpuListObstacle.NO_DRIVER
    return GpuListObstacle.FAILED


def _driver(answer: _Answer) -> Fact:
    source = "NVML nvmlSystemGetDriverVersion"
    if isinstance(answer.value, str) and re.fullmatch(_DRIVER_VERSION, answer.value):
        return known(answer.value, source)
    return _unusable(answer, source)


def _cuda(answer: _Answer) -> Fact:
    """Return the CUDA version of a number such as 12040: 1000 x major + 10 x minor."""
    source = "NVML nvmlSystemGetCudaDriverVersion_v2"
    number = answer.value
    if not isinstance(number, int) or not 1000 <= number < 1_000_000:
        return _unusable(answer, source)
    return known(f"{number // 1000}.{number % 1000 // 10}", f"{source}: {number}")


def _gpu(index: int, answers: _Gpu) -> NvidiaGpu:
    uuids = answers.mig_uuids.value
    return NvidiaGpu(
        name=_name(answers.name, f"NVML nvmlDeviceGetName of GPU {index}"),
        compute_capability=_compute_capability(answers.compute_capability, index),
        memory_bytes=_memory(answers.memory_bytes, f"NVML nvmlDeviceGetMemoryInfo of GPU {index}"),
        mig=_mig(answers.mig, f"NVML nvmlDeviceGetMigMode of GPU {index}"),
        uuid=answers.uuid.value if isinstance(answers.uuid.value, str) else None,
        mig_uuids=tuple(map(str, uuids)) if isinstance(uuids, list) else None,
    )


def _name(answer: _Answer, source: str) -> Fact:
    name = answer.value
    if isinstance(name, str) and name.strip():
        return known(name.strip(), source)
    return _unusable(answer, source)


def _compute_capability(answer: _Answer, index: int) -> Fact:
    source = f"NVML nvmlDeviceGetCudaComputeCapability of GPU {index}"
    match answer.value:
        case [int(major), int(minor)] if 1 <= major < 100 and 0 <= minor < 100:
            return known(f"{major}.{minor}", source)
    return _unusable(answer, source)


def _memory(answer: _Answer, source: str) -> Fact:
    if isinstance(answer.value, int) and answer.value > 0:
        return known(answer.value, source)
    return _unusable(answer, source)


def _mig(answer: _Answer, source: str) -> Fact:
    if answer.code == _NOT_SUPPORTED and answer.call == "nvmlDeviceGetMigMode":
        return known(False, f"{source}: not supported")
    if answer.value in (0, 1):
        return known(answer.value == 1, source)
    return _unusable(answer, source)


def _unusable(answer: _Answer, source: str) -> Fact:
    """Return Unknown: the call failed, or its value cannot be."""
    if answer.value is None:
        return unknown(f"NVML: {answer.describe()}", source)
    return unknown(f"NVML: a value that cannot be: {str(answer.value)[:80]!r}", source)
