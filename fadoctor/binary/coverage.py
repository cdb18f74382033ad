"""Whether the GPU code of a file runs on a GPU, container by container.

A container holds the same kernels for several architectures, so each must have code that runs; the
code of all containers together says less. What is read from a file becomes text, one line for each
kind of container, which survives as a fact: ``8.0 9.0a 9.0+PTX@8.4`` has machine code for 8.0 and
9.0a, and PTX of ISA 8.4 for 9.0. Which targets run on a GPU is the matrix's knowledge (table
`architectures`); it comes in as an argument. Rules: CUDA Programming Guide, "Compute Capabilities";
nvcc, "JIT Linking Support".
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.fatbin import Role
from fadoctor.binary.fatbin_image import ImageKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.binary.fatbin import Container, Fatbins
    from fadoctor.binary.fatbin_image import Image

_PTX = "+PTX@"
_NOT_CALLED = (Role.RELOCATABLE, Role.STUB)
_OTHER = {ImageKind.LTO: "+LTO", ImageKind.OTHER: "+OTHER"}


class GpuRow(msgspec.Struct, frozen=True):
    """What the matrix says of a GPU."""

    capability: str
    """9.0"""
    runs: frozenset[str]
    """Targets whose machine code runs there: 9.0, 9.0a."""
    may_run: frozenset[str] = frozenset()
    """Targets of which that is not certain: 8.0 on a Jetson of 8.7."""


class Code(msgspec.Struct, frozen=True):
    """What one kind of container holds."""

    role: Role
    machine: frozenset[str]
    """Targets of its machine code."""
    ptx: tuple[tuple[str, str], ...]
    """Target and ISA of its PTX: ("9.0", "8.4")."""


class Cover(Enum):
    """What a container has for a GPU, the best first."""

    MACHINE = "machine code"
    UNCERTAIN = "uncertain"
    """Machine code that may run there, and no PTX."""
    JIT = "jit"
    """PTX, or relocatable code, that the driver compiles at the first use."""
    NONE = "none"


class CoverageVerdict(Enum):
    """What all containers have together."""

    ALL = "all"
    JIT = "jit"
    """No machine code that runs, and PTX everywhere."""
    NONE = "none"
    """Every kernel ends with "no kernel image is available"."""
    MIXED = "mixed"
    """As collections of kernels are: each container is one, and not every GPU needs it."""
    UNCERTAIN = "uncertain"
    EMPTY = "empty"
    """There is no GPU code."""


class Coverage(msgspec.Struct, frozen=True):
    """How many containers run on a GPU, and how."""

    verdict: CoverageVerdict
    counts: dict[Cover, int]
    lowest_isa: str
    """Lowest PTX ISA that a container which must be compiled asks for; a driver below it runs none
    of these. Empty where nothing must be compiled, or only linked."""
    highest_isa: str
    """The same of the most demanding one; a driver of that ISA runs all."""


class CodeSummary(msgspec.Struct, frozen=True):
    """The code of a file, as facts tell it."""

    targets: tuple[str, ...]
    """Targets with machine code anywhere in it."""
    common: tuple[str, ...]
    """Targets with machine code in every container: what torch calls its architecture list."""
    ptx: str
    """Lowest compute capability of PTX for all that are newer; empty where there is none."""
    specific_ptx: tuple[str, ...]
    """Targets of PTX with a suffix, which runs where machine code of that target does."""
    lowest_isa: str
    """Lowest ISA of all PTX; empty where there is none."""
    code: dict[str, str]
    """Text of `describe` -> number of containers."""


def describe(container: Container) -> str:
    """Return what a container holds, as one line: ``linked: 8.0 9.0a 9.0+PTX@8.4``."""
    words = " ".join(dict.fromkeys(_word(image) for image in sorted(container.images, key=_order)))
    return words if container.role is Role.REGISTERED else f"{container.role.value}: {words}"


def _order(image: Image) -> tuple[str, int, str]:
    return image.kind.value, image.architecture, image.suffix


def _word(image: Image) -> str:
    if image.kind is ImageKind.CUBIN:
        return image.target
    if image.kind is ImageKind.PTX:
        return f"{image.target}{_PTX}{image.version[0]}.{image.version[1]}"
    return image.target + _OTHER[image.kind]


def parse_code(line: str) -> Code:
    """Return what a line of `describe` says; words of another form are left out."""
    head, colon, tail = line.partition(": ")
    role = next((role for role in Role if colon and role.value == head), Role.REGISTERED)
    words = (tail if colon else line.removesuffix(":")).split()
    pairs = (word.partition(_PTX) for word in words)
    ptx = tuple((target, isa) for target, mark, isa in pairs if target and mark and isa)
    return Code(role, frozenset(word for word in words if "+" not in word), ptx)


def summarise(fatbins: Fatbins) -> CodeSummary:
    """Return the code of a file as facts tell it."""
    lines = [describe(container) for container in fatbins.containers]
    code = {line: str(lines.count(line)) for line in dict.fromkeys(sorted(lines))}
    parsed = [one for one in map(parse_code, code) if one.role is not Role.STUB]
    ptx = {pair for one in parsed for pair in one.ptx}
    base = {target for target, _ in ptx if target[-1].isdigit()}
    return CodeSummary(
        targets=_sorted({target for one in parsed for target in one.machine}),
        common=common_targets(parsed),
        ptx=min(base, key=_number, default=""),
        specific_ptx=_sorted({target for target, _ in ptx} - base),
        lowest_isa=min((isa for _, isa in ptx), key=_number, default=""),
        code=code,
    )


def common_targets(code: Iterable[Code]) -> tuple[str, ...]:
    """Return the targets with machine code in every container that the program calls."""
    called = [one.machine for one in code if one.role not in _NOT_CALLED]
    filled = [machine for machine in called if machine]
    return _sorted(set(filled[0]).intersection(*filled)) if filled else ()


def cover(code: Code, gpu: GpuRow) -> Cover:
    """Return what one container has for a GPU."""
    if not code.machine.isdisjoint(gpu.runs):
        return Cover.MACHINE
    if best_ptx(code, gpu):
        return Cover.JIT
    return Cover.NONE if code.machine.isdisjoint(gpu.may_run) else Cover.UNCERTAIN


def best_ptx(code: Code, gpu: GpuRow) -> str:
    """Return the ISA of the PTX that the driver compiles for a GPU, empty where none can be.

    PTX without a suffix is compiled for every GPU that is not older, PTX with one only where
    machine code of that target runs. The newest that fits is taken.
    """
    usable = [
        (_number(target), isa)
        for target, isa in code.ptx
        if target in gpu.runs
        or (target[-1].isdigit() and _number(target) <= _number(gpu.capability))
    ]
    return max(usable)[1] if usable else ""


def coverage(code: Mapping[str, str], gpu: GpuRow) -> Coverage:
    """Judge the lines of `describe` and their numbers for a GPU."""
    parsed = [(parse_code(line), _count(number)) for line, number in code.items()]
    parts = [one for one, _ in parsed if one.role is Role.RELOCATABLE]
    counts = dict.fromkeys(Cover, 0)
    isas = set()
    for one, number in parsed:
        if one.role in _NOT_CALLED or not (one.machine or one.ptx or one.role is Role.LINKED):
            continue
        found = cover(one, gpu)
        used = [one]
        if one.role is Role.LINKED and found is Cover.NONE:
            found, used = _relinked(parts, gpu), parts
        counts[found] += number
        if found is Cover.JIT:
            isas |= {best_ptx(part, gpu) for part in used if cover(part, gpu) is Cover.JIT}
    ordered = sorted(isas - {""}, key=_number)
    lowest, highest = (ordered[0], ordered[-1]) if ordered else ("", "")
    return Coverage(_verdict(counts), counts, lowest, highest)


def _relinked(parts: list[Code], gpu: GpuRow) -> Cover:
    """Return what linking the relocatable containers again gives: each must have code."""
    found = {cover(part, gpu) for part in parts}
    if not found or Cover.NONE in found:
        return Cover.NONE
    return Cover.UNCERTAIN if Cover.UNCERTAIN in found else Cover.JIT


def _verdict(counts: Mapping[Cover, int]) -> CoverageVerdict:
    found = {kind for kind, number in counts.items() if number}
    alone = {
        Cover.MACHINE: CoverageVerdict.ALL,
        Cover.JIT: CoverageVerdict.JIT,
        Cover.NONE: CoverageVerdict.NONE,
        Cover.UNCERTAIN: CoverageVerdict.UNCERTAIN,
    }
    if len(found) == 1:
        return alone[found.pop()]
    return CoverageVerdict.MIXED if found else CoverageVerdict.EMPTY


def _count(text: str) -> int:
    """Return a number of containers: facts can come from a file that somebody wrote."""
    return int(text) if text.isdecimal() and len(text) < 10 else 1


def _number(target: str) -> tuple[int, int]:
    """Return a target or an ISA as numbers, (0, 0) for what is none: "10.0f" -> (10, 0)."""
    major, _, minor = target.rstrip("af").partition(".")
    return (int(major), int(minor)) if f"{major}{minor}".isdecimal() and minor else (0, 0)


def _sorted(targets: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(targets, key=lambda target: (_number(target), target)))
