"""The environment in a few lines: host, driver, GPUs, packages."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from fadoctor.model.environment import SUBJECT_LIMIT
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import PACKAGES
from fadoctor.report.words import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_GIB = 1 << 30

_NAMED = 3
"""Packages that are named where nobody knows their versions, for one reason."""


def environment_lines(facts: dict[str, Fact]) -> Iterable[str]:
    """Yield a line about the host, the driver, each GPU and the packages of the stack."""
    yield _host_line(facts)
    yield _driver_line(facts)
    yield from _gpu_lines(facts)
    yield from _package_lines(facts)


def with_gpus_alike(lines: Iterable[str]) -> Iterable[str]:
    """Yield the same lines, with one for GPUs of which the same is said: ``GPU 0-7: ...``."""
    for text, group in groupby(lines, key=_without_number):
        same = list(group)
        first, last = (same[end].partition(":")[0].removeprefix("GPU ") for end in (0, -1))
        yield same[0] if len(same) == 1 else f"GPU {first}-{last}{text}"


def _without_number(line: str) -> str:
    """Return what is said of a GPU; any other line is like no other."""
    head, colon, rest = line.partition(":")
    is_gpu = head.startswith("GPU ") and head.removeprefix("GPU ").isdigit()
    return f"{colon}{rest}" if is_gpu else line


def _fact(facts: dict[str, Fact], name: str) -> Fact:
    return facts.get(name, Unknown("not read", name))


def _say(fact: Fact) -> str:
    match fact:
        case Known(value=value):
            return value_text(value)
        case Absent():
            return "none"
        case Unknown(reason=reason):
            return f"unknown ({reason})"


def _host_line(facts: dict[str, Fact]) -> str:
    words = [_say(_fact(facts, "host.platform"))]
    glibc = _fact(facts, "host.glibc")
    if isinstance(glibc, Known):
        words.append(f"glibc {glibc.value}")
    words.append(f"Python {_say(_fact(facts, 'python.version'))}")
    for name, label in (("host.container", "container"), ("host.wsl", "WSL")):
        fact = _fact(facts, name)
        if isinstance(fact, Known) and fact.value is not False:
            words.append(label if fact.value is True else f"{label} {value_text(fact.value)}")
    return ", ".join(words)


def _driver_line(facts: dict[str, Fact]) -> str:
    driver, cuda = _fact(facts, "driver.version"), _fact(facts, "driver.cuda")
    jetson = _fact(facts, "driver.tegra")
    amd, rocm = _fact(facts, "rocm.driver"), _fact(facts, "rocm.version")
    if isinstance(driver, Absent) and (isinstance(amd, Known) or isinstance(rocm, Known)):
        return f"AMD driver (amdgpu): {_say(amd)}, ROCm: {_say(rocm)}"
    text = f"NVIDIA driver: {_say(driver)}"
    if isinstance(jetson, Known):
        text = f"NVIDIA driver: {jetson.value} (a Jetson's)"
    return f"{text}, supports CUDA {cuda.value}" if isinstance(cuda, Known) else text


def _gpu_lines(facts: dict[str, Fact]) -> Iterable[str]:
    count = _fact(facts, "gpu.count")
    if not isinstance(count, Known) or not isinstance(count.value, int):
        yield f"GPU: {_say(count)}"
        return
    if count.value == 0:
        yield "GPU: none"
    for index in range(min(count.value, SUBJECT_LIMIT)):
        get = {n: _fact(facts, f"gpu[{index}].{n}") for n in ("name", "compute_capability", "gfx")}
        kind = get["gfx"] if isinstance(get["gfx"], Known) else get["compute_capability"]
        label = "" if kind is get["gfx"] else "compute capability "
        said = dict.fromkeys((_say(get["name"]), f"{label}{_say(kind)}"))
        memory = _fact(facts, f"gpu[{index}].memory_bytes")
        size = f", {memory.value / _GIB:.0f} GiB" if _is_number(memory) else ""  # type: ignore[union-attr, operator]  # _is_number saw to it
        visible = _fact(facts, f"gpu[{index}].visible")
        hidden = isinstance(visible, Known) and visible.value is False
        tail = ", hidden by CUDA_VISIBLE_DEVICES" if hidden else ""
        yield f"GPU {index}: {', '.join(said)}{size}{tail}"


def _is_number(fact: Fact) -> bool:
    return isinstance(fact, Known) and isinstance(fact.value, int)


def _package_lines(facts: dict[str, Fact]) -> Iterable[str]:
    found: list[str] = []
    open_: dict[str, list[str]] = {}
    for key in PACKAGES:
        version = _fact(facts, f"{key}.version")
        if isinstance(version, Absent):
            continue
        name = _fact(facts, f"{key}.distribution")
        label = str(name.value) if isinstance(name, Known) else PACKAGES[key][0]
        if isinstance(version, Unknown):
            open_.setdefault(version.reason, []).append(label)
        else:
            found.append(f"{label} {_say(version)}")
    build = _fact(facts, "torch.build")
    if found and isinstance(build, Known) and found[0].startswith("torch "):
        found[0] += f" ({build.value} build)"
    for reason, labels in open_.items():
        named = ", ".join(labels) if len(labels) <= _NAMED else f"{len(labels)} others"
        found.append(f"{named} unknown ({reason})")
    yield f"Packages: {', '.join(found) or 'none of the stack'}"
