"""The name of a build of a kernel: ``torch-stable-abi210-cu130-x86_64-linux``, ``torch-cuda``."""

from __future__ import annotations

import enum
import re

import msgspec

NAME_LIMIT = 120
"""Longest name that is looked at; those of the Hub have fewer than fifty characters."""

_SYSTEM = r"(?P<backend>[a-z]+)(?P<version>\d{2,6})?-(?P<machine>\w{1,20})-(?P<system>\w{1,20})"
_FORMS = (
    re.compile(rf"torch(?P<major>\d)(?P<minor>\d{{1,4}})(?:-(?P<abi>cxx11|cxx98))?-{_SYSTEM}"),
    re.compile(rf"torch-(?P<stable>stable)-abi(?P<major>\d)(?P<minor>\d{{1,4}})-{_SYSTEM}"),
    re.compile(rf"tvm-(?P<ffi>ffi)(?P<major>\d)(?P<minor>\d{{1,4}})-{_SYSTEM}"),
)
_ANYWHERE = re.compile(r"torch-(?P<backend>[a-z-]{1,20})")

_VERSIONED = {"cu": "cuda", "rocm": "rocm", "xpu": "xpu", "cann": "cann"}
"""How a name calls a backend whose version it gives -> what the backend is called."""
_UNVERSIONED = {name: name for name in ("cpu", "metal", "neuron", "tpu")}


class Interface(enum.Enum):
    """What a build was compiled against, in the order in which kernels prefers them."""

    STABLE_ABI = "stable ABI"
    """torch's stable ABI: runs on that torch and newer ones."""
    TORCH = "torch"
    """One minor release of torch."""
    TVM_FFI = "tvm-ffi"
    """One minor release of tvm-ffi."""
    PYTHON = "python"
    """Nothing was compiled."""


class Variant(msgspec.Struct, frozen=True):
    """One build of a kernel, by its name."""

    name: str
    interface: Interface
    backend: str
    """cuda, rocm, xpu, cann, cpu, metal, neuron, tpu; of Python alone also ``universal``."""
    of: tuple[int, int] = (0, 0)
    """Release of torch, of its stable ABI or of tvm-ffi."""
    cxx11_abi: bool | None = None
    """C++ string ABI, where the name says one."""
    backend_version: tuple[int, int] = (0, 0)
    """CUDA 12.8 is (12, 8)."""
    machine: str = ""
    system: str = ""


def parse_variant(name: str) -> Variant | None:
    """Return what a name says; None where it is none that kernels reads."""
    if len(name) > NAME_LIMIT:
        return None
    if found := _ANYWHERE.fullmatch(name):
        return Variant(name, Interface.PYTHON, found["backend"])
    for form, interface in zip(
        _FORMS, (Interface.TORCH, Interface.STABLE_ABI, Interface.TVM_FFI), strict=True
    ):
        if found := form.fullmatch(name):
            return _compiled(name, interface, found)
    return None


def _compiled(name: str, interface: Interface, found: re.Match[str]) -> Variant | None:
    written, digits = found["backend"], found["version"] or ""
    backend = (_VERSIONED if digits else _UNVERSIONED).get(written)
    if backend is None:
        return None
    abi = found.groupdict().get("abi")
    return Variant(
        name,
        interface,
        backend,
        of=(int(found["major"]), int(found["minor"])),
        cxx11_abi=None if abi is None else abi == "cxx11",
        backend_version=(int(digits[:-1]), int(digits[-1])) if digits else (0, 0),
        machine=found["machine"],
        system=found["system"],
    )
