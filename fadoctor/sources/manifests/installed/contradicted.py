"""What files ask for that no release can meet, by the versions that they write themselves."""

# A circle with `combine` by a type alone: `combine` asks about single requirements here, and what
# it made of them all becomes facts here.

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import on_platform
from fadoctor.knowledge.matrix.installable import lacking
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping, fact_text, printable
from fadoctor.model.packages import BESIDE_TORCH, FRAMEWORK_TABLE, RELEASES, TORCH, package_of
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED
from fadoctor.sources.manifests.installed.from_main import main_for_another_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from packaging.specifiers import Specifier
    from packaging.version import Version

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined, Planned

CHANNEL_PYTHON = "packages.channel_python"
SOURCE = "what the files ask for at once"
_OWN_CHANNEL = "pytorch"
_PYTHONS = "release-pythons"
_CONDA_PYTHONS = "conda-torch-pythons"
_OPEN = Unknown("not told", SOURCE)

_End = tuple["Version", bool]
"""A version, and whether it belongs to the range."""


def contradicted_facts(
    combined: Combined,
    facts: Mapping[str, Fact],
    matrix: Matrix,
    refused: Mapping[str, str],
) -> dict[str, Fact]:
    """Return which packages the files ask for in a way that no release can meet.

    `refused`: what single commands of theirs ask for so.
    """
    pythons = _pythons_of_channel(combined, facts, matrix)
    newest = _newest_python(pythons[-1]) if pythons else ""
    told = {
        **refused,
        **_with_nothing_to_come(combined, facts, matrix),
        **_without_file(combined, facts, matrix),
        **_ranges_for_another_python(combined, facts, matrix),
        **_for_another_python(combined, facts, matrix),
        **main_for_another_python(combined, facts, matrix),
        **_not_to_be_had(combined, facts, matrix),
        **combined.contradicted,
    }
    if newest:
        asked = combined.packages[TORCH].source
        there = f"channel pytorch has it for Python {pythons[-1]}"
        told[TORCH] = f"{asked}: {there}, and Python {_minor(facts)} is asked for"
    found = {name: f"({printable(text, 400)})" for name, text in told.items()}
    python = Known(newest, SOURCE) if newest else Absent(SOURCE)
    return {CONTRADICTED: Known(found, SOURCE), CHANNEL_PYTHON: python}


def _minor(facts: Mapping[str, Fact]) -> str:
    """Return the minor version of the Python, "" where it is not known."""
    return ".".join(fact_text(facts.get("python.version", _OPEN), "").split(".")[:2])


def _for_another_python(
    combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, str]:
    """Return which frameworks are pinned in a release that this Python cannot have.

    Of those without facts of their own: of the others a rule says it.
    """
    minor = _minor(facts)
    if not minor:
        return {}
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        is_plain = planned.version and not _is_not_looked_up(planned, combined)
        if not is_plain or f"{package_of(name)}.version" in facts:
            continue
        keys = {"package": Known(name, SOURCE), "version": Known(planned.version, SOURCE)}
        cell = matrix.find(FRAMEWORK_TABLE, keys).cell("python")
        if isinstance(cell, Known) and is_impossible((f"=={minor}.*", str(cell.value))):
            found[name] = f"{planned.version} needs Python {cell.value}, and this one is {minor}"
    return found


def _ranges_for_another_python(
    combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, str]:
    """Return of which packages every known release that a range admits leaves this Python out."""
    minor = _minor(facts)
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        is_plain = not (planned.manager or planned.url or planned.version or planned.open)
        if not (minor and is_plain and _has_begin(planned.specifier)):
            continue
        pythons = [
            str(row["python"])
            for row in matrix.tables[_PYTHONS].rows
            if row["package"] == name
            and not is_impossible((planned.specifier, str(row["version"])))
        ]
        if pythons and all(is_impossible((f"=={minor}.*", each)) for each in pythons):
            found[name] = f"{planned.specifier} needs Python {pythons[0]}, and this one is {minor}"
    return found


def _pythons_of_channel(
    combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> tuple[str, ...]:
    """Return for which Pythons PyTorch's channel has a torch, where it alone is asked in vain."""
    planned, minor = combined.packages.get(TORCH), _minor(facts)
    if planned is None or not (minor and planned.manager == "conda" and planned.is_only_index):
        return ()
    said = f"=={planned.version}" if planned.version else planned.specifier
    pythons = tuple(
        str(row["python"])
        for row in matrix.tables[_CONDA_PYTHONS].rows
        if not is_impossible((said, str(row["torch"])))
    )
    is_vain = all(is_impossible((f"=={minor}.*", each)) for each in pythons)
    return pythons if said and is_vain and not planned.open else ()


def _newest_python(pythons: str) -> str:
    """Return the newest Python below the end of a range: 3.11 of ``>=3.8,<3.12``."""
    ends = (c.version for c in _clauses(pythons) if c.operator == "<")
    major, _, minor = next(ends, "").partition(".")
    return f"{major}.{int(minor) - 1}" if minor.isdigit() else ""


def _has_begin(specifier: str) -> bool:
    """Return whether a specifier keeps old releases out."""
    return any(_ends(clause.operator, clause.version)[0] for clause in _clauses(specifier))


def _with_nothing_to_come(
    combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, str]:
    """Return what is pinned and requires something of which no known release has a file here."""
    place = InstalledWhere(fact_text(facts.get("host.platform", _OPEN), ""), _minor(facts))
    if not (place.platform and place.python):
        return {}
    ready_made = ReadyMadeFiles.of(matrix)
    any_python = InstalledWhere(place.platform, "")
    files, of_any = (ready_made.files_for(each) for each in (place, any_python))
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        if not planned.version or _is_not_looked_up(planned, combined):
            continue
        own = facts.get(f"{package_of(name)}.requires", _OPEN)
        needs = fact_mapping(own) | on_platform(name, planned.version, place.platform, matrix)
        for other, text in needs.items():
            # what has no file for any Python is mostly required on other platforms alone
            is_gone = files.has_nothing_in(other, text) and not of_any.has_nothing_in(other, text)
            is_gone = is_gone or _is_nowhere(other, text, place, ready_made)
            if other not in combined.packages and is_gone:
                where = f"{place.platform} and Python {place.python}"
                found[name] = (
                    f"{planned.version} needs {other}{text}, which has no file for {where}"
                )
    return found


def _is_not_looked_up(planned: Planned, combined: Combined) -> bool:
    """Return whether no index decides about a package: an image has it, or it comes otherwise."""
    return combined.is_in_image(planned) or bool(planned.manager or planned.url or planned.open)


def _is_nowhere(
    name: str, specifier: str, place: InstalledWhere, ready_made: ReadyMadeFiles
) -> bool:
    """Return whether no release of a range has a file for a place, nor sources."""
    of_any_python = InstalledWhere(place.platform, "")
    if not _has_begin(specifier) or ready_made.is_nowhere(name, of_any_python, lambda _: True):
        return False  # what has no file for a platform is mostly required on others alone
    return ready_made.is_nowhere(
        name, place, lambda versions: not is_impossible((specifier, versions))
    )


def _without_file(combined: Combined, facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, str]:
    """Return which packages are pinned in a release that has no file here, nor sources.

    Of a release whose metadata leave this Python out a rule says so.
    """
    place = InstalledWhere(fact_text(facts.get("host.platform", _OPEN), ""), _minor(facts))
    ready_made = ReadyMadeFiles.of(matrix)
    wheels = ready_made.files_for(place)
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        if not planned.version or _is_not_looked_up(planned, combined):
            continue
        is_served = wheels.come(name, planned.version) is not None
        if not (is_served and ready_made.is_served(name, planned.version, place)):
            python = place.python and f"Python {place.python}"
            where = " and ".join(filter(None, (place.platform, python)))
            found[name] = f"{planned.version} has no file for {where}"
    return found


def _not_to_be_had(combined: Combined, facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, str]:
    """Return of which packages no release that is asked for can be installed, and why."""
    minor = _minor(facts)
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        if planned.files or planned.index or _is_not_looked_up(planned, combined):
            continue
        missing = lacking(matrix, name, planned.extras, minor)
        asked = releases_asked(planned, matrix) if missing else ()
        if asked and missing.keys() >= {*asked}:
            each = f"{asked[0]} needs" if planned.version else "each release needs"
            found[name] = f"{each} {missing[asked[0]]}, which the index does not have"
    return found


def releases_asked(planned: Planned, matrix: Matrix) -> tuple[str, ...]:
    """Return the releases that a file admits; none where others than the known ones may be."""
    if planned.version:
        return (planned.version,)
    ends = [_ends(clause.operator, clause.version) for clause in _clauses(planned.specifier)]
    if not (any(low for low, _ in ends) and any(high for _, high in ends)):
        return ()
    table, _ = RELEASES.get(package_of(planned.name, ""), ("", {}))
    rows = matrix.tables[table].rows if table else ()
    known = (version for row in rows for version in cell_words(row["version"]))
    allowed = parse_specifier(planned.specifier)
    return tuple(each for each in known if allowed is not None and allowed.contains(each))


def is_impossible(specifiers: Iterable[str]) -> bool:
    """Return whether surely no version meets all of these; the label of a build is no other one.

    It follows from the bounds alone. Exclusions and ``===`` are left aside.
    """
    return _exclude_each_other(tuple(specifiers))


@lru_cache(maxsize=4096)
def _exclude_each_other(specifiers: tuple[str, ...]) -> bool:
    lows: list[_End] = []
    highs: list[_End] = []
    for text in specifiers:
        for clause in _clauses(text):
            low, high = _ends(clause.operator, clause.version)
            lows += [low] if low else []
            highs += [high] if high else []
    if not lows or not highs:
        return False
    low = max(lows, key=lambda end: (end[0], not end[1]))
    high = min(highs, key=lambda end: (end[0], end[1]))
    return low[0] > high[0] or (low[0] == high[0] and not (low[1] and high[1]))


def _clauses(text: str) -> Iterable[Specifier]:
    parsed = parse_specifier(text) if text else None
    return parsed or ()


def is_from_below(asked: str, needed: str) -> bool:
    """Return whether what is needed begins above all that is asked for."""
    bounds = [c for c in parse_specifier(needed) or () if c.operator in (">=", ">", "==", "~=")]
    return any(is_impossible((asked, f">={each.version.removesuffix('.*')}")) for each in bounds)


def _ends(operator: str, text: str) -> tuple[_End | None, _End | None]:
    """Return the lowest and the highest version that a clause admits."""
    is_series = text.endswith(".*")
    given = parse_version(text.removesuffix(".*"))
    bare = parse_version(given.public) if given else None
    low: _End | None = None
    high: _End | None = None
    if bare is None:
        return low, high
    match operator:
        case ">=" | ">" | "~=":
            low = (bare, operator != ">")
            high = _series_end(bare.release[:-1]) if operator == "~=" else None
        case "<=":
            high = (bare, True)
        case "<":  # not the pre-releases of the bound either
            high = (bare if bare.is_prerelease else _first_of(bare), False)
        case "==":
            low = (_first_of(bare) if is_series else bare, True)
            high = _series_end(bare.release) if is_series else low
        case _:
            pass
    return low, high


def _first_of(version: Version) -> Version:
    """Return the first pre-release of a version."""
    return parse_version(f"{version}.dev0") or version


def _series_end(release: tuple[int, ...]) -> _End | None:
    following = ".".join(map(str, (*release[:-1], release[-1] + 1))) if release else ""
    end = parse_version(f"{following}.dev0")
    return (end, False) if end else None


def asked_at_once(combined: Combined) -> dict[str, str]:
    """Return what one installer has to meet at once: name -> specifier, "" for any version.

    Not what a lock has settled, what conda brings, what an address gives, and what commands
    install one after the other. In PyTorch's channel torch and what is published beside it require
    each other as on PyPI; conda-forge builds one torchvision for several.
    """
    found = {
        name: f"=={planned.version.partition('+')[0]}" if planned.version else planned.specifier
        for name, planned in combined.packages.items()
        if not (planned.open or planned.url)
        and (_is_of_own_channel(name, planned) if planned.manager else name in combined.at_once)
    }
    bounds: Mapping[str, str] = combined.bounds
    return found | {
        name: specifier
        for name, specifier in bounds.items()
        if name not in combined.packages and name in combined.at_once
    }


def _is_of_own_channel(name: str, planned: Planned) -> bool:
    """Return whether conda brings it from PyTorch's channel, in one command with the others."""
    is_named = name in (TORCH, *BESIDE_TORCH) and planned.index == _OWN_CHANNEL
    return is_named and planned.kind == "environment.yml"
