"""The GPUs of the machine and the driver behind them. The only probe that asks NVML, once a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.probes.amd import TOPOLOGY, AmdGpu, read_amd
from fadoctor.sources.probes.driver import (
    VERSION_FILE,
    KernelDriver,
    find_device_nodes,
    read_kernel_driver,
)
from fadoctor.sources.probes.nvidia import GpuListObstacle, GpuReading, Trouble, failed_reading
from fadoctor.sources.probes.nvidia_smi import NVIDIA_SMI_TIMEOUT_S, read_nvidia_smi
from fadoctor.sources.probes.nvml import NVML_TIMEOUT_S, read_nvml
from fadoctor.sources.probes.rocminfo import RocminfoReading, read_rocminfo
from fadoctor.sources.probes.visible import Selection, VisibleDevice, cuda_selection, rocm_selection
from fadoctor.sources.probes.windows_host import adapters, amd_adapters
from fadoctor.sources.probes.world import Facts, World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


REGISTRY = "the registry of Windows"


class QueryLimits(msgspec.Struct, frozen=True):
    """How long the driver may take to answer, seconds."""

    nvml_s: float = NVML_TIMEOUT_S
    nvidia_smi_s: float = NVIDIA_SMI_TIMEOUT_S


def probe(world: World, facts: Mapping[str, Fact], limits: QueryLimits | None = None) -> Facts:  # noqa: ARG001 -- the form of every probe
    """Return the facts of the GPUs, NVIDIA's first, and of the driver. Costs one process or two."""
    reading = read_nvidia(world, limits or QueryLimits())
    nvidia_count = _nvidia_count(world, reading)
    amd = read_amd(world) if world.os == "linux" else None
    told = _told_of_amd(world, nvidia_count) if amd is None else None
    if told is not None and not told.trouble:
        amd = told.gpus
    gpus = [
        *_nvidia_facts(world, reading),
        *_amd_facts(world, amd or (), TOPOLOGY if told is None else told.how),
    ]
    count = _count(world, nvidia_count, amd, told)
    found = {
        "gpu.count": count,
        "gpu.visible_count": _visible_count(count, [gpu["visible"] for gpu in gpus]),
        **_driver_facts(world, reading, nvidia_count),
    }
    for index, gpu in enumerate(gpus):
        found |= {f"gpu[{index}].{noun}": fact for noun, fact in gpu.items()}
    return found


def read_nvidia(world: World, limits: QueryLimits) -> GpuReading:
    """Return what NVML says, or nvidia-smi where NVML gives no list of GPUs.

    After NVML hung, nvidia-smi is not asked: it would wait in the same library.
    """
    if world.os == "macos":
        return failed_reading("nvml", GpuListObstacle.NOT_INSTALLED, "macOS has no NVIDIA driver")
    nvml = read_nvml(world, limits.nvml_s)
    if nvml.trouble is None or nvml.trouble.obstacle is GpuListObstacle.HUNG:
        return nvml
    smi = read_nvidia_smi(world, limits.nvidia_smi_s)
    if smi.trouble is None:
        return msgspec.structs.replace(smi, note=nvml.trouble.reason)
    trouble = _both_failed(nvml.trouble, smi.trouble)
    failed = msgspec.structs.replace(nvml, trouble=trouble)
    listed = [pair for pair in adapters(world) if pair[1]]
    if listed and len({version for _, version in listed}) == 1:
        source = f"{REGISTRY}: {listed[0][0]}"
        failed = msgspec.structs.replace(failed, driver=known(listed[0][1], source))
    return failed


def _both_failed(nvml: Trouble, smi: Trouble) -> Trouble:
    """Say in one line why neither gave a list. What NVML says about the driver weighs more."""
    obstacle = nvml.obstacle
    if obstacle is GpuListObstacle.NOT_INSTALLED:
        obstacle = smi.obstacle
    return Trouble(obstacle, f"{nvml.reason}; {smi.reason}")


def _nvidia_count(world: World, reading: GpuReading) -> Fact:
    """Return how many NVIDIA GPUs can be used here; Known 0 only where nothing of a driver is."""
    trouble = reading.trouble
    if trouble is None:
        return known(len(reading.gpus), reading.how)
    listed, of_amd = adapters(world), amd_adapters(world)
    if trouble.obstacle is GpuListObstacle.HUNG or (
        trouble.obstacle is GpuListObstacle.FAILED and (listed or not of_amd)
    ):
        return unknown(trouble.reason, reading.how)
    if listed:
        return unknown(f"{trouble.reason}, yet Windows lists {listed[0][0]}", reading.how)
    if of_amd:
        return known(0, f"{trouble.reason}; {REGISTRY} lists none")
    nodes = find_device_nodes(world) if world.os == "linux" else ()
    if trouble.obstacle is GpuListObstacle.NOT_INSTALLED:
        # Every WSL machine has /dev/dxg; without NVIDIA's libraries it stands for another GPU.
        nodes = tuple(node for node in nodes if node != "/dev/dxg")
    if not nodes:
        return known(0, f"{trouble.reason}; no device node")
    hint = "a container gets NVML by the driver capability 'utility'"
    return unknown(f"{trouble.reason}, yet {nodes[0]} is there ({hint})", reading.how)


def _told_of_amd(world: World, nvidia: Fact) -> RocminfoReading | None:
    """Return what rocminfo says of AMD's GPUs under WSL, and the registry on Windows itself.

    The registry keeps adapters that are gone. One that is the only one of all is surely there.
    """
    names = amd_adapters(world)
    if not names:
        return read_rocminfo(world)
    if not isinstance(nvidia, Known):
        return None
    if nvidia.value or len(names) > 1:
        return RocminfoReading((), REGISTRY, f"Windows lists {', '.join(names)}, gone ones too")
    said = f"{REGISTRY}: DriverDesc"
    unread = unknown("the registry does not say it", said)
    return RocminfoReading((AmdGpu(known(names[0], said), unread, unread),), REGISTRY)


def _count(
    world: World, nvidia: Fact, amd: Sequence[AmdGpu] | None, told: RocminfoReading | None
) -> Fact:
    if told is not None and told.trouble and isinstance(nvidia, Known) and nvidia.value == 0:
        return unknown(told.trouble, told.how)
    where = f"{TOPOLOGY} lists {len(amd)}" if amd is not None else f"no {TOPOLOGY}"
    if told is not None and amd is not None:
        where = f"{told.how} lists {len(amd)}"
    elif world.os != "linux":
        where = f"{REGISTRY} lists none" if world.registry else "AMD GPUs are not looked for here"
    if not isinstance(nvidia, Known) or not isinstance(nvidia.value, int):
        return nvidia
    return known(nvidia.value + len(amd or ()), f"NVIDIA: {nvidia.source}; AMD: {where}")


def _visible_count(count: Fact, visible: Sequence[Fact]) -> Fact:
    if not isinstance(count, Known):
        return count
    undecided = next((fact for fact in visible if not isinstance(fact, Known)), None)
    if undecided is not None:
        return undecided
    number = sum(isinstance(fact, Known) and fact.value is True for fact in visible)
    return known(number, visible[0].source if visible else count.source)


def _driver_facts(world: World, reading: GpuReading, count: Fact) -> Facts:
    version = _driver_version(world, reading, count)
    cuda, how = reading.cuda, known(reading.how, reading.note or reading.how)
    if isinstance(version, Absent) and not isinstance(cuda, Known):
        cuda = absent(version.source)
    if reading.trouble is not None:
        gone = isinstance(version, Absent)
        reason = reading.trouble.reason
        return {
            "driver.version": version,
            "driver.cuda": cuda,
            "driver.nvml": absent(reason) if gone else unknown(reason, reading.how),
        }
    return {"driver.version": version, "driver.cuda": cuda, "driver.nvml": how}


def _driver_version(world: World, reading: GpuReading, count: Fact) -> Fact:
    """Return what NVML or nvidia-smi says, else the kernel, whose word needs no library."""
    if isinstance(reading.driver, Known):
        return reading.driver
    kernel = read_kernel_driver(world)
    if isinstance(kernel, KernelDriver):
        return known(kernel.version, f"{VERSION_FILE}: {kernel.line}")
    if kernel is None and reading.trouble and isinstance(count, Known):
        return absent(f"{reading.trouble.reason}; no {VERSION_FILE}")
    return reading.driver


def _nvidia_facts(world: World, reading: GpuReading) -> list[Facts]:
    gpus = reading.gpus
    devices = [VisibleDevice(gpu.uuid, _as_bool(gpu.mig), gpu.mig_uuids) for gpu in gpus]
    selection = cuda_selection(world.environ, devices)
    names = {gpu.name.value for gpu in gpus if isinstance(gpu.name, Known)}
    note = selection.note
    if len(names) > 1 and False in selection.visible and "GPU-" not in note:
        note += "; ordinals taken in PCI bus order, CUDA's own default is fastest first"
    return [
        {
            "name": gpu.name,
            "vendor": known("nvidia", reading.how),
            "compute_capability": gpu.compute_capability,
            "gfx": absent("an NVIDIA GPU has none"),
            "memory_bytes": gpu.memory_bytes,
            "mig": gpu.mig,
            "visible": _visible(visible, note),
        }
        for gpu, visible in zip(gpus, selection.visible, strict=True)
    ]


def _amd_facts(world: World, gpus: Sequence[AmdGpu], how: str) -> list[Facts]:
    selection = rocm_selection(world.environ, [gpu.uuid for gpu in gpus])
    if gpus and how == TOPOLOGY and not world.path("/dev/kfd").exists():
        # /sys shows the host's GPUs to every container; a program needs the device node.
        selection = Selection((False,) * len(gpus), "/dev/kfd is not there")
    return [
        {
            "name": gpu.name,
            "vendor": known("amd", how),
            "compute_capability": absent("an AMD GPU has none"),
            "gfx": gpu.gfx,
            "memory_bytes": gpu.memory_bytes,
            "mig": absent("an AMD GPU has none"),
            "visible": _visible(visible, selection.note),
        }
        for gpu, visible in zip(gpus, selection.visible, strict=True)
    ]


def _as_bool(fact: Fact) -> bool | None:
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, bool) else None


def _visible(visible: bool | None, note: str) -> Fact:  # noqa: FBT001 -- a cell of a table
    return unknown(note, "visibility") if visible is None else known(visible, note)
