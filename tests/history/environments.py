"""Environments as the probes would read them: one torch release, one attention package, some GPUs.

What nobody can read without running something (whether a library loads, which code a binary holds)
is left out, so it is Unknown, as in a real check.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.catalogue import LATER, LOG, build_catalogue
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.overlays import Overlays
from fadoctor.model.packages import EXTENSIONS, PACKAGES
from fadoctor.sources.targets.overlay import apply_overlays

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

STACKS = Path(__file__).with_name("stacks.yaml")

GPUS = ("V100", "T4", "A100", "A10", "RTX 4090", "H100", "B200", "RTX 5090", "MI300X")
DRIVER = "580.95.05"
"""New enough for every CUDA of the stacks, and of the last branch that knows Volta."""
GLIBC = "2.35"
HIP = "6.4"

ATTENTION = ("flash_attn_1", "flash_attn", "flash_attn_3", "flash_attn_4", "xformers")
"""What is judged, one at a time, beside torch and triton; `flash_attn_1` is flash-attn 1.x."""

# cu12torch2.8, cu118torch2.0
_WHEEL = re.compile(r"(cu\d+)torch(\d+\.\d+)")
# cu126, cu118
_BUILD = re.compile(r"cu(\d+)(\d)")
_SOURCE = "history"

_DETAILS = {
    spec.name.removeprefix("einops.")
    for spec in build_catalogue().values()
    if spec.name.startswith("einops.")
}
"""What is known of every installed package; a package that is not there has only no version."""


class Stack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of stacks.yaml; an empty text means that the package is not there."""

    torch: str
    cuda: str
    cxx11_abi: str
    """``true`` or ``false``: of torch and of the wheel's label."""
    python: str = "3.10"
    build: str = "pypi"
    triton: str = ""
    triton_pin: str = ""
    """What torch requires, where that is not this very version."""
    flash_attn_1: str = ""
    flash_attn: str = ""
    wheel: str = ""
    """``cu12torch2.8``: an official file; empty: built on the machine."""
    wheel_abi: str = ""
    """The label, where it is not torch's ABI."""
    flash_attn_3: str = ""
    flash_attn_4: str = ""
    xformers: str = ""
    xformers_torch: str = ""
    """The torch that xformers requires, where that is not exactly this one."""
    driver: str = DRIVER
    glibc: str = GLIBC


@cache
def stacks() -> dict[str, Stack]:
    """Return torch release -> its stack, in the order of the file."""
    raw = yaml.load(STACKS.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 -- texts only
    rows = msgspec.convert(raw["stacks"], list[Stack])
    return {row.torch: row for row in rows}


def rebuilt(stack: Stack, build: str) -> Stack:
    """Return a stack with another build of torch: ``cu126`` of the PyTorch index, ``rocm``."""
    if build == "pypi":
        return stack
    found = _BUILD.fullmatch(build)
    cuda = f"{found[1]}.{found[2]}" if found else ""
    return msgspec.structs.replace(stack, build=build, cuda=cuda)


def environment(
    stack: Stack, package: str, gpus: tuple[str, ...], knowledge: Knowledge
) -> Environment:
    """Return the facts of a machine with these GPUs, torch, triton and one attention package."""
    if package == "flash_attn_1":
        stack = msgspec.structs.replace(stack, flash_attn=stack.flash_attn_1, wheel="")
        package = "flash_attn"
    facts: dict[str, Fact] = _nothing()
    facts |= {name: Known(value, _SOURCE) for name, value in _machine(stack).items()}
    facts |= {name: Known(value, _SOURCE) for name, value in _torch(stack).items()}
    if package and getattr(stack, package):
        facts |= {name: Known(value, _SOURCE) for name, value in _attention(stack, package).items()}
    bare = Environment("0", Target("facts", "history", "history"), facts)
    overlays = Overlays(gpu=gpus, driver=stack.driver)
    return apply_overlays(bare, overlays, Matrix(knowledge.tables))


def _nothing() -> dict[str, Fact]:
    """Return every fact that probes provide, as on a machine that has nothing."""
    catalogue = build_catalogue().values()
    others = (LATER, LOG)
    plain = [spec for spec in catalogue if "[]" not in spec.name and spec.provider not in others]
    versions = {f"{key}.version" for key in PACKAGES}
    names = [spec.name for spec in plain if is_own(spec.name) or spec.name in versions]
    names += [spec.name for spec in catalogue if spec.name.startswith("config.")]
    return {name: Absent("history: not there") for name in names}


def is_own(name: str) -> bool:
    """Say whether a fact is not one of those that every installed package has."""
    key, _, rest = name.partition(".")
    return key not in PACKAGES or rest not in _DETAILS


def _machine(stack: Stack) -> dict[str, Any]:
    tag = f"cp{stack.python.replace('.', '')}"
    return {
        "host.os": "linux",
        "host.machine": "x86_64",
        "host.platform": "linux_x86_64",
        "host.libc": "glibc",
        "host.glibc": stack.glibc,
        "host.wsl": False,
        "python.version": f"{stack.python}.4",
        "python.implementation": "cpython",
        "python.tag": tag,
        "python.abi_tag": tag,
        "python.ext_suffix": f".cpython-{tag[2:]}-x86_64-linux-gnu.so",
        "python.free_threaded": False,
        "python.headers": f"/usr/include/python{stack.python}/Python.h",
        "toolkit.count": 0,
        "packages.duplicated": {},
        "packages.broken": {},
        "packages.nvidia": {},
    }


def _torch(stack: Stack) -> dict[str, Any]:
    local = {"pypi": "", "rocm": f"+rocm{HIP}"}.get(stack.build, f"+{stack.build}")
    pin = {"triton": stack.triton_pin or f"=={stack.triton}"} if stack.triton else {}
    facts = _package("torch", "torch", stack.torch + local, {"typing-extensions": "", **pin})
    facts["torch.build"] = stack.build
    facts["torch.cxx11_abi"] = stack.cxx11_abi == "true"
    facts |= {"torch.cuda": stack.cuda} if stack.cuda else {"torch.hip": HIP}
    if stack.triton:
        distribution = "triton" if stack.cuda else "pytorch-triton-rocm"
        facts |= _package("triton", distribution, stack.triton, {})
    return facts


def _attention(stack: Stack, package: str) -> dict[str, Any]:
    version, distribution = getattr(stack, package), package.replace("_", "-")
    requires = {"torch": "", "einops": ""}
    if package == "xformers":
        requires = {"torch": stack.xformers_torch or f"=={stack.torch}", "numpy": ""}
    facts = _package(package, distribution, version, requires)
    if package == "xformers":
        facts["xformers.extension"] = "_C.so"
    if package == "flash_attn":
        return facts | _flash_attn(stack)
    if package == "flash_attn_4":
        files = {"flash_attn.interface": False, "flash_attn.namespace_only": True}
        return facts | files
    return facts


def _flash_attn(stack: Stack) -> dict[str, Any]:
    tag = f"cp{stack.python.replace('.', '')}"
    facts: dict[str, Any] = {
        "flash_attn.interface": True,
        "flash_attn.namespace_only": False,
        "flash_attn.wheel.python": tag,
        "flash_attn.wheel.origin": "local",
    }
    if not stack.flash_attn.startswith("1."):  # whose extension has another name
        file = f"flash_attn_2_cuda.cpython-{tag[2:]}-x86_64-linux-gnu.so"
        facts["flash_attn.extension"] = file
    if match := _WHEEL.fullmatch(stack.wheel):
        facts |= {
            "flash_attn.wheel.origin": "official",
            "flash_attn.wheel.cuda": match[1],
            "flash_attn.wheel.cuda_major": match[1][2:4],
            "flash_attn.wheel.torch": match[2],
            "flash_attn.wheel.cxx11_abi": (stack.wheel_abi or stack.cxx11_abi) == "true",
        }
    return facts


def _package(key: str, distribution: str, version: str, requires: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "version": version,
        "distribution": distribution,
        "location": "$site",
        "installer": "pip",
        "editable": False,
        "requires": requires,
        "requires_python": ">=3.8",
        "missing_files": 0,
    }
    if key in EXTENSIONS:
        values["binary.file"] = f"$site/{key}.so"
    return {f"{key}.{name}": value for name, value in values.items()}
