"""Files of flash-attn and facts: what a file must fit, and what it would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_in, version_part
from fadoctor.knowledge.matrix.wheels import WheelRequest
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_text
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.wheels import WheelFile
    from fadoctor.model.environment import Environment


def known(value: object) -> Fact:
    """Return a fact of the time after the plan; None is Absent."""
    if value is None:
        return Absent(AFTER)
    return Known(value, AFTER)  # type: ignore[arg-type] # cells of the matrix are values of facts


def text_of(environment: Environment, name: str) -> str:
    """Return a Known fact as text, "" where it is not."""
    return fact_text(environment.fact(name), "")


def inside(file: WheelFile) -> dict[str, Fact]:
    """Return what reading the extension would give, as far as the matrix knows it."""
    unread = Unknown("the tables do not describe this file", AFTER)
    sm = file.sm.value if isinstance(file.sm, Known) else None
    values = {
        "code": known({" ".join(sm): "1"}) if isinstance(sm, tuple) else unread,
        "cxx11_abi": file.real_abi,
        "cuda_major": known(file.cuda_major),
        "glibc": next((g for g in _glibc_of(file) if isinstance(g, Known)), unread),
    }
    return {f"flash_attn.binary.{name}": fact for name, fact in values.items()}


def needs_newer_glibc(environment: Environment, file: WheelFile) -> bool:
    """Return whether the system's glibc is older than what the file is known to load with.

    Where nobody knows that: than what all systems had that build such files.
    """
    here = environment.fact("host.glibc")
    known_ones = (g for g in (*_glibc_of(file), file.glibc_built_on) if isinstance(g, Known))
    least = next(known_ones, None)
    if not isinstance(here, Known) or least is None:
        return False
    return is_in(str(here.value), f">={least.value}") is False


def _glibc_of(file: WheelFile) -> tuple[Fact, Fact]:
    """Return what the file was seen to ask for, and what its builder had."""
    return file.glibc_needed, file.glibc_enough


def wanted_of(environment: Environment) -> WheelRequest | None:
    """Return what a file must fit, None where the torch is not a published CUDA build.

    What conda installs with the old C++ ABI is of PyTorch's own channel, and built as its wheels.
    """
    names = ("torch.version", "torch.cuda", "python.abi_tag", "host.platform")
    torch, cuda, python, platform = (text_of(environment, name) for name in names)
    abi = environment.fact("torch.cxx11_abi")
    minor = version_part(torch, "minor")
    build = text_of(environment, "torch.build")
    is_old = isinstance(abi, Known) and abi.value is False
    is_published = (
        build == "other" and is_old and text_of(environment, "torch.installer") == "conda"
    )
    if not (minor and cuda and python and platform):
        return None
    if build in ("", "other", "rocm") and not is_published:
        return None
    new = isinstance(abi, Known) and abi.value is True
    if isinstance(abi, Unknown):
        return None
    return WheelRequest(minor, cuda, python, platform, new)
