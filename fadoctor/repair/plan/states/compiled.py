"""Facts about compiled extensions after a plan, whose files nobody can read before it.

What a file holds can be known from the matrix. Whether it loads follows from its labels, as it does
where files are not read at all: the facts that reading it would give are Absent then.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_in, version_part
from fadoctor.model.catalogue import DERIVED, build_catalogue
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import EXTENSIONS, LOADS_ALONE, TORCH, VLLM, XFORMERS
from fadoctor.repair.plan.states.after_unset import without_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AFTER = "after the plan"
ASSUMED = "assumed: no file names it"
"""Source of what is taken to be absent from a planned environment, where nobody knows."""

_BY_LABEL = Absent(f"{AFTER}: not there to be read yet, its labels decide")
_THERE = Known("its compiled extension", AFTER)
_NOBODY_KNOWS = Unknown("it was read beside another torch", AFTER)

_LINKED = (
    "failure", "missing", "cause", "wanted_by", "provider", "found_by", "says", "hint", "undefined",
)  # fmt: skip
"""What reading an extension says of it and torch together: void when torch changes."""

_OF_TABLES = (VLLM,)
"""Packages of which tables say for which CUDA their files are: rules hold it against torch's."""

_BROKEN = ("truncated", "not-elf")
_RUNTIME = re.compile(r"libcudart\.so\.(?P<major>[0-9]{1,3})(?:[.0-9]{0,20})")
_OF_TORCH = ("libtorch", "libc10")
_OWN_FAILURES = (*_BROKEN, "other-machine")
_SYSTEM_CAUSES = ("glibc", "libstdcxx", "python")
_TORCH_FUNCTIONS = ("string-abi", "torch-function", "stable-abi")
_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD")


@cache
def by_label(package: str) -> Mapping[str, Fact]:
    """Return what is known of the extensions of a release that is not installed yet."""
    read = ("binaries", DERIVED)
    there = {f"{package}.binary.file", f"{package}.fa2.file"}
    return {
        name: _THERE if name in there else _BY_LABEL
        for name, spec in build_catalogue().items()
        if spec.provider in read and name.startswith(f"{package}.")
    }


def is_damaged(facts: Mapping[str, Fact], package: str) -> bool:
    """Return whether what is installed is broken in itself: the same release again repairs it."""
    gone = facts.get(f"{package}.gone")
    if isinstance(gone, Known) and gone.value is True:
        return True
    if package == XFORMERS and isinstance(facts.get("xformers.extension"), Absent):
        return True  # compiled without CUDA, or taken as source
    if package == TORCH and lacking_requirements(facts, package):
        return True
    failure = _value(facts, f"{package}.binary.failure")
    if package == TORCH and failure == "missing-library":
        return _value(facts, "torch.binary.cause") == "torch-library"
    return failure in _BROKEN


def lacking_requirements(facts: Mapping[str, Fact], package: str) -> dict[str, str]:
    """Return the libraries of NVIDIA that a package pins and that are not installed."""
    requires, installed = facts.get(f"{package}.requires"), facts.get("packages.installed")
    needs = requires.value if isinstance(requires, Known) else {}
    there = installed.value if isinstance(installed, Known) else None
    if not isinstance(needs, dict) or not isinstance(there, dict):
        return {}
    return {
        name: pin
        for name, pin in needs.items()
        if name.startswith("nvidia-") and pin.startswith("==") and name not in there
    }


def beside_other_torch(facts: Mapping[str, Fact], torch: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what of the extensions beside torch is void with another torch, whose facts are given.

    Where a package says for which torch it was made, that decides; else nobody knows. One that
    requires a torch does not set its CUDA: beside another major its name tells, or the runtime that
    it loads. What loads goes on loading beside a torch of the same minor, CUDA major and C++ ABI.
    """
    changed: dict[str, Fact] = {}
    same = _minor(facts) == _minor(torch)
    alike = same and _linking(facts) == _linking(torch)
    majors = {_linking(facts)[0], _linking(torch)[0]}
    moves = len(majors - {None, ""}) > 1
    for package, extension in _read(facts):
        if alike and _value(facts, f"{package}.loads") == "True":
            continue
        if package != TORCH and _is_apart(facts, extension):
            continue
        failure, cause = (_value(facts, f"{extension}.{name}") for name in ("failure", "cause"))
        if package in (TORCH, *LOADS_ALONE) or failure in _OWN_FAILURES or cause in _SYSTEM_CAUSES:
            continue
        # a label that already was wrong about this torch says nothing
        is_wrong = same and cause in _TORCH_FUNCTIONS
        is_for_it = _runtime(facts, extension) == _linking(torch)[0]
        is_taken = is_for_it and _takes(facts, package, torch)
        is_told = (_names_torch(facts, package) or is_taken) and not is_wrong
        is_unread = facts.get(f"{extension}.file") == _THERE and package in _OF_TABLES
        is_told = is_told and (not moves or is_for_it or is_unread or names_cuda(facts, package))
        fact = _BY_LABEL if is_told else _NOBODY_KNOWS
        changed |= _void(facts, package, extension, fact)
    return changed


def _is_apart(facts: Mapping[str, Fact], extension: str) -> bool:
    """Return whether an extension is linked to nothing of torch, as triton's is."""
    needed = facts.get(f"{extension}.needed")
    names = needed.value if isinstance(needed, Known) else None
    return isinstance(names, tuple) and not any(name.startswith(_OF_TORCH) for name in names)


def without_variables(facts: Mapping[str, Fact], names: frozenset[str]) -> dict[str, Fact]:
    """Return what is void once variables that say where things are looked for are changed."""
    changed = without_folders(facts, names)
    if "torch.version" in changed:
        for package, extension in _read(facts):
            if package not in LOADS_ALONE:
                changed |= _void(facts, package, extension, _NOBODY_KNOWS)
    for package, extension in _read(facts):
        found_by = _value(facts, f"{extension}.found_by")
        if found_by in _VARIABLES and found_by in names:
            changed |= _void(facts, package, extension, _BY_LABEL)
    return changed


def _read(facts: Mapping[str, Fact]) -> Iterator[tuple[str, str]]:
    """Yield package and extension of those whose loading was foreseen from their files."""
    for package, names in EXTENSIONS.items():
        for extension in (f"{package}.{name}" for name in names):
            if f"{extension}.failure" in facts and _value(facts, f"{extension}.file"):
                yield package, extension


def _minor(facts: Mapping[str, Fact]) -> str | None:
    return version_part(_value(facts, "torch.version"), "minor")


def _linking(facts: Mapping[str, Fact]) -> tuple[str | None, str]:
    """Return what an extension of the same torch minor depends on beside."""
    return version_part(_value(facts, "torch.cuda"), "major"), _value(facts, "torch.cxx11_abi")


def _void(facts: Mapping[str, Fact], package: str, extension: str, fact: Fact) -> dict[str, Fact]:
    names = (f"{package}.loads", *(f"{extension}.{name}" for name in _LINKED))
    return {name: fact for name in names if name in facts}


def _names_torch(facts: Mapping[str, Fact], package: str) -> bool:
    """Return whether a package's metadata says for which torch it was made."""
    if isinstance(facts.get(f"{package}.wheel.torch"), Known):
        return True
    requires = facts.get(f"{package}.requires")
    needs = requires.value if isinstance(requires, Known) else {}
    return isinstance(needs, dict) and needs.get(TORCH, "").startswith("==")


def _takes(facts: Mapping[str, Fact], package: str, torch: Mapping[str, Fact]) -> bool:
    """Return whether a package's metadata takes a torch, and every later one than its own."""
    requires = facts.get(f"{package}.requires")
    needs = requires.value if isinstance(requires, Known) else {}
    bound = needs.get(TORCH, "") if isinstance(needs, dict) else ""
    return ">=" in bound and is_in(_value(torch, "torch.version"), bound) is True


def _runtime(facts: Mapping[str, Fact], extension: str) -> str:
    """Return the CUDA major whose runtime an extension loads, "" where that was not read."""
    needed = facts.get(f"{extension}.needed")
    names = needed.value if isinstance(needed, Known) else ()
    found = (_RUNTIME.fullmatch(name) for name in names) if isinstance(names, tuple) else ()
    return next((match["major"] for match in found if match), "")


def names_cuda(facts: Mapping[str, Fact], package: str) -> bool:
    """Return whether the name of a package's file says for which CUDA it was made."""
    label = version_part(_value(facts, f"{package}.version"), "local") or ""
    return isinstance(facts.get(f"{package}.wheel.cuda"), Known) or "cu" in label


def _value(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""
