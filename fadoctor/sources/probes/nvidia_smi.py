"""nvidia-smi: the second way to the GPUs, for where NVML cannot be loaded by our interpreter."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.processes.command import Command, Ending, Result, child_environment
from fadoctor.sources.probes.nvidia import GpuListObstacle, GpuReading, NvidiaGpu, failed_reading
from fadoctor.sources.probes.toolkit_files import is_foreign
from fadoctor.sources.probes.world import World, known, unknown

if TYPE_CHECKING:
    from fadoctor.model.fact import Fact

NVIDIA_SMI_TIMEOUT_S = 10.0
"""How long all calls of nvidia-smi may take together, seconds."""

_FOLDERS = ("/usr/bin", "/usr/local/bin", "/usr/lib/wsl/lib", "/usr/local/nvidia/bin")
"""Where it lies besides PATH: WSL and GKE keep it in folders of their own."""

_FIELDS = (
    "index",
    "name",
    "compute_cap",
    "memory.total",
    "mig.mode.current",
    "driver_version",
    "uuid",
)
_PATH_LIMIT = 200
_GPU_LIMIT = 256
_SETTINGS = {
    "Enabled": True,
    "Disabled": False,
    "[N/A]": False,
    "N/A": False,
    "[Not Supported]": False,
}
_NO_GPUS = "No devices were found"
_LOST = "Unable to determine the device handle"
"""A GPU that fell off the bus is missing from the rows: what they say is not all."""

_DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND = 9, 12
"""Its exit status is NVML's error number."""

# Field "compute_cap" is not a valid field to query.
_REFUSED = r'Field "([a-z_.]{1,40})" is not a valid field to query'
# | NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |
# | NVIDIA-SMI 610.57.04    KMD Version: 610.57.04     CUDA UMD Version: 13.3   |
_CUDA = r"CUDA (?:UMD )?Version *: *([0-9]{1,3}\.[0-9]{1,3})"
_DRIVER = r"[0-9]{1,5}(\.[0-9]{1,5}){1,3}"


def read_nvidia_smi(world: World, timeout_s: float = NVIDIA_SMI_TIMEOUT_S) -> GpuReading:
    """Return what nvidia-smi says. Costs two processes, or more with an old driver."""
    program = find_program(world)
    if program is None:
        return failed_reading(
            "nvidia-smi", GpuListObstacle.NOT_INSTALLED, "nvidia-smi is not there"
        )
    fields, result, left_s = _query(world, program, timeout_s)
    if result.ending is Ending.EXITED and result.stdout.strip() == _NO_GPUS:
        nothing = unknown(f"nvidia-smi: {_NO_GPUS}", "nvidia-smi")
        return GpuReading("nvidia-smi", nothing, nothing)
    rows = _rows(result.stdout, len(fields)) if result.ok else []
    if not rows or _LOST in result.stdout:
        return _failure(result)
    gpus = [dict(zip(fields, row, strict=True)) for row in rows]
    return GpuReading(
        "nvidia-smi",
        driver=_driver(gpus[0]["driver_version"]),
        cuda=_cuda(world, program, left_s),
        gpus=tuple(_gpu(gpu) for gpu in gpus),
    )


def find_program(world: World) -> str | None:
    """Return the path of nvidia-smi: from PATH, else from the folders where drivers keep it.

    One in the environment that is examined is passed over: whoever made that wrote it.
    """
    name = "nvidia-smi.exe" if world.os == "windows" else "nvidia-smi"
    listed = world.environ.get("PATH", "").split(os.pathsep)
    folders = [f for f in islice(listed, _PATH_LIMIT) if Path(f).is_absolute()]
    if world.os == "linux":
        folders += _FOLDERS
    for folder in folders:
        path = world.path(folder) / name
        is_program = os.access(path, os.X_OK) and not os.path.isdir(path)  # noqa: PTH112 -- never raises
        if is_program and not is_foreign(world, str(path)):
            return str(path)
    return None


def _query(world: World, program: str, timeout_s: float) -> tuple[tuple[str, ...], Result, float]:
    """Ask for all fields; drop the ones that an old driver refuses, one with each answer."""
    fields: tuple[str, ...] = _FIELDS
    left_s = timeout_s
    while True:
        query = ("--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits")
        result = _run(world, (program, *query), left_s)
        left_s -= result.elapsed_s
        refused = re.search(_REFUSED, result.stdout[:4096] + result.stderr[:4096])
        if refused is None or refused[1] not in fields or left_s <= 0:
            return fields, result, left_s
        fields = tuple(field for field in fields if field != refused[1])


def _run(world: World, argv: tuple[str, ...], timeout_s: float) -> Result:
    return world.run(Command(argv, timeout_s, child_environment(world.environ)))


def _rows(text: str, width: int) -> list[list[str]]:
    """Return the rows of ``index, name, ...``; a name may hold commas, a warning is no row.

    0, NVIDIA A100-SXM4-80GB, 8.0, 81920, Enabled, 550.54.15, GPU-8932f937-d72c-4106-c12f-20bd9fae
    """
    rows = []
    for line in islice(text.splitlines(), 4 * _GPU_LIMIT):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) < width or not re.fullmatch(r"[0-9]{1,4}", cells[0]):
            continue
        rest = width - 2
        name = ", ".join(cells[1 : len(cells) - rest])
        rows.append([cells[0], name, *cells[len(cells) - rest :]])
    return rows[:_GPU_LIMIT]


def _failure(result: Result) -> GpuReading:
    """Return the reading of a call that failed; nvidia-smi prints its errors to standard output."""
    if result.ending in (Ending.TIMED_OUT, Ending.STUCK):
        return failed_reading("nvidia-smi", GpuListObstacle.HUNG, f"nvidia-smi {result.describe()}")
    lines = [line.strip() for line in result.stdout[:4096].splitlines() if line.strip()]
    said = next((line for line in lines if _LOST in line), lines[0] if lines else None)
    if result.ending is not Ending.EXITED or said is None:
        return failed_reading(
            "nvidia-smi", GpuListObstacle.FAILED, f"nvidia-smi {result.describe()}"
        )
    absent = result.code in (_DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND)
    obstacle = GpuListObstacle.NO_DRIVER if absent else GpuListObstacle.FAILED
    return failed_reading("nvidia-smi", obstacle, f"nvidia-smi: {said}")


def _driver(text: str) -> Fact:
    source = "nvidia-smi --query-gpu=driver_version"
    if re.fullmatch(_DRIVER, text):
        return known(text, source)
    return unknown(f"nvidia-smi says {text!r}", source)


def _cuda(world: World, program: str, left_s: float) -> Fact:
    """Return the CUDA version of the banner; no query field gives it."""
    if left_s <= 0:
        return unknown("the time for nvidia-smi was used up", "nvidia-smi")
    result = _run(world, (program,), left_s)
    found = re.search(_CUDA, result.stdout[:16_384])
    if found:
        return known(found[1], f"nvidia-smi: {found[0]}")
    if not result.ok:
        return unknown(f"nvidia-smi {result.describe()}", "nvidia-smi")
    return unknown("the banner of nvidia-smi names no CUDA version", "nvidia-smi")


def _gpu(cells: dict[str, str]) -> NvidiaGpu:
    uuid = cells["uuid"]
    mig = _mig(cells.get("mig.mode.current"))
    return NvidiaGpu(
        name=_name(cells["name"]),
        compute_capability=_compute_capability(cells.get("compute_cap")),
        memory_bytes=_memory(cells["memory.total"]),
        mig=mig,
        uuid=uuid if uuid.startswith("GPU-") else None,
        mig_uuids=() if mig == known(False, mig.source) else None,
    )


def _name(text: str) -> Fact:
    source = "nvidia-smi --query-gpu=name"
    if not text or (text.startswith("[") and text.endswith("]")):
        return unknown(f"nvidia-smi says {text!r}", source)
    return known(text, source)


def _compute_capability(text: str | None) -> Fact:
    source = "nvidia-smi --query-gpu=compute_cap"
    if text is None:
        return unknown("this nvidia-smi is too old to tell the compute capability", source)
    if re.fullmatch(r"[1-9][0-9]?\.[0-9]{1,2}", text):
        return known(text, source)
    return unknown(f"nvidia-smi says {text!r}", source)


def _memory(text: str) -> Fact:
    """Return bytes; with nounits the number is MiB."""
    source = "nvidia-smi --query-gpu=memory.total"
    if re.fullmatch(r"[1-9][0-9]{0,11}", text):
        return known(int(text) << 20, source)
    return unknown(f"nvidia-smi says {text!r}", source)


def _mig(text: str | None) -> Fact:
    """Return whether MIG is on; a GPU that cannot do MIG says [N/A]."""
    source = "nvidia-smi --query-gpu=mig.mode.current"
    if text is None:
        return known(False, f"{source}: the field is unknown to it, so it is older than MIG")
    if text in _SETTINGS:
        return known(_SETTINGS[text], f"{source}: {text}")
    return unknown(f"nvidia-smi says {text!r}", source)
