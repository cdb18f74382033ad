"""What Windows says of itself in its registry and files, and which WSL this is.

Nothing is run. Registry values: Microsoft, "Maximum Path Length Limitation" (LongPathsEnabled),
"Redistributing Visual C++ Files" (Version). The driver's version is the last five digits of what
Windows calls it: 32.0.15.7680 is 576.80, as Chromium reads it (crrev.com/1241aea53e75).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.sources.probes.interpreter_files import is_file, list_folder
from fadoctor.sources.probes.registry import DISPLAY, FILE_SYSTEM, VC_RUNTIME, WINDOWS, text_of
from fadoctor.sources.probes.world import absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.registry import Registry, Value
    from fadoctor.sources.probes.world import Facts, World

_NO_REGISTRY = "the registry cannot be read here"
_ADAPTERS = 16
_NVIDIA = "NVIDIA"
_AMD = "ADVANCED MICRO DEVICES"
"""How makers begin the name of the provider of their drivers."""
_MSVC = ("C:/Program Files/Microsoft Visual Studio",
         "C:/Program Files (x86)/Microsoft Visual Studio")  # fmt: skip
_COMPILER = "bin/Hostx64/x64/cl.exe"
_NAMES = ("windows_build", "long_paths", "vc_runtime")
# 14.44.35207
_TOOLS = r"14\.\d{1,3}\.\d{1,6}"
# 5.15.167.4-microsoft-standard-WSL2; 4.4.0-19041-Microsoft of WSL 1
_WSL_2 = re.compile(r"-microsoft-", re.IGNORECASE)


def windows_host_facts(world: World) -> Facts:
    """Return the facts of a host that only Windows has; Absent on other systems."""
    if world.os != "windows":
        return {f"host.{name}": absent(f"{world.os} has none") for name in _NAMES}
    registry = world.registry
    if registry is None:
        return {f"host.{name}": unknown(_NO_REGISTRY, "registry") for name in _NAMES}
    return {
        "host.windows_build": _build(registry),
        "host.long_paths": _long_paths(registry),
        "host.vc_runtime": _vc_runtime(registry),
    }


def wsl_version(kernel: str) -> str:
    """Return 1 or 2 by the release of the kernel that WSL runs; "" for another kernel."""
    if "microsoft" not in kernel.lower():
        return ""
    return "2" if _WSL_2.search(kernel) else "1"


def adapters(world: World) -> list[tuple[str, str]]:
    """Return name and driver version of the NVIDIA adapters that Windows lists, gone ones too."""
    registry = world.registry
    if world.os != "windows" or registry is None:
        return []
    return list(_adapters(registry))


def amd_adapters(world: World) -> tuple[str, ...]:
    """Return the names of the AMD adapters that Windows lists, gone ones too."""
    registry = world.registry
    if world.os != "windows" or registry is None:
        return ()
    named = (text_of(each, "DriverDesc") for each in _listed(registry, _AMD))
    return tuple(printable(name, 80) for name in named if name)


def _adapters(registry: Registry) -> Iterator[tuple[str, str]]:
    for values in _listed(registry, _NVIDIA):
        yield text_of(values, "DriverDesc"), driver_version(text_of(values, "DriverVersion"))


def _listed(registry: Registry, maker: str) -> Iterator[Mapping[str, Value] | None]:
    """Yield the values of each adapter whose driver is of this maker."""
    for key in registry.keys(DISPLAY)[:_ADAPTERS]:
        values = registry.values(rf"{DISPLAY}\{key}")
        if text_of(values, "ProviderName").upper().startswith(maker):
            yield values


def driver_version(text: str) -> str:
    """Return 576.80 for 32.0.15.7680; "" for what is none."""
    match = re.fullmatch(r"\d{1,3}\.\d{1,3}\.(\d{1,5})\.(\d{1,5})", text)
    if match is None:
        return ""
    digits = (match[1][-1] + match[2].zfill(4))[-5:]
    return f"{digits[:3]}.{digits[3:]}"


def msvc_facts(world: World) -> Facts:
    """Return the newest Visual C++ compiler for x64; Absent where none is installed."""
    names = ("toolkit.msvc.version", "toolkit.msvc.path")
    if world.os != "windows":
        return dict.fromkeys(names, absent(f"{world.os} has none"))
    found = sorted(_compilers(world), key=lambda pair: [int(n) for n in pair[0].split(".")])
    if not found:
        return dict.fromkeys(names, absent("no cl.exe below Microsoft Visual Studio"))
    version, path = found[-1]
    source = "Microsoft Visual Studio"
    return {names[0]: known(version, source), names[1]: known(world.name(path), source)}


def _compilers(world: World) -> Iterator[tuple[str, Path]]:
    """Yield version and path of each cl.exe: .../2022/BuildTools/VC/Tools/MSVC/14.44.35207/bin."""
    for root in _MSVC:
        for year in list_folder(world.path(root), 50):
            for edition in list_folder(year.path, 50):
                tools = Path(edition.path, "VC", "Tools", "MSVC")
                for entry in list_folder(tools, 50):
                    path = Path(entry.path, _COMPILER)
                    if re.fullmatch(_TOOLS, entry.name) and is_file(path):
                        yield entry.name, path


def _build(registry: Registry) -> Fact:
    build = text_of(registry.values(WINDOWS), "CurrentBuildNumber")
    if re.fullmatch(r"\d{4,6}", build):
        return known(build, f"{WINDOWS}: CurrentBuildNumber")
    return unknown("it names no build", WINDOWS)


def _long_paths(registry: Registry) -> Fact:
    values = registry.values(FILE_SYSTEM)
    if values is None:
        return unknown("it cannot be read", FILE_SYSTEM)
    return known(values.get("LongPathsEnabled") == 1, f"{FILE_SYSTEM}: LongPathsEnabled")


def _vc_runtime(registry: Registry) -> Fact:
    values = registry.values(VC_RUNTIME)
    text = text_of(values, "Version")
    if values is None or values.get("Installed") != 1:
        return absent(f"{VC_RUNTIME}: not installed")
    match = re.fullmatch(r"v?(\d{1,3}(?:\.\d{1,6}){1,3})", text)
    if match is None:
        return unknown(printable(f"it names no version: {text!r}"), VC_RUNTIME)
    return known(match[1], f"{VC_RUNTIME}: Version")
