"""What an installer looked for in vain, what it saw instead, and the Python that has the files.

The versions that an installer lists are those with a file for its own Python and system: they tell
which Python it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import parse_specifier, version_key, version_part
from fadoctor.model.environment import ASSUMED_PLATFORM
from fadoctor.model.fact import Absent, Fact, Known, fact_text
from fadoctor.model.packages import BESIDE_TORCH, TORCH
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.likely_lines import likely
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

FILES, FITTING = "index-files", "torch-companions"
_LINES, _LINE = 800, 2_000

# ... satisfies the requirement torch==1.13.1 (from versions: 2.2.0, 2.2.1)
_PIP = compiled(
    r"satisfies the requirement (?P<name>[A-Za-z][\w.-]{1,40}?)(?:\[[\w,-]{1,40}\])?"
    r" ?(?P<range>[=<>~!][=<>~!\w.,* +]{1,60}?)?;?"
    r"(?: \(from (?!versions)[^\n]{1,160}\))? {0,2}(?:\(from versions:? (?P<seen>[^)\n]{1,1900})|$)"
)
# Poetry: Unable to find installation candidates for torch (1.13.1)
_LOCKED = compiled(
    r"nable to find installation candidates for"
    r" (?P<name>[A-Za-z][\w.-]{1,40}?) ?\((?P<release>\d[\w.+]{1,30})\)"
)
# No matching distribution found for torch==1.13.1
_LAST = compiled(
    r"(?:No matching distribution found for|[Bb]ecause(?: there is no version of)?)"
    r" (?P<name>[A-Za-z][\w.-]{1,40})(?P<range>==\d[\w.+]{1,20})(?![\w.+*])(?P<seen>)"
)
# python 3.12 & 3.11 | cp311 | python311
_OF_PYTHON = compiled(r"(?i)python|\bconda\b|\bvenv\b|\bcp3\d")
_MINOR = compiled(r"(?<![\d.=])3\.(?P<minor>\d{1,2})(?!\d)")
_TAG = compiled(r"(?i)(?:\bcp|python)3(?P<minor>\d{1,2})(?!\d)")
_SEEN = "from versions"
_LISTED = compiled(r"\d[\w.]{1,20}(?:\+\w{2,12})?")
_UNKNOWN_SYSTEM = ("linux_x86_64", "win_amd64")
"""What a text may be about that names no system: the Python must fit both."""
_SYSTEMS = {
    "linux": ("linux_x86_64",),
    "windows": ("win_amd64",),
    "macos": ("macosx_arm64", "macosx_x86_64"),
}
_ALL_SYSTEMS = ("linux_x86_64", "win_amd64", "macosx_arm64", "macosx_x86_64")
_USUAL = 12
"""The newest minor release of Python for which most packages of the stack have files."""
_NOTHING = Absent("the log shows no requirement that an installer does not find")


class Sought(msgspec.Struct, frozen=True):
    """A requirement for which an installer found no file."""

    name: str
    range: str
    """What is asked of it, "" for any release."""
    seen: tuple[str, ...] | None
    """The versions that were found; None where the text does not show them."""


def sought(lines: Sequence[str], environment: Environment, matrix: Matrix) -> dict[str, Fact]:
    """Return what an installer seeks, by which Python, and the Python that has files for it."""
    texts = [line[:_LINE] for line in ends_of(lines, _LINES)]
    found = next((each for each in _requirements(texts) if _release(each, matrix)), None)
    if found is None:
        return dict.fromkeys(
            (f"log.sought{each}" for each in ("", "_python", "_own", "_by", "_where")), _NOTHING
        )
    files = _Files(found.name, _release(found, matrix), matrix)
    systems = _systems(environment)
    fitting = files.pythons(systems)
    own = version_part(fact_text(environment.fact("python.version"), ""), "minor") or ""
    is_said = own in fitting
    chosen = "" if is_said else _chosen(fitting, {*_named(texts)})
    where = "" if fitting else files.where()
    by = files.seen_by(found.seen or (), systems)
    return {
        "log.sought": Known(f"{found.name} {files.release}", "the log"),
        "log.sought_python": _fact(chosen),
        "log.sought_own": _fact(own if is_said and not by else ""),
        "log.sought_by": _fact(by),
        "log.sought_where": _fact(where),
    }


def _fact(text: str) -> Fact:
    return Known(text, "the files of the index") if text else Absent("no table tells it")


def _requirements(lines: Iterable[str]) -> Iterator[Sought]:
    """Yield what installers seek in vain: first what comes with a list, then what is told alone."""
    alone = []
    for line in likely(lines, _PIP, _LOCKED, _LAST):
        for found in _PIP.finditer(line):
            seen = found["seen"]
            asked = Sought(
                found["name"].lower().replace("_", "-"),
                (found["range"] or "").strip(" ,"),
                None if seen is None else tuple(_LISTED.findall(seen)),
            )
            if seen is None:
                alone.append(asked)
            else:
                yield asked
        alone += [
            Sought(found["name"].lower().replace("_", "-"), f"=={found['release']}", None)
            for found in _LOCKED.finditer(line)
        ]
        alone += [
            Sought(found["name"].lower().replace("_", "-"), found["range"], None)
            for found in _LAST.finditer(line)
        ]
    yield from alone


def _release(asked: Sought, matrix: Matrix) -> str:
    """Return the newest release of the index that is asked for, "" where none is known."""
    rows = [row for row in matrix.tables[FILES].rows if row["package"] == asked.name]
    known = sorted({word for row in rows for word in cell_words(row["version"])}, key=version_key)
    pinned = asked.range.removeprefix("==").partition("+")[0]
    if asked.range.startswith("==") and "," not in pinned and "*" not in pinned:
        first = min(asked.seen or (), key=version_key, default=pinned)
        is_older = version_key(pinned) < version_key(first)
        return pinned if pinned in known else _beside(pinned, known) if is_older else ""
    specifier = parse_specifier(asked.range) if asked.range else None
    if specifier is None:
        return ""
    return next((each for each in reversed(known) if specifier.contains(each)), "")


def _beside(pinned: str, known: Iterable[str]) -> str:
    """Return the newest release before one that no index has, of the same minor release."""
    minor = version_part(pinned, "minor")
    earlier = (each for each in known if version_key(each) < version_key(pinned))
    found = [each for each in earlier if version_part(each, "minor") == minor]
    return max(found, key=version_key, default="")


def _systems(environment: Environment) -> tuple[str, ...]:
    fact = environment.fact("host.platform")
    if isinstance(fact, Known) and fact.source == ASSUMED_PLATFORM:
        return _UNKNOWN_SYSTEM
    platform, system = fact_text(fact, ""), fact_text(environment.fact("host.os"), "")
    return (platform,) if platform else _SYSTEMS.get(system, _UNKNOWN_SYSTEM)


class _Files:
    """The files that an index has of a release, and of what goes with it."""

    def __init__(self, name: str, release: str, matrix: Matrix) -> None:
        self.name, self.release, self._matrix = name, release, matrix

    def pythons(self, systems: Iterable[str]) -> set[str]:
        """Return the Pythons that have files on all systems, of the companions, too."""
        mine = [self._of(self.name, self.release, each) for each in systems]
        fitting = set.intersection(*mine)
        if self.name != TORCH:
            return fitting
        row = self._matrix.find(FITTING, {TORCH: Known(self.release, "asked")})
        for name in BESIDE_TORCH:
            release = fact_text(row.cell(name), "")
            theirs = [self._of(name, release, each) for each in systems] if release else []
            # Companions without files of their own choose no Python.
            if theirs and (both := fitting.intersection(*theirs)):
                fitting = both
        return fitting

    def where(self) -> str:
        """Return which systems and Pythons have files, in words."""
        files = {each: self._of(self.name, self.release, each) for each in _ALL_SYSTEMS}
        told = (
            f"{system} (Python {min(have, key=version_key)} to {max(have, key=version_key)})"
            for system, have in files.items()
            if have
        )
        return " and ".join(told)

    def seen_by(self, seen: Iterable[str], systems: Iterable[str]) -> str:
        """Return the one Python whose files are those that were seen, "" where several are."""
        plain = {each.partition("+")[0] for each in seen}
        found = {python for system in systems for python in self._lists(system, plain)}
        return found.pop() if len(found) == 1 else ""

    def _lists(self, system: str, seen: Iterable[str]) -> Iterator[str]:
        """Yield the Pythons of a system whose files begin with the oldest release that was seen."""
        files: dict[str, set[str]] = {}
        for row in self._matrix.tables[FILES].rows:
            if row["package"] == self.name and system in cell_words(row["platform"]):
                for python in cell_words(row["python"]):
                    files.setdefault(python, set()).update(cell_words(row["version"]))
        listed = {each for each in seen if any(each in have for have in files.values())}
        first = min(listed, key=version_key, default="")
        for python, have in files.items():
            if listed and listed <= have and min(have, key=version_key) == first:
                yield python

    def _of(self, name: str, release: str, system: str) -> set[str]:
        keys = {"package": name, "version": release, "platform": system}
        found = self._matrix.find(FILES, {key: Known(each, "asked") for key, each in keys.items()})
        cell = found.cell("python")
        return (
            set(cell.value) if isinstance(cell, Known) and isinstance(cell.value, tuple) else set()
        )


def _named(lines: Iterable[str]) -> Iterator[str]:
    """Yield the Pythons that a text names: with one of them the installer failed."""
    for line in lines:
        if _SEEN not in line and _OF_PYTHON.search(line):
            yield from (f"3.{each['minor']}" for each in _MINOR.finditer(line))
            yield from (f"3.{each['minor']}" for each in _TAG.finditer(line))


def _chosen(fitting: Iterable[str], named: set[str]) -> str:
    """Return the newest usual Python with the files that a text does not name, "" without one."""
    left = [each for each in fitting if each not in named]
    usual = [each for each in left if int(each.partition(".")[2]) <= _USUAL]
    return max(usual, key=version_key) if usual else min(left, key=version_key, default="")
