"""Lines that speak of a package beside those that ask for it: constraints, extras and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.requirement_text import version_of_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.planned import Manifest, Requirement


class SaidOf(NamedTuple):
    """What some files say of one package."""

    asked: tuple[Requirement, ...]
    bounds: tuple[Requirement, ...]
    aside: tuple[Requirement, ...]
    """What extras and groups ask for that nobody chose."""
    apart: tuple[frozenset[str], ...] = ()
    """Lists that are never installed together."""
    is_whole: bool = False
    """Whether all other lists are resolved together."""

    @classmethod
    def of(cls, name: str, manifests: Iterable[Manifest]) -> SaidOf:
        """Take what is said of a package."""
        manifests = tuple(manifests)
        every = [(m.requirements, m.constraints, m.aside) for m in manifests]
        lists = (
            [e for each in kind for e in each if e.name == name]
            for kind in zip(*every, strict=True)
        )
        asked, bounds, aside = (tuple(dict.fromkeys(each)) for each in lists)
        apart = tuple(each for m in manifests for each in m.apart)
        return cls(asked, bounds, aside, apart, any(m.is_resolved_whole for m in manifests))

    def places(self, named: Iterable[Place], wanted: str, notes: list[str]) -> tuple[Place, ...]:
        """Return the places to change for what is wanted.

        With the constraints that refuse it: where there is one, a line that takes any release stays
        as it is. With the lists that ask for the same as a line which changes, and, where a tool
        resolves all lists together, with those that took what it asked for and take the new
        release no more; not with those that the project keeps apart. Notes name those that rule
        it out and stay.
        """
        asks = specifier_of(wanted)
        refusing = [each.place for each in self.bounds if asks and _refuses(each, asks)]
        taking = {each.place for each in self.asked if not (each.url or _refuses(each, asks))}
        kept = [each for each in named if not (refusing and each in taking)]
        changed = [each for each in self.asked if each.place in kept]
        along = [each.place for each in self.aside if self._goes_along(each, changed, asks)]
        found = tuple(dict.fromkeys((*kept, *refusing, *along)))
        notes += self._ruled_out(found, changed, wanted) if found else ()
        return found

    def _goes_along(self, each: Requirement, changed: list[Requirement], asks: str) -> bool:
        """Return whether a list changes with lines that are installed together with it."""
        beside = [other for other in changed if not self._are_apart(each, other)]
        if any(_alike(each) == _alike(other) for other in beside):
            return True
        is_refused = self.is_whole and bool(asks and beside) and _refuses(each, asks)
        return is_refused and not any(o.url or _refuses(each, o.specifier) for o in beside)

    def _are_apart(self, one: Requirement, other: Requirement) -> bool:
        return one.of != other.of and any({one.of, other.of} <= names for names in self.apart)

    def _ruled_out(
        self, at: Iterable[Place], changed: list[Requirement], wanted: str
    ) -> Iterator[str]:
        """Yield where another list asks for what is not wanted: it is meant to differ.

        Not where the project keeps it apart from all that changes.
        """
        asks, at = specifier_of(wanted), {*at}
        for each in self.aside:
            if changed and all(self._are_apart(each, other) for other in changed):
                continue
            if asks and each.place not in at and _refuses(each, asks):
                said = each.url or f"{each.name}{each.specifier}"
                yield f"{each.place} still asks for {said}, which {wanted} rules out"


def specifier_of(wanted: str) -> str:
    """Return the range of ``torch==2.8.0+cu128``, or the release of a file; "" where none shows."""
    name, at, url = wanted.partition(" @ ")
    if at:
        return version_of_url(url)
    start = min((i for sign in "<>=!~" if (i := name.find(sign)) > 0), default=len(name))
    return name[start:].strip()


def _alike(each: Requirement) -> tuple[str, str]:
    return each.specifier.replace(" ", ""), each.url


def _refuses(each: Requirement, asks: str) -> bool:
    return bool(each.specifier) and is_impossible((each.specifier, asks))
