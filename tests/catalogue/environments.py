"""Environments made around one wheel: what the probes and its binary would say there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.knowledge.matrix.wheel_label import wheel_facts
from fadoctor.model.catalogue import LATER, build_catalogue
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.wheels import WheelFile
    from fadoctor.model.rule import Table

READ = "read in this test"
NEWEST_DRIVER = "610.43.02"
NEWEST_GLIBC = "2.39"


class Torch(msgspec.Struct, frozen=True):
    """A torch that is installed beside a wheel."""

    version: str
    build: str
    """As the probe says it: pypi, cu118; ``other`` for a build of one's own."""
    cuda: str
    cxx11_abi: bool
    sm: tuple[str, ...]
    """Compute capabilities of its code; empty where the matrix does not know them."""


class Torches:
    """The published CUDA builds of torch, by the matrix."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.runs = {str(row["cc"]): _words(row["runs"]) for row in tables["architectures"].rows}
        self.by_minor: dict[tuple[str, str], list[Torch]] = {}
        for row in tables["torch-builds"].rows:
            build = str(row["build"]).split()[0]
            for version in str(row["version"]).split():
                full = version if build == "pypi" else f"{version}+{build}"
                found = Torch(
                    full, build, str(row["cuda"]), row["cxx11_abi"] is True, _words(row["sm"])
                )
                for platform in str(row["platform"]).split():
                    minor = version_part(version, "minor") or ""
                    self.by_minor.setdefault((platform, minor), []).append(found)

    def published(self, platform: str, minor: str) -> list[Torch]:
        """Return the builds of a torch minor, PyPI's first."""
        found = self.by_minor.get((platform, minor), [])
        return sorted(found, key=lambda torch: torch.build != "pypi")

    def fitting(self, file: WheelFile, capability: str) -> Torch:
        """Return a torch for which a wheel was made and that has code for a GPU.

        Where none was published (torch 1.12, the new C++ ABI before torch 2.6, Blackwell before
        2.7) it is a build of one's own.
        """
        for torch in self.published(file.platform, file.torch):
            fits = (version_part(torch.cuda, "major"), torch.cxx11_abi) == (
                file.cuda_major,
                really_new(file),
            )
            if fits and self.covers(torch.sm, capability):
                return torch
        return own_build(file.torch, f"{file.cuda_major}.0", cxx11_abi=really_new(file))

    def covers(self, sm: tuple[str, ...], capability: str) -> bool:
        """Return whether machine code for one of these runs on a GPU."""
        return not set(sm).isdisjoint(self.runs[capability])


def _words(cell: Any) -> tuple[str, ...]:
    return tuple(str(cell).split()) if not isinstance(cell, dict) else ()


def own_build(minor: str, cuda: str, *, cxx11_abi: bool) -> Torch:
    """Return a torch that somebody built, with code for every GPU."""
    everything = ("7.0", "7.5", "8.0", "9.0", "10.0", "12.0")
    return Torch(f"{minor}.0+own", "other", cuda, cxx11_abi, everything)


def words_of(fact: Fact) -> tuple[str, ...]:
    """Return a list fact's members; none where it is not Known."""
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, tuple) else ()


def really_new(file: WheelFile) -> bool:
    """Return whether an official file has the new C++ string ABI."""
    assert isinstance(file.real_abi, Known)
    return file.real_abi.value is True


def environment(
    file: WheelFile,
    torch: Torch,
    gpus: tuple[str, ...],
    *,
    binary: bool = True,
    labels: bool = True,
    **changes: Any,
) -> Environment:
    """Return a healthy environment with one wheel in it, but for the changes.

    Without `binary` nobody has read the extension; without `labels` nothing recorded which file it
    came from, as after ``pip install flash-attn``. In names of changes ``__`` stands for a dot.
    """
    facts = {
        **_nothing(),
        **_system(file, torch, gpus),
        **_wheel(file, labels=labels),
        **(_binary(file, gpus) if binary else {}),
    }
    if binary and not isinstance(file.sm, Known):
        del facts["flash_attn.binary.code"]  # or its GPUs would be derived from it
    facts |= {name.replace("__", "."): known(value) for name, value in changes.items()}
    return Environment("0", Target("facts", "test", "test"), facts)


def known(value: Any) -> Fact:
    """Return a value as a fact; None is Absent."""
    return Absent(READ) if value is None else Known(value, READ)


TEGRA = ("5.3", "6.2", "7.2", "8.7", "8.8")
"""GPUs on which only code of their own is sure to run."""


@lru_cache(maxsize=1)
def _nothing() -> Mapping[str, Fact]:
    """Return every fact that probes provide today as Absent; the others stay Unknown."""
    names = [name for name, spec in build_catalogue().items() if spec.provider != LATER]
    absent = Absent("nothing there")
    return {name: absent for name in names if "[]" not in name and "*" not in name}


def _system(file: WheelFile, torch: Torch, gpus: tuple[str, ...]) -> dict[str, Fact]:
    tag = file.python.rstrip("mt")
    python = f"{tag[2]}.{tag[3:]}"
    values: dict[str, Any] = {
        "host.os": "linux",
        "host.libc": "glibc",
        "host.glibc": NEWEST_GLIBC,
        "host.platform": file.platform,
        "host.machine": file.platform.removeprefix("linux_"),
        "python.version": f"{python}.0",
        "python.implementation": "cpython",
        "python.tag": tag,
        "python.abi_tag": file.python,
        "python.headers": f"/usr/include/python{python}/Python.h",
        "driver.version": NEWEST_DRIVER,
        "gpu.count": len(gpus),
        "gpu.visible_count": len(gpus),
        "torch.version": torch.version,
        "torch.distribution": "torch",
        "torch.binary.file": "$site/torch/_C.so",
        "torch.build": torch.build,
        "torch.cuda": torch.cuda,
        "torch.cxx11_abi": torch.cxx11_abi,
    }
    if torch.build == "other" or not torch.sm:
        values["torch.binary.code"] = {" ".join(torch.sm or gpus): "1"}
    for index, capability in enumerate(gpus):
        gpu = {"visible": True, "vendor": "nvidia", "compute_capability": capability}
        values |= {f"gpu[{index}].{name}": value for name, value in gpu.items()}
    return {name: known(value) for name, value in values.items()}


def _wheel(file: WheelFile, *, labels: bool) -> dict[str, Fact]:
    """Return what the probes say of the wheel; its labels are read by the real parser."""
    extension = known(f"flash_attn_2_cuda.cpython-{file.python[2:]}-x86_64-linux-gnu.so")
    version = Known(file.version, READ)
    tag = file.python.rstrip("mt")
    recorded: dict[str, Fact] = {
        "flash_attn.version": version,
        "flash_attn.distribution": known("flash-attn"),
        "flash_attn.extension": extension,
        "flash_attn.binary.file": extension,
        "flash_attn.interface": known(True),
        "flash_attn.namespace_only": known(False),
        "flash_attn.editable": known(False),
        "flash_attn.missing_files": known(0),
        "flash_attn.wheel.tags": known((f"{tag}-{file.python}-{file.platform}",)),
        "flash_attn.direct_url": known(file.url if labels else None),
    }
    return {**recorded, **wheel_facts(version, extension, recorded)}


def _code(file: WheelFile, gpus: tuple[str, ...]) -> dict[str, Fact]:
    """Return what the containers hold: every release so far has the same code in each.

    Of a file that nobody has described only some code is sure.
    """
    if isinstance(file.sm, Known):
        return {"flash_attn.binary.code": known({" ".join(words_of(file.sm)): "73"})}
    sure = words_of(file.sm_at_least)
    runs_on = tuple(gpu for gpu in gpus if gpu not in TEGRA and any(_runs(sm, gpu) for sm in sure))
    return {
        "flash_attn.binary.runs_on": known(runs_on),
        "flash_attn.binary.no_code_for": Unknown("not described by the matrix", READ),
        "flash_attn.binary.jit_for": known(()),
    }


def _runs(sm: str, gpu: str) -> bool:
    """Return whether code for a target runs: the same major, the minor not above."""
    (major, minor), (own, least) = gpu.split("."), sm.split(".")
    return major == own and int(least) <= int(minor)


def _binary(file: WheelFile, gpus: tuple[str, ...]) -> dict[str, Fact]:
    """Return what reading the extension gives, as far as the matrix knows it."""
    unread = Unknown("not described by the matrix", READ)
    sm = file.sm if isinstance(file.sm, Known) else unread
    needs = file.glibc_needed if isinstance(file.glibc_needed, Known) else unread
    return {
        **_code(file, gpus),
        "flash_attn.binary.arch_list": sm,
        "flash_attn.binary.ptx": known(None),
        "flash_attn.binary.cxx11_abi": known(really_new(file)),
        "flash_attn.binary.cuda_major": known(file.cuda_major),
        "flash_attn.binary.needed": known(("libc10.so", f"libcudart.so.{file.cuda_major}")),
        "flash_attn.binary.glibc": needs,
    }
