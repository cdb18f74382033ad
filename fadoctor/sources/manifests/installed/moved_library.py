"""What a later command takes from an earlier one: a library that it needs, or a pin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.knowledge.matrix.declared import import_bounds
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_older, version_part
from fadoctor.model.fact import Absent, Fact, Known, fact_text, printable
from fadoctor.model.packages import BESIDE_TORCH, NUMPY, TORCH, TRITON, package_of
from fadoctor.sources.manifests.installed.carried_out import CarriedOut
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.range_ends import has_end
from fadoctor.sources.manifests.planned import speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.carried_out import Came
    from fadoctor.sources.manifests.installed.combine import Combined
    from fadoctor.sources.manifests.planned import Manifest

MOVED_LIBRARY, MOVED_LIBRARY_BOUND = "packages.moved_library", "packages.moved_library_bound"
UNDONE_PIN, UNDONE_PIN_BOUND = "packages.undone_pin", "packages.undone_pin_bound"
_SOURCE = "the tables of requirements, and the order of the commands"
_CHECKS = "requirement-checks"
_NO_FACT = Absent("not read")
_TRIES = 3
"""How often commands are carried out again with releases that fit."""

_NUMPY_1, _OF_NUMPY_2 = "<2", "2.3"
"""What torch before its release 2.3 can use of NumPy, as rule numpy-torch-abi has it."""
_OF_OTHER_RULES = frozenset((TORCH, TRITON, NUMPY, *BESIDE_TORCH))
"""Packages of which other rules tell that a later command moves them."""

_COMPARES = "refuses to be imported without"
_IMPORTS = "asks at import for names of"
_COMPILED = "was compiled for"


class _Taken(NamedTuple):
    """What a later command takes from an earlier one."""

    asker: str
    """The package that the later command names."""
    what: str
    """What happens, in words."""
    library: str
    bound: str
    """The releases of the library with which nothing would be taken."""


class InSequence:
    """The commands of all files, carried out."""

    def __init__(
        self,
        manifests: Iterable[Manifest],
        combined: Combined,
        facts: Mapping[str, Fact],
        matrix: Matrix,
    ) -> None:
        """Carry them out on a Python that facts tell."""
        python = version_part(fact_text(facts.get("python.version", _NO_FACT), ""), "minor") or ""
        self.matrix, self.combined = matrix, combined
        self.ends = [
            CarriedOut(matrix, python, each.steps, is_open=any(map(speaks_of_image, each.notes)))
            for each in manifests
            if each.is_in_steps and len(each.steps) > 1
        ]

    def facts(self) -> dict[str, Fact]:
        """Return what later commands take from earlier ones."""
        found = list(self._moved())
        moved, bounds = self._told(found)
        libraries = {each.library for each in found}
        undone, pins = self._told(e for e in self._undone() if e.library not in libraries)
        return {
            MOVED_LIBRARY: Known(moved, _SOURCE),
            MOVED_LIBRARY_BOUND: bounds,
            UNDONE_PIN: Known(undone, _SOURCE),
            UNDONE_PIN_BOUND: pins,
        }

    def _told(self, found: Iterable[_Taken]) -> tuple[dict[str, str], Fact]:
        """Return who does something and what it is in words, and the bounds that prevent it."""
        told: dict[str, str] = {}
        bounds: dict[str, str] = {}
        for each in found:
            told.setdefault(each.asker, printable(each.what, 300))
            bounds.setdefault(each.library, each.bound)
        words = " ".join(f"{name}{bound}" for name, bound in bounds.items())
        return told, Known(printable(words, 300), _SOURCE) if words else Absent(_SOURCE)

    def _moved(self) -> Iterator[_Taken]:
        """Yield what moves a library out of what an earlier package needs."""
        for end in map(_with_fitting_pins, self.ends):
            named = {each.name for step in end.steps for each in step.asked}
            held = self.combined.bounds.keys() | (self.combined.packages.keys() - named)
            for name, came in end.there.items():
                for library, own, how in self._needed(end, name, came):
                    other = end.there.get(library)
                    if other is None or other.by is None or not end.misses(library, own):
                        continue
                    is_named = other.by.name in (name, library)  # of these, the facts say it all
                    if library in held or is_named:
                        continue
                    at = f" of {came.by.place}" if came.by else ""
                    what = f"({other.by.place}: {other.why}, and {name}{at} {how} {library}{own})"
                    yield _Taken(other.by.name, what, library, own)

    def _needed(self, end: CarriedOut, name: str, came: Came) -> Iterator[tuple[str, str, str]]:
        """Yield what a release needs of libraries, in which releases, and how it does so."""
        if not came.version:
            return
        keys = {"package": Known(name, "asked"), "version": Known(came.version, "asked")}
        needs = end.requires(name, came.version)
        cell = self.matrix.find(_CHECKS, keys).cell("checks")
        for library in cell_words(cell.value if isinstance(cell, Known) else None):
            if needs.get(library):
                yield library, needs[library], _COMPARES
        for library, fits in import_bounds(name, came.version, self.matrix).items():
            if has_end(fits) and not package_of(library):
                yield library, fits, _IMPORTS
        if name == TORCH and is_older(came.version, _OF_NUMPY_2) and NUMPY in end.undone:
            yield NUMPY, _NUMPY_1, _COMPILED

    def _undone(self) -> Iterator[_Taken]:
        """Yield what moves a package that an earlier command pins."""
        for end in self.ends:
            for name, undone in end.undone.items():
                by, pin = undone.came.by, undone.pin
                if by is None or name in _OF_OTHER_RULES or name in self.combined.bounds:
                    continue
                said = f"{undone.came.why}, and {pin.place} asks for {name}{pin.specifier}"
                yield _Taken(by.name, f"({by.place}: {said})", name, pin.specifier)

    def with_what_came(self) -> Combined:
        """Return what the files ask for, with what their commands surely leave instead.

        Of a pin that is undone, and of what another package there does not accept: a resolver that
        heeds all of it at once would choose something else. What a command moves that does not name
        it stays open: its line is not the one to change.
        """
        packages = dict(self.combined.packages)
        came: dict[str, str] = {}
        for end in self.ends:
            for name, library, _ in end.broken():
                by = end.there[library].by
                if by is not None and by.name == library:
                    came |= {each: end.there[each].version for each in (name, library)}
            for name, undone in end.undone.items():
                if package_of(name):
                    came[name] = undone.came.version
                elif name in packages and undone.came.by is not None:
                    why = f"a later command that installs {undone.came.by.name} replaces it"
                    packages[name] = msgspec.structs.replace(
                        packages[name], version="", specifier="", open=why
                    )
        for name, version in came.items():
            planned = packages.get(name)
            if planned and version and name not in _OF_OTHER_RULES and not planned.url:
                packages[name] = msgspec.structs.replace(
                    planned, version=version, specifier="", open=""
                )
        at_once = self.combined.at_once - came.keys()
        return msgspec.structs.replace(self.combined, packages=packages, at_once=at_once)


def _with_fitting_pins(end: CarriedOut) -> CarriedOut:
    """Return the same commands with releases that fit, where they name one that does not.

    A plan writes those. What a command after them moves has to be said as well.
    """
    for _ in range(_TRIES):
        fits: dict[str, str] = {}
        for _, library, needs in end.broken():
            there = end.there[library]
            by = there.by
            before = ((n, c) for n, c in end.there.items() if c.step <= there.step)
            each = (end.requires(name, came.version) for name, came in before)
            asked = [own[library] for own in each if own.get(library)]
            if by is not None and by.name == library and not is_impossible(asked):
                fits[library] = ",".join((needs, *asked))
        if not fits:
            return end
        steps = [
            msgspec.structs.replace(
                step,
                asked=tuple(
                    msgspec.structs.replace(each, specifier=fits[each.name])
                    if each.name in fits
                    else each
                    for each in step.asked
                ),
            )
            for step in end.steps
        ]
        end = CarriedOut(end.matrix, end.python, steps, is_open=end.began_open)
    return end
