"""Who may keep a package from its newest release: what else is named, and nobody knows how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.knowledge.matrix.on_index import on_index
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import (
    is_in,
    parse_specifier,
    parse_version,
    version_key,
    version_part,
)
from fadoctor.model.fact import (
    Absent,
    Fact,
    Known,
    Unknown,
    fact_mapping,
    fact_text,
    fact_words,
    printable,
)
from fadoctor.model.packages import (
    HUGGINGFACE_HUB,
    NUMPY,
    RELEASE_TABLES,
    RELEASES,
    TORCH,
    package_of,
)
from fadoctor.sources.manifests.images.container_image import has_torch_alone
from fadoctor.sources.manifests.installed.contradicted import releases_asked
from fadoctor.sources.manifests.installed.planned_torch import is_conda
from fadoctor.sources.manifests.installed.range_ends import has_end, minor_ends
from fadoctor.sources.manifests.planned import speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.sources.manifests.installed.combine import Combined, Planned
    from fadoctor.sources.manifests.planned import Manifest

NEVER, WHERE_BOUNDED, BY_TABLES = "never", "where-bounded", "by-tables"
"""What table ``may-bound`` says of a package."""

_OPEN = Absent("not read")
_SHOWN = 3


def bounded_facts(
    manifests: Iterable[Manifest], combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, Fact]:
    """Return why the version that a resolver takes is not known, of each package that may be bound.

    Only of those whose releases table ``helper-releases`` has: who bounds others is in their own.
    """
    releases = _helper_releases(matrix)
    open_ = [p for name, p in combined.packages.items() if name in releases and _is_range(p)]
    if not open_:
        return {}
    fixed = _fixed_by_pins(combined, matrix)
    open_ = [each for each in open_ if each.name not in fixed]
    who = _Bounding(combined, facts, matrix, releases)
    names = list(dict.fromkeys((*who.names(), *_with_extras(manifests, who))))
    found: dict[str, Fact] = {}
    for planned in open_:
        others = [name for name in names if name != planned.name]
        if planned.name == NUMPY:
            others = [n for n, p in combined.packages.items() if n != NUMPY and who.bounds_numpy(p)]
        ends = minor_ends(planned.specifier) if planned.name == NUMPY else ()
        if others or is_conda(planned) or (ends and who.is_unlisted(planned)):
            more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
            why = f", and {', '.join(others[:_SHOWN])}{more} may bound it" if others else ""
            reason = f"an installer decides: {planned.name}{planned.specifier}{why}"
            name = f"{package_of(planned.name)}.version"
            words = planned.specifier.removeprefix("==") if ends else ""
            found[name] = Unknown(printable(reason), printable(planned.source), ends, words)
    return found


def may_bound_others(
    manifests: Iterable[Manifest], combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> tuple[str, ...]:
    """Return what may keep others from their newest release in a way that no table says.

    An image, or an environment that is there, may hold any release.
    """
    unseen = tuple(note for note in combined.notes if speaks_of_image(note))
    who = _Bounding(combined, facts, matrix, _helper_releases(matrix))
    names = dict.fromkeys((*who.names(), *_with_extras(manifests, who)))
    pinned = {planned.name: planned.version for planned in _pinned(combined)}
    return unseen or tuple(n for n in names if not declared(n, pinned.get(n, ""), matrix))


def held_to_numpy_1(combined: Combined, facts: Mapping[str, Fact], matrix: Matrix) -> bool:
    """Return whether a release that the files pin takes NumPy 1 alone: no bound is missing."""
    return _Bounding(combined, facts, matrix, {}).holds_numpy()


def brought(
    combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> tuple[dict[str, str], dict[str, Fact]]:
    """Return what no file names and a package surely brings, and why each is not known.

    Distribution -> what the files, or an exact requirement, bound it by. Only of those whose own
    table of releases says so, or that are required in one release, and where nothing may be there
    before.
    """
    is_full = _is_full(combined)
    has_more = is_full and not has_torch_alone(_image_of(combined), matrix.tables)
    if combined.is_complete or has_more or any(map(speaks_of_image, combined.notes)):
        return {}, {}
    releases = _helper_releases(matrix)
    who = _Bounding(combined, facts, matrix, releases)
    found: dict[str, str] = {}
    for planned in combined.packages.values():
        for name in () if is_conda(planned) else who.brought_by(planned):
            if (name in releases or name == TORCH) and name not in combined.packages:
                found[name] = combined.bounds.get(name, "")
    for planned in _along_with_pins(combined, matrix):
        if TORCH not in combined.packages and TORCH in who.brought_by(planned):
            found.setdefault(TORCH, combined.bounds.get(TORCH, ""))
    ranges = _torch_ranges(combined, matrix)
    if TORCH not in combined.packages and ranges:
        found[TORCH] = ",".join(filter(None, (combined.bounds.get(TORCH, ""), *ranges)))
    if NUMPY not in combined.packages and not is_full and who.brings_numpy():
        found[NUMPY] = combined.bounds.get(NUMPY, "")
    bounding = [name for name, each in combined.packages.items() if who.bounds_numpy(each)]
    fixed = _fixed_by_pins(combined, matrix)
    named = combined.packages.keys() | combined.bounds.keys()
    sure = {n: text for n, text in fixed.items() if n in releases and n not in named}
    found = {name: text for name, text in found.items() if name not in sure}
    others = dict.fromkeys(found, list(who.names()) if found else [])
    others |= {NUMPY: bounding, TORCH: list(who.names_beside_torch())}
    reason = "an installer decides: {}{}, and {} may bound it"
    return {**found, **sure}, {
        f"{package_of(name)}.version": Unknown(
            printable(reason.format(name, text, ", ".join(others[name][:_SHOWN]))), "it comes along"
        )
        for name, text in found.items()
        if others[name]
    }


def _image_of(combined: Combined) -> str:
    return combined.image.value if combined.image is not None else ""


def _is_full(combined: Combined) -> bool:
    """Return whether an image has packages of its own, and so others that its name does not say."""
    return any(map(combined.is_in_image, combined.packages.values()))


def _fixed_by_pins(combined: Combined, matrix: Matrix) -> dict[str, str]:
    """Return what a package that the files pin requires in one release, by the tables.

    Nothing else can bound it to another one: an installer takes that release, or none.
    """
    return {
        name: text
        for planned in _pinned(combined)
        for name, text in declared(planned.name, planned.version, matrix).items()
        if text.startswith("==") and "," not in text and not text.endswith("*")
    }


def _along_with_pins(combined: Combined, matrix: Matrix) -> Iterator[Planned]:
    """Yield what packages of one release each require, by the tables, and no file names."""
    for planned in _pinned(combined):
        if planned.is_sure:
            for name, text in declared(planned.name, planned.version, matrix).items():
                if name not in combined.packages:
                    asked = ",".join(filter(None, (text, combined.bounds.get(name, ""))))
                    yield msgspec.structs.replace(
                        planned, name=name, version="", specifier=asked, requires=None
                    )


def _pinned(combined: Combined) -> Iterator[Planned]:
    """Yield the packages of one release each, of which the tables may say what it requires."""
    for planned in combined.packages.values():
        if planned.version and not (planned.url or is_conda(planned)):
            yield planned


def _torch_ranges(combined: Combined, matrix: Matrix) -> list[str]:
    """Return the ranges of torch that packages of one release each require, by the tables."""
    pinned = (planned for planned in _pinned(combined) if planned.is_sure)
    found = (declared(each.name, each.version, matrix).get(TORCH, "") for each in pinned)
    return [text for text in dict.fromkeys(found) if text and not text.startswith("==")]


def _helper_releases(matrix: Matrix) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in (*matrix.tables["helper-releases"].rows, *matrix.tables["numpy-releases"].rows):
        name = str(row["package"])
        if package_of(name):
            found[name] = (*found.get(name, ()), *str(row["version"]).split())
    return found


def _is_newest(planned: Planned) -> bool:
    """Return whether the files keep a package from no newer release."""
    return _is_range(planned) and not has_end(planned.specifier)


def _is_range(planned: Planned) -> bool:
    return not (planned.version or planned.url or planned.open)


class _Bounding:
    """What the files name, and whether it may bound others in a way that no table says."""

    def __init__(
        self,
        combined: Combined,
        facts: Mapping[str, Fact],
        matrix: Matrix,
        releases: Mapping[str, tuple[str, ...]],
    ) -> None:
        self.combined, self.facts, self.matrix, self.releases = combined, facts, matrix, releases

    def names(self) -> Iterator[str]:
        """Yield the distributions that may bound others."""
        for name, planned in self.combined.packages.items():
            if self._may(planned):
                yield name
        for name, specifier in self.combined.bounds.items():
            is_there = name in self.combined.packages or name in self.releases
            if not is_there and self.how(name) not in (NEVER, BY_TABLES) and has_end(specifier):
                yield name

    def names_beside_torch(self) -> Iterator[str]:
        """Yield the distributions that may bound torch, or whose requirements nobody knows."""
        for name, planned in self.combined.packages.items():
            is_tabled = name in self.releases or package_of(name) in RELEASE_TABLES
            is_tabled = is_tabled or bool(declared(name, planned.version, self.matrix))
            found = self.matrix.find("may-bring", {"package": Known(name, "asked")})
            brought, any_torch = found.cell("brings"), found.cell("any_torch")
            is_apart = isinstance(brought, Absent | Known) and TORCH not in fact_words(brought)
            is_free = isinstance(any_torch, Known) and planned.is_sure and _is_newest(planned)
            if not (is_tabled or is_apart or is_free):
                yield name

    def how(self, name: str) -> str:
        """Return how a distribution bounds others, "" where nobody knows."""
        cell = self.matrix.find("may-bound", {"package": Known(name, "asked")}).cell("how")
        return str(cell.value) if isinstance(cell, Known) else ""

    def _may(self, planned: Planned) -> bool:
        if planned.name in self.releases and planned.name != NUMPY:
            return self.is_unlisted(planned)
        how = self.how(planned.name)
        if how == WHERE_BOUNDED:
            needs = declared(planned.name, planned.version, self.matrix) if planned.version else {}
            if HUGGINGFACE_HUB in needs and not planned.url:  # so its table tells of what counts
                counted = (HUGGINGFACE_HUB, *self.releases)
                return any(has_end(needs[name]) for name in counted if name in needs)
            return bool(planned.version or planned.url or planned.open) or has_end(
                planned.specifier
            )
        if how == BY_TABLES and not _is_range(planned):
            requires = self.facts.get(f"{package_of(planned.name)}.requires")
            return not isinstance(requires, Known)
        return how not in (NEVER, BY_TABLES)

    def brought_by(self, planned: Planned) -> Iterator[str]:
        """Yield what a package requires without an end, in whichever release it comes.

        NumPy is left out of what libraries bring: what else is named may bound it.
        """
        each = list(self._requirements(planned))
        for name in each[0] if each else ():
            if all(name in needs and not has_end(needs[name]) for needs in each):
                yield name

    def _requirements(self, planned: Planned) -> Iterator[dict[str, str]]:
        """Yield what each release requires of which one comes; none where a table may lack it."""
        if self.how(planned.name) == BY_TABLES:
            requires = self.facts.get(f"{package_of(planned.name)}.requires", Absent("not read"))
            yield from [fact_mapping(requires)] if planned.version else self._of_range(planned)
            return
        if planned.name not in self.releases or self.is_unlisted(planned):
            return
        comes: Iterable[str] = (planned.version,) if planned.version else ()
        if planned.is_sure and not planned.version:
            allowed = parse_specifier(planned.specifier)
            listed = self.releases[planned.name]
            comes = [v for v in listed if allowed is not None and allowed.contains(v)]
            comes = self._newest_alone(planned, comes) or comes
        for release in comes:
            needs = declared(planned.name, release, self.matrix)
            yield {name: text for name, text in needs.items() if name != NUMPY}

    def _newest_alone(self, planned: Planned, listed: list[str]) -> list[str]:
        """Return the newest release of what the files leave open, where no pin refuses it.

        Older ones may require less, but none of them comes.
        """
        newest = max(listed, key=version_key, default="")
        if not newest or not _is_newest(planned):
            return []
        python = version_part(fact_text(self.facts.get("python.version", _OPEN), ""), "minor") or ""
        needs = declared(planned.name, newest, self.matrix, python)
        pins = {each.name: each.version for each in self.combined.packages.values()}
        takes = all(is_in(pins[n], text) is True for n, text in needs.items() if pins.get(n))
        return (
            [newest] if takes and newest in on_index(planned.name, self.matrix, "", python) else []
        )

    def _of_range(self, planned: Planned) -> Iterator[dict[str, str]]:
        """Yield what each release in a range requires, but for those that the files' pins refuse.

        vllm>=0.8 beside torch==2.6.0 comes as one of those that pin this torch.
        """
        table, columns = RELEASES.get(package_of(planned.name), ("", {}))
        allowed = parse_specifier(planned.specifier)
        if not table or allowed is None or not (planned.is_sure and _is_range(planned)):
            return
        pins = {each.name: parse_version(each.version) for each in self.combined.packages.values()}
        for row in self.matrix.tables[table].rows:
            if not any(map(allowed.contains, cell_words(row["version"]))):
                continue
            needs = {n: str(row[c]) for c, n in columns.items() if isinstance(row.get(c), str)}
            asked = ((parse_specifier(text), pins.get(name)) for name, text in needs.items())
            if all(
                a is None or pin is None or a.contains(pin, prereleases=True) for a, pin in asked
            ):
                yield needs

    def bounds_numpy(self, planned: Planned) -> bool:
        """Return whether a distribution may keep NumPy from its newest release."""
        row = self._of_numpy(planned.name)
        if row is None or planned.url:
            return True
        if not (releases := row.get("releases")):
            return bool(row.get("holds"))
        allowed, version = parse_specifier(str(releases)), parse_version(planned.version)
        if version is None and row.get("newest") is True:
            return bool(planned.open or planned.specifier)
        return version is None or allowed is None or not allowed.contains(version)

    def brings_numpy(self) -> bool:
        """Return whether something that is surely there brings NumPy, and nothing holds NumPy 1."""
        packages = self.combined.packages.values()
        if any(map(is_conda, packages)) or self.holds_numpy():
            return False
        rows = (self._of_numpy(each.name) for each in packages if each.is_sure)
        return any(row is not None and row.get("brings") is True for row in rows)

    def holds_numpy(self) -> bool:
        """Return whether a release that the files pin takes NumPy 1 alone, by the table."""
        for planned in self.combined.packages.values():
            held = (self._of_numpy(planned.name) or {}).get("holds")
            allowed = parse_specifier(str(held)) if held else None
            comes = releases_asked(planned, self.matrix) if allowed is not None else ()
            if allowed is not None and comes and all(map(allowed.contains, comes)):
                return True
        return False

    def _of_numpy(self, name: str) -> Row | None:
        rows = self.matrix.tables["numpy-unbounded"].rows
        return next((row for row in rows if name in str(row["package"]).split()), None)

    def is_unlisted(self, planned: Planned) -> bool:
        """Return whether a package with a list of releases comes as one that is not in it."""
        if planned.url or planned.open:
            return True
        if planned.requires is not None:
            return False  # a lock says what it requires
        listed = self.releases[planned.name]
        allowed = parse_specifier(planned.specifier)
        if planned.version:
            return parse_version(planned.version) not in map(parse_version, listed)
        return allowed is None or not any(map(allowed.contains, listed))


def _with_extras(manifests: Iterable[Manifest], who: _Bounding) -> Iterator[str]:
    """Yield what is asked for with extras, of which no table says what they require."""
    for manifest in manifests:
        for each in manifest.requirements:
            if each.extras and each.name in who.combined.packages and who.how(each.name) != NEVER:
                yield f"{each.name}[{','.join(each.extras[:_SHOWN])}]"
