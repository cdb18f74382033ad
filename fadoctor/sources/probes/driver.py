"""The NVIDIA driver as files show it: device nodes, the kernel module, the library for programs."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.files import read_bytes
from fadoctor.sources.probes.world import Facts, World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fadoctor.model.fact import Fact

VERSION_FILE = "/proc/driver/nvidia/version"

_LIBRARY = "libcuda.so.1"
_CACHE = "/etc/ld.so.cache"
_CACHE_LIMIT = 2 << 20
_FOLDER_LIMIT = 200
_DEFAULT_FOLDERS = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
)
_DRIVER_FOLDERS = ("/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/lib64-nvidia")
"""Where WSL, GKE and Colab keep it; the loader looks there only if it is told to."""

_WINDOWS_LIBRARY = "C:/Windows/System32/nvcuda.dll"

# NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder
# NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021
_NVRM = (
    r"NVRM version: NVIDIA UNIX (?P<open>Open )?[^\n]{0,40}?Kernel Module[^\n]{0,40}?"
    r"\s(?P<version>[0-9]{1,5}\.[0-9]{1,5}(?:\.[0-9]{1,5})?)\s"
)
# /usr/local/cuda-12.4/compat/libcuda.so.550.54.14, $CONDA_PREFIX/cuda-compat/libcuda.so.1
_COMPAT = r"/cuda[^/]*/(?:[^/]+/)*compat[^/]*/|/cuda-compat[^/]*/"


class KernelDriver(msgspec.Struct, frozen=True):
    """The loaded kernel module, as /proc tells."""

    version: str
    is_open: bool
    line: str


def probe(world: World, facts: Mapping[str, Fact]) -> Facts:  # noqa: ARG001 -- every probe's form
    """Return the facts of the driver that files show."""
    library, path = find_library(world)
    return {
        "driver.device_nodes": _device_nodes(world),
        "driver.kernel_module": _kernel_module(world),
        "driver.library": library,
        "driver.library_version": _library_version(world, library, path),
        "driver.forward_compat": _forward_compat(world, library, path),
    }


def find_device_nodes(world: World) -> tuple[str, ...]:
    """Return the device nodes through which a GPU is reached, those of WSL and Tegra among them."""
    fixed = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvmap", "/dev/nvgpu", "/dev/nvhost-ctrl-gpu")
    found = [node for node in fixed if _exists(world.path(node))]
    with suppress(OSError):
        gpus = islice(world.path("/dev").glob("nvidia[0-9]*"), 256)
        found += sorted(f"/dev/{path.name}" for path in gpus)
    return tuple(found)


def read_kernel_driver(world: World) -> KernelDriver | str | None:
    """Return the loaded kernel module, the line where it was not understood, None where none is."""
    text = world.read(VERSION_FILE, 4096)
    if text is None:
        return None
    line = text.partition("\n")[0]
    found = re.search(_NVRM, line + "\n")
    if found is None:
        return line
    return KernelDriver(found["version"], found["open"] is not None, line)


def find_library(world: World) -> tuple[Fact, str | None]:
    """Return libcuda.so.1 as the loader would find it, and its path as it is on this machine.

    The order of the loader: LD_LIBRARY_PATH, its cache, its own folders. Link-time stand-ins below
    a folder ``stubs`` cannot run anything and are passed over, 32-bit libraries too.
    """
    if world.os == "windows":  # unverified: written without a Windows machine
        there = _exists(world.path(_WINDOWS_LIBRARY))
        fact = known(_WINDOWS_LIBRARY, "System32") if there else absent("no nvcuda.dll in System32")
        return fact, _WINDOWS_LIBRARY if there else None
    for path, source in _candidates(world):
        if "/stubs/" not in path and _is_library(world.path(path)):
            return known(world.name(path), source), path
    return absent(f"no {_LIBRARY} on LD_LIBRARY_PATH, in {_CACHE} or in the loader's folders"), None


def _candidates(world: World) -> Iterator[tuple[str, str]]:
    listed = re.split("[:;]", world.environ.get("LD_LIBRARY_PATH", ""), maxsplit=_FOLDER_LIMIT)
    for folder in listed[:_FOLDER_LIMIT]:
        if folder.startswith("/"):
            yield f"{folder.rstrip('/')}/{_LIBRARY}", "LD_LIBRARY_PATH"
    for path in islice(_listed_by_loader(world.read(_CACHE, _CACHE_LIMIT) or ""), _FOLDER_LIMIT):
        if path.startswith("/") and len(path) < 4096:
            yield path, _CACHE
    for folder in _DEFAULT_FOLDERS:
        yield f"{folder}/{_LIBRARY}", "a folder of the loader"
    for folder in _DRIVER_FOLDERS:
        yield f"{folder}/{_LIBRARY}", "a folder of the driver, which the loader may not search"


def _listed_by_loader(cache: str) -> Iterator[str]:
    """Yield the paths of the library in the loader's cache: strings that end with NUL."""
    ending = f"/{_LIBRARY}\0"
    at = cache.find(ending)
    while at >= 0:
        yield cache[cache.rfind("\0", 0, at) + 1 : at + len(ending) - 1]
        at = cache.find(ending, at + 1)


def _is_library(path: Path) -> bool:
    """Whether this is a file that is not a 32-bit ELF object (EI_CLASS, byte 4, is 1)."""
    try:
        head = read_bytes(path, 5)
    except (OSError, ValueError):
        return False
    return head != b"\x7fELF\x01"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _device_nodes(world: World) -> Fact:
    if world.os != "linux":
        return absent("device nodes exist on Linux only")
    nodes = find_device_nodes(world)
    numbered = [node for node in nodes if node.startswith("/dev/nvidia") and node[-1].isdigit()]
    others = [node for node in nodes if node not in ("/dev/nvidiactl", *numbered)]
    usable = bool(others) or ("/dev/nvidiactl" in nodes and bool(numbered))
    return known(usable, "in /dev: " + (", ".join(nodes) or "neither nvidia* nor dxg"))


def _kernel_module(world: World) -> Fact:
    driver = read_kernel_driver(world)
    match driver:
        case None:
            return absent(f"{VERSION_FILE} is not there")
        case KernelDriver():
            kind = "open" if driver.is_open else "proprietary"
            return known(kind, f"{VERSION_FILE}: {driver.line}")
        case str():
            return unknown(f"not understood: {driver}", VERSION_FILE)


def _forward_compat(world: World, library: Fact, path: str | None) -> Fact:
    if path is None:
        return absent(library.source)
    real = _real(world, path)
    compat = any(re.search(_COMPAT, text) for text in (path, real))
    return known(compat, f"{world.name(path)} is {world.name(real)}")


def _library_version(world: World, library: Fact, path: str | None) -> Fact:
    """Return the version in the name behind the link: ``libcuda.so.550.127.08``."""
    if path is None:
        return absent(library.source)
    real = _real(world, path)
    found = re.search(r"/libcuda\.so\.([0-9]{3,4}\.[0-9]{1,4}(\.[0-9]{1,4})?)$", real)
    if found is None:
        return absent(f"the file name {world.name(real)} tells no version")
    return known(found[1], f"{world.name(path)} is {world.name(real)}")


def _real(world: World, path: str) -> str:
    """Return the path behind all symbolic links, as seen from the root where it lies below it."""
    try:
        real, root = world.path(path).resolve(), world.root.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
    return f"/{real.relative_to(root)}" if real.is_relative_to(root) else str(real)
