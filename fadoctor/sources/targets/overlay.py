"""What-if overlays: facts that the user assumes instead of those that were read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.environment import DRIVER_NOT_GIVEN, OTHER_PLATFORM, PASTED
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Fact, Known, Unknown, printable
from fadoctor.sources.targets.gpu_name import find_gpu
from fadoctor.sources.targets.tegra import is_tegra, unknown_cuda

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.overlays import Overlays

GPU_LIMIT = 64

_PYTHON = re.compile(r"[23]\.\d{1,2}(\.\d{1,2})?")
_PORTABLE = {"python.version", "python.tag", "python.implementation", "python.abi_tag"}
"""What stays the same when the same Python is assumed on another platform."""

_SELECTIONS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Variables that hide real GPUs."""

PLATFORMS = {
    "linux_x86_64": ("linux", "x86_64"),
    "linux_aarch64": ("linux", "aarch64"),
    "win_amd64": ("windows", "amd64"),
    "macosx_arm64": ("macos", "arm64"),
}
"""Names that ``--platform`` takes -> host.os and host.machine."""

_LONG_NAMES = (
    (re.compile(r"manylinux\w{0,16}?_(x86_64|aarch64)"), "linux_{}"),  # manylinux_2_28_x86_64
    (re.compile(r"macosx_\d{1,3}_\d{1,3}_(arm64)"), "macosx_{}"),  # macosx_14_0_arm64
    (re.compile(r"linux/(?:amd64|x86_64)()"), "linux_x86_64{}"),  # as Docker says it
    (re.compile(r"linux/(?:arm64|aarch64)()"), "linux_aarch64{}"),
    # as conda and uv say them, and people; linux alone may be either
    (re.compile(r"(?:linux-64|x86_64-\w{1,12}-linux-gnu)()"), "linux_x86_64{}"),
    (re.compile(r"(?:linux-aarch64|aarch64-\w{1,12}-linux-gnu)()"), "linux_aarch64{}"),
    (re.compile(r"(?i:win|windows|win-?64|windows[-_/](?:amd64|x86_64))()"), "win_amd64{}"),
    (re.compile(r"x86_64-pc-windows-\w{1,8}()"), "win_amd64{}"),
    (re.compile(r"(?i:mac|macos|darwin|osx-arm64|aarch64-apple-darwin)()"), "macosx_arm64{}"),
)
"""How wheels, Docker, conda, uv and people call the same platforms."""


def apply_overlays(environment: Environment, overlays: Overlays, matrix: Matrix) -> Environment:
    """Return the environment as assumed; UsageError for a value that cannot be."""
    facts = dict(environment.facts)
    if overlays.platform:
        facts.update(_platform_facts(overlays.platform, facts))
    if overlays.gpu:
        facts = {name: fact for name, fact in facts.items() if not name.startswith("gpu[")}
        facts.update(_gpu_facts(overlays.gpu, matrix))
        if not overlays.driver:
            facts.update(_told_driver(environment, facts))
    if overlays.driver:
        facts.update(_driver_facts(overlays.driver, facts, matrix))
        if overlays.gpu:
            facts.update(_working_driver(overlays.driver))
    if overlays.glibc:
        _refuse_off_linux(overlays.glibc, facts)
        facts["host.glibc"] = _version("--glibc", overlays.glibc)
        facts["host.libc"] = Known("glibc", f"--glibc {overlays.glibc}")
    if overlays.python_version:
        facts.update(_python_facts(overlays.python_version))
    return msgspec.structs.replace(
        environment,
        facts=dict(sorted(facts.items())),
        overlays=(*environment.overlays, *overlays.described()),
    )


def _version(option: str, value: str) -> Known:
    if not re.fullmatch(r"\d{1,4}(\.\d{1,4}){0,3}", value) or parse_version(value) is None:
        example = "550.54.15" if option == "--driver" else "2.35"
        raise UsageError(f"{option} {printable(value, 40)}: not a version like {example}")
    return Known(value, f"{option} {value}")


def _gpu_facts(names: tuple[str, ...], matrix: Matrix) -> dict[str, Fact]:
    if len(names) > GPU_LIMIT:
        raise UsageError(f"--gpu: at most {GPU_LIMIT}")
    if "none" in names:
        if len(names) > 1:
            raise UsageError("--gpu none excludes any other --gpu")
        return _no_gpu()
    facts: dict[str, Fact] = {}
    for index, name in enumerate(names):
        facts.update(_one_gpu(index, name, matrix))
    count = Known(len(names), "--gpu")
    unread: Fact = Unknown(DRIVER_NOT_GIVEN, "--gpu")
    vendors = [facts[f"gpu[{index}].vendor"] for index in range(len(names))]
    if all(isinstance(vendor, Known) and vendor.value == "amd" for vendor in vendors):
        unread = Absent("--gpu: none of these GPUs is NVIDIA's")
    driver = dict.fromkeys(_names_with_prefix("driver."), unread)
    counts = {"gpu.count": count, "gpu.visible_count": count}
    return {**facts, **driver, **_no_selection("--gpu"), **counts}


def _told_driver(environment: Environment, assumed: dict[str, Fact]) -> dict[str, Fact]:
    """Return the driver that a pasted text names, where the assumed GPUs may be the text's own.

    They may where the text names none, or only such as have the same compute capability.
    """
    is_told = isinstance(environment.fact("driver.version"), Known)
    if environment.target.reason != PASTED or not is_told:
        return {}
    here, mine = _capabilities(environment.facts), _capabilities(assumed)
    if not mine or (here and here != mine):
        return {}
    return {name: f for name, f in environment.facts.items() if name.startswith("driver.")}


def _capabilities(facts: dict[str, Fact]) -> set[object]:
    """Return the compute capabilities of the GPUs that are known."""
    return {
        fact.value
        for name, fact in facts.items()
        if name.startswith("gpu[")
        and name.endswith("].compute_capability")
        and isinstance(fact, Known)
    }


def _no_gpu() -> dict[str, Fact]:
    source = "--gpu none"
    driver = {name: Absent(source) for name in _names_with_prefix("driver.")}
    return {
        **driver,
        **_no_selection(source),
        "gpu.count": Known(0, source),
        "gpu.visible_count": Known(0, source),
    }


def _no_selection(source: str) -> dict[str, Fact]:
    """Return that no variable hides a GPU: those variables are about the real ones."""
    return {f"env.{name}": Absent(source) for name in _SELECTIONS}


def _names_with_prefix(prefix: str) -> list[str]:
    return [name for name in build_catalogue() if name.startswith(prefix)]


def _one_gpu(index: int, text: str, matrix: Matrix) -> dict[str, Fact]:
    gpu = find_gpu(text, matrix.tables)
    source = f"--gpu {text}"
    values: dict[str, Fact] = {
        "name": Known(gpu.name, source),
        "vendor": Known(gpu.vendor, source),
        "compute_capability": _given(gpu.compute_capability, source),
        "gfx": _given(gpu.gfx, source),
        "memory_bytes": Unknown("a model can have several sizes", source),
        "mig": Unknown("not given", source),
        "visible": Known(value=True, source=source),
    }
    return {f"gpu[{index}].{name}": fact for name, fact in values.items()}


def _given(value: str, source: str) -> Fact:
    return Known(value, source) if value else Absent(source)


def _driver_facts(text: str, facts: dict[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    version = _version("--driver", text)
    cuda = matrix.find("driver-cuda", {"driver": version}).cell("cuda")
    return {
        "driver.version": version,
        "driver.cuda": unknown_cuda(version.source) if is_tegra(facts, matrix) else cuda,
        "driver.forward_compat": Unknown("not given", f"--driver {text}"),
        **_library_facts(version, facts),
    }


def _library_facts(version: Known, facts: dict[str, Fact]) -> dict[str, Fact]:
    """Return that an assumed driver brings its own library, where one was read.

    What was read is another driver's: the two would be said not to fit.
    """
    name = "driver.library_version"
    return {name: version} if isinstance(facts.get(name), Known) else {}


def _working_driver(text: str) -> dict[str, Fact]:
    """Return what an assumed GPU with an assumed driver implies: that the driver is in place.

    Whether its kernel module is the open one is left to who installs it: it drives that GPU.
    """
    source = f"--driver {text}"
    return {
        "driver.kernel_module": Absent(f"{source} drives the GPU that is assumed"),
        "driver.nvml": Absent(f"{source} is assumed: nothing was asked"),
        "driver.tegra": Absent(source),
        "driver.library": Known("libcuda.so.1", source),
        "driver.library_version": Known(text, source),
        "driver.device_nodes": Known(value=True, source=source),
        "driver.forward_compat": Known(value=False, source=source),
    }


def _python_facts(text: str) -> dict[str, Fact]:
    assumed = assumed_python(text)
    if not assumed:
        raise UsageError(f"--python-version {printable(text, 40)}: must be X.Y, such as 3.12")
    version = assumed["python.version"]
    source = version.source
    major, minor, *_ = text.split(".")
    tag = f"cp{major}{minor}"
    unknown = Unknown("another Python is assumed", source)
    return {
        **dict.fromkeys(_names_with_prefix("python."), unknown),
        "python.version": version,
        "python.tag": Known(tag, source),
        "python.abi_tag": Known(tag, source),
        "python.implementation": Known("cpython", source),
    }


def _refuse_off_linux(glibc: str, facts: dict[str, Fact]) -> None:
    system = facts.get("host.os")
    if isinstance(system, Known) and system.value != "linux":
        raise UsageError(f"--glibc {printable(glibc, 40)}: only Linux has a glibc")


def _platform_name(asked: str) -> str:
    """Return the name of the table for the tag of a wheel or a platform of Docker."""
    for pattern, name in _LONG_NAMES:
        if found := pattern.fullmatch(asked):
            return name.replace("{}", found[1])
    return asked


def assumed_python(text: str) -> dict[str, Fact]:
    """Return the version of an assumed Python; nothing for one that cannot be."""
    if not _PYTHON.fullmatch(text):
        return {}
    return {"python.version": Known(text, f"--python-version {text}")}


def assumed_machine(asked: str) -> dict[str, Fact]:
    """Return system and processor of an assumed platform; nothing for one that cannot be."""
    name = _platform_name(asked)
    if name not in PLATFORMS:
        return {}
    source = f"--platform {name}"
    system, machine = (Known(word, source) for word in PLATFORMS[name])
    return {"host.platform": Known(name, source), "host.os": system, "host.machine": machine}


def _platform_facts(asked: str, facts: dict[str, Fact]) -> dict[str, Fact]:
    name = _platform_name(asked)
    if name not in PLATFORMS:
        raise UsageError(f"--platform {printable(name, 40)}: must be one of {', '.join(PLATFORMS)}")
    current = facts.get("host.platform")
    if isinstance(current, Known) and current.value == name:
        return {}
    system, machine = PLATFORMS[name]
    source = f"--platform {name}"
    unknown = Unknown(OTHER_PLATFORM, source)
    linux: Fact = unknown if system == "linux" else Absent(source)
    of_this_one = (*_names_with_prefix("python."), *_names_with_prefix("driver."))
    return {
        **dict.fromkeys((name for name in of_this_one if name not in _PORTABLE), unknown),
        **dict.fromkeys(_names_with_prefix("host."), unknown),
        "host.platform": Known(name, source),
        "host.os": Known(system, source),
        "host.machine": Known(machine, source),
        "host.glibc": linux,
        "host.glibcxx": linux,
    }
