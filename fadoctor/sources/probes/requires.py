"""Say what a distribution requires on the target, not on the machine that runs fadoctor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.requirement_parser import (
    marker_result,
    parse_marker,
    parse_requirement,
)
from fadoctor.model.fact import Fact, Known
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from packaging.markers import Marker
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

MAX_REQUIREMENTS = 2_000
LINE_LIMIT = 1_000
"""Characters of one requirement; deeper nesting than fits is no requirement."""

_OF_SYSTEM = ("os_name", "sys_platform", "platform_system")
"""Variables of markers that the system alone decides."""

_SYSTEMS = {
    "linux": ("posix", "linux", "Linux"),
    "windows": ("nt", "win32", "Windows"),
    "macos": ("posix", "darwin", "Darwin"),
}
_IMPLEMENTATIONS = {"cpython": "CPython", "pypy": "PyPy"}
_VARIABLE = r"\b(?:os_name|sys_platform|platform_\w+|python_\w+|implementation_\w+)\b"
# only in an extra: nothing that was installed by name alone
_NAMED_EXTRA = re.compile(r"\bextra\s{0,9}==\s{0,9}[\"']([^\"']{1,60})[\"']")
_EXTRA = re.compile(r"\bextra\s*==\s*[\"'][^\"']+[\"']")


class MarkerTarget(msgspec.Struct, frozen=True):
    """The marker variables of the target (PEP 508) that are known; the rest is not guessed."""

    variables: dict[str, str]


class Needs(msgspec.Struct, frozen=True):
    """What is required, or why that cannot be said."""

    specifiers: dict[str, str]
    """Normalised name -> specifier, "" where any version will do."""
    undecided: str = ""
    """The requirement whose marker needs an unknown variable; empty where all are decided."""


def marker_target(facts: Mapping[str, Fact]) -> MarkerTarget:
    """Return the marker variables that the facts of host and interpreter determine."""
    variables = {"extra": ""}
    system = _text(facts, "host.os")
    if system in _SYSTEMS:
        variables.update(zip(_OF_SYSTEM, _SYSTEMS[system], strict=True))
    if machine := _text(facts, "host.machine"):
        # Windows spells AMD64 and ARM64, all others use lower case.
        variables["platform_machine"] = machine.upper() if system == "windows" else machine
    if release := _text(facts, "host.kernel"):
        variables["platform_release"] = release
    return MarkerTarget(variables | _python(facts))


def _python(facts: Mapping[str, Fact]) -> dict[str, str]:
    variables: dict[str, str] = {}
    parts = _text(facts, "python.version").split(".")
    if len(parts) >= 2:
        variables["python_version"] = ".".join(parts[:2])
    implementation = _text(facts, "python.implementation").lower()
    if implementation in _IMPLEMENTATIONS:
        variables["implementation_name"] = implementation
        variables["platform_python_implementation"] = _IMPLEMENTATIONS[implementation]
    if len(parts) >= 3:
        variables["python_full_version"] = ".".join(parts)
        if implementation == "cpython":
            variables["implementation_version"] = ".".join(parts)
    return variables


def _text(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def read_requirements(lines: Iterable[str], target: MarkerTarget) -> Needs:
    """Return what the Requires-Dist lines ask for on the target; lines that are bad are skipped."""
    found: dict[str, SpecifierSet] = {}
    texts: dict[str, str] = {}
    for line in list(lines)[:MAX_REQUIREMENTS]:
        requirement = _parse(line)
        if requirement is None:
            continue
        holds = _holds(requirement.marker, target)
        if holds is None:
            return Needs({}, line[:160])
        if holds:
            name = normalise_name(requirement.name)
            known = found.get(name)
            specifier = requirement.specifier
            found[name] = known & specifier if known is not None else specifier
            texts[name] = str(found[name])
    return Needs(texts)


def read_extras(lines: Iterable[str], target: MarkerTarget) -> dict[str, dict[str, str]]:
    """Return extra -> what it asks for on the target -> specifier; undecided lines are left out.

    Extras that pin nothing are left out, too: few pin anything, and lines take long to parse.
    """
    by_extra: dict[str, list[str]] = {}
    for line in list(lines)[:MAX_REQUIREMENTS]:
        extra = _NAMED_EXTRA.search(line.partition(";")[2]) if len(line) <= LINE_LIMIT else None
        if extra is not None:
            by_extra.setdefault(extra[1], []).append(line)
    pinning = {
        extra: each
        for extra, each in by_extra.items()
        if any("==" in line.partition(";")[0] for line in each)
    }
    return {
        extra: needs for extra, each in pinning.items() if (needs := _needs_of(extra, each, target))
    }


def _needs_of(extra: str, lines: Iterable[str], target: MarkerTarget) -> dict[str, str]:
    asked = MarkerTarget({**target.variables, "extra": extra})
    found: dict[str, str] = {}
    for line in lines:
        requirement = parse_requirement(line)
        if requirement is not None and _holds(requirement.marker, asked):
            found[normalise_name(requirement.name)] = str(requirement.specifier)
    return found


def conditional_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Return all that is asked for without an extra, where some of it hangs on a condition.

    Saved with the facts, so that it can be decided again for another platform or Python: without
    addresses, which may hold secrets.
    """
    found = [each for line in list(lines)[:MAX_REQUIREMENTS] if (each := _parse(line)) is not None]
    if not any(each.marker for each in found):
        return ()
    return tuple(
        f"{each.name}{each.specifier}{f'; {each.marker}' if each.marker else ''}" for each in found
    )


def _parse(line: str) -> Requirement | None:
    if len(line) > LINE_LIMIT or _only_in_an_extra(line):
        return None
    return parse_requirement(line)


def _only_in_an_extra(line: str) -> bool:
    """Say so without parsing: frameworks have hundreds of such lines."""
    marker = line.partition(";")[2]
    return _EXTRA.search(marker) is not None and not re.search(r"\bor\b", marker)


def _holds(marker: Marker | None, target: MarkerTarget) -> bool | None:
    """Evaluate a marker for the target; None where a variable that decides it is not known."""
    if marker is None:
        return True
    text = str(marker)
    if not _unknown_variables(text, target):
        return _evaluate(marker, target)
    if "(" in text or " or " in text:
        return None
    # One part of a conjunction that is surely false decides, whatever the others are.
    known = [part for part in text.split(" and ") if not _unknown_variables(part, target)]
    parts = filter(None, map(parse_marker, known))
    return False if any(_evaluate(part, target) is False for part in parts) else None


def marker_holds(text: str, target: MarkerTarget) -> bool | None:
    """Return whether a marker holds on the target; None where that is not known, or it is none.

    Where only X.Y of the Python is known, it is decided where all of its releases agree.
    """
    marker = parse_marker(text) if len(text) <= LINE_LIMIT else None
    if marker is None:
        return None
    minor, full = (target.variables.get(f"python_{name}") for name in ("version", "full_version"))
    if full or not minor:
        return _holds(marker, target)
    ends = [
        MarkerTarget({**target.variables, "python_full_version": f"{minor}.{patch}"})
        for patch in _PATCHES
    ]
    first, last = (_holds(marker, each) for each in ends)
    return first if first == last else None


def holds_nowhere(text: str) -> bool:
    """Return whether a marker surely holds on no system: ``sys_platform == 'never'``."""
    systems = (dict(zip(_OF_SYSTEM, each, strict=True)) for each in _SYSTEMS.values())
    return all(marker_holds(text, MarkerTarget({"extra": "", **each})) is False for each in systems)


_PATCHES = (0, 99)
"""The first and beyond the last of a Python's bugfix releases."""


def _unknown_variables(text: str, target: MarkerTarget) -> set[str]:
    return set(re.findall(_VARIABLE, text)) - target.variables.keys()


def _evaluate(marker: Marker, target: MarkerTarget) -> bool | None:
    return marker_result(marker, dict.fromkeys(_ALL_VARIABLES, "") | target.variables)


_ALL_VARIABLES = (
    "implementation_name",
    "implementation_version",
    "os_name",
    "platform_machine",
    "platform_python_implementation",
    "platform_release",
    "platform_system",
    "platform_version",
    "python_full_version",
    "python_version",
    "sys_platform",
    "extra",
)
"""All of them are handed over, so that no gap is filled from the interpreter that runs this."""


def egg_requirements(text: str) -> list[str]:
    """Return the lines of an egg's requires.txt as Requires-Dist lines; extras are left out."""
    # torch
    # [:python_version < "3.9"]
    # dataclasses
    lines: list[str] = []
    marker: str | None = ""
    for raw in text.split("\n", MAX_REQUIREMENTS)[:MAX_REQUIREMENTS]:
        line = raw.strip()
        if line.startswith("["):
            marker = line[2:].rstrip("]") if line.startswith("[:") else None
        elif line and not line.startswith("#") and marker is not None:
            lines.append(f"{line}; {marker}" if marker else line)
    return lines
