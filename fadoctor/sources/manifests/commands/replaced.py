"""What a command that installs puts in the place of what is there: what its packages require."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.knowledge.matrix.on_index import on_index
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version, version_key
from fadoctor.model.fact import Known
from fadoctor.model.packages import (
    BESIDE_TORCH,
    RELEASES,
    SETUPS,
    TORCH,
    TRITON,
    XFORMERS,
    package_of,
)
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.index_releases import newest_of_index
from fadoctor.sources.manifests.planned import DOES_NOT_FIT, REPLACES, Requirement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.images.planned_stage import Stage


_COMPANIONS = (*BESIDE_TORCH, XFORMERS)
BUILT_FOR = "it was installed for torch"
"""How the doubt begins about what came for a torch that a later command replaces."""


class Move(msgspec.Struct, frozen=True):
    """A package that another one needs in another version than the one that is there."""

    asker: Requirement
    there: Requirement
    needs: str
    """The specifier; "" where the release of the one that asks is not known."""


def moves(stage: Stage, asked: Iterable[Requirement], matrix: Matrix, index: str) -> Iterator[Move]:
    """Yield what a command replaces beside what it names, by the tables.

    What it names itself and what a constraint bounds is for the installer to settle: what it cannot
    settle is noted. Which release is the newest is known of PyPI's own index.
    """
    asked = list(asked)
    stage.refused |= dict(refusals(asked, matrix))
    bound = {each.name for each in (*asked, *stage.constraints)}
    for asker in asked:
        if asker.url or asker.marker or asker not in stage.packages.get(asker.name, ()):
            continue
        version = exact_version(asker.specifier)
        if index and not version:
            continue
        needed = declared(asker.name, version, matrix) if version else {}
        needed |= _needs(asker.name, version or asker.specifier, matrix)
        for name, needs in needed.items():
            found = stage.packages.get(name, ())
            if len(found) == 1 and name not in bound and not _is_accepted(found[0], needs):
                yield Move(asker, found[0], needs if version else "")


def refusals(asked: Iterable[Requirement], matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield what one command names in releases that rule each other out: it installs nothing.

    The package that asks, and what is wrong with it in words.
    """
    named = {each.name: each for each in asked if not (each.url or each.marker)}
    for asker in named.values():
        version = exact_version(asker.specifier)
        for name, needs in _needs(asker.name, version, matrix).items() if version else ():
            other = named.get(name)
            is_pin = other is not None and bool(exact_version(other.specifier))
            if other is not None and is_pin and not _is_accepted(other, needs):
                told = f"requires {name}{needs}, and its command asks for {name}{other.specifier}"
                yield asker.name, f"{asker.name}{asker.specifier} {told}"


def carry_out(
    stage: Stage, move: Move, index: str, matrix: Matrix, others: Iterable[Move] = ()
) -> None:
    """Put what is needed in the place of what is there, and say so.

    `others`: what the same command replaces. Of a torch that another command named, the note says
    what to ask for there, with what is published beside it.

    Not a torch that the image or a command pins where a companion requires another: the pin is
    meant, and what was published with it breaks. The rules tell that both do not go together.
    """
    old, asker = move.there, move.asker
    is_companion = old.name == TORCH and asker.name in _COMPANIONS
    is_meant = is_companion and bool(move.needs) and bool(exact_version(old.specifier))
    if move.needs and not is_meant:
        new = Requirement(old.name, asker.place, move.needs, index=index)
        stage.packages[old.name] = [new]
    elif not is_meant:
        stage.packages.pop(old.name, None)
    shown = f"{asker.name}{asker.specifier}"
    wanted = f"requires {old.name}{move.needs}" if move.needs else f"takes another {old.name}"
    told = f"{shown} {wanted}{REPLACES}{old.name}{old.specifier}"
    stage.note(asker.place.line, told if is_meant else told + _instead(move, others))
    if old.name == TORCH and not is_meant:
        outdate(stage, old)
        if exact_version(move.needs) and old.index:
            _keep_companions(stage, move, matrix)


def _keep_companions(stage: Stage, move: Move, matrix: Matrix) -> None:
    """Put what came beside a torch in the place of what was asked for in any release.

    It was the newest of the index for the torch that came with it: that one is replaced, it is not.
    """
    came = newest_of_index(move.there.index, move.there.specifier)
    for name in BESIDE_TORCH if came else ():
        found = stage.packages.get(name, [])
        is_of_then = len(found) == 1 and found[0].command == move.there.command
        if not is_of_then or found[0].specifier or found[0].url or found[0].marker:
            continue
        rows = matrix.tables[RELEASES[name][0]].rows
        releases = (v for r in rows if r.get("with") == came for v in cell_words(r["version"]))
        if release := max(releases, key=version_key, default=""):
            came = f"=={release}"
            stage.packages[name] = [
                msgspec.structs.replace(found[0], specifier=came, is_as_came=True)
            ]


def _instead(move: Move, others: Iterable[Move]) -> str:
    """Return what a command should ask for whose torch does not stay, as the end of a note."""
    old = move.there
    is_named = old.name == TORCH and old.command and exact_version(old.specifier)
    if not (is_named and exact_version(move.needs)):
        is_refused = bool(old.manager) and is_impossible((old.specifier, move.needs))
        return DOES_NOT_FIT if is_refused else ""
    same = (each for each in others if each.asker == move.asker and exact_version(each.needs))
    beside = [f"{e.there.name}{e.needs}" for e in same if e.there.name in BESIDE_TORCH]
    asked = " ".join((f"{old.name}{move.needs}", *beside))
    return f", so the one at {old.place} does not stay: ask for {asked} there"


def replace_triton(
    stage: Stage, asked: Iterable[Requirement], torch: Requirement, matrix: Matrix
) -> None:
    """Put the triton that a torch brings in the place of one that an earlier command installed."""
    named = {each.name for each in asked}
    if torch.name in named and TRITON not in named and (there := stage.packages.get(TRITON)):
        carry_out(stage, Move(torch, there[0], ""), "", matrix)


def is_same_release(before: Sequence[Requirement], now: Sequence[Requirement]) -> bool:
    """Return whether a package is surely what it was; another build of a release counts as it."""
    releases = [
        [parse_version(exact_version(each.specifier).partition("+")[0]) for each in asked]
        for asked in (before, now)
    ]
    return before == now or (releases[0] == releases[1] and None not in releases[0])


def outdate(stage: Stage, torch: Requirement, fresh: Collection[str] = ()) -> None:
    """Say of what was compiled for a torch that is gone that nobody knows whether it still runs.

    `fresh`: what comes with the other torch.
    """
    for name in SETUPS:
        if name in fresh:
            continue
        found = stage.packages.get(name, [])
        stage.packages[name] = [
            each if each.url or each.doubt else msgspec.structs.replace(each, doubt=_doubt(torch))
            for each in found
        ]
        if not found:
            del stage.packages[name]


def _doubt(torch: Requirement) -> str:
    return f"{BUILT_FOR}{torch.specifier}, which a later command replaces"


def _is_accepted(there: Requirement, needs: str) -> bool:
    version, allowed = parse_version(exact_version(there.specifier)), parse_specifier(needs)
    if allowed is None or there.url:
        return True
    if version is None:  # whatever came: afterwards it is the one release that is needed
        return not exact_version(needs)
    return allowed.contains(version, prereleases=True)


def needed_by(name: str, version: str, matrix: Matrix, python: str = "") -> dict[str, str]:
    """Return what a release requires, by its metadata and by the tables of releases.

    Without what it requires on other Pythons alone, where a Python is named.
    """
    return declared(name, version, matrix, python) | _needs(name, version, matrix)


def _needs(name: str, version: str, matrix: Matrix) -> dict[str, str]:
    """Return what a release requires of the stack, or the newest one of a range."""
    if package_of(name) not in RELEASES:
        return {}
    table, columns = RELEASES[package_of(name)]
    if parse_version(version) is None:
        version = next(iter(on_index(name, matrix, version)), "")
    rows = matrix.find(table, {"version": Known(version, "asked")})
    cells = {other: rows.cell(column) for column, other in columns.items()}
    return {
        other: cell.value
        for other, cell in cells.items()
        if isinstance(cell, Known) and isinstance(cell.value, str)
    }
