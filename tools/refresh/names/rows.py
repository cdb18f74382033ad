"""The rows of the two tables, many names with the same history in one."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tools.refresh.names.history import end_of, spans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from packaging.version import Version

    from tools.refresh.names.asked import Asked
    from tools.refresh.names.survey import Seen, States

MODULE = "(module)"
"""Stands for the name where the module itself is meant."""
_WIDTH = 40
"""Names in one row."""


_Groups = defaultdict[tuple[str, str], list[str]]
"""Module and cells -> the names that share them."""


def given_rows(
    package: str, seen: Mapping[Version, States], every: Sequence[Version] = ()
) -> Iterator[str]:
    """Yield rows of names-given: which releases have which names of which module."""
    versions = list(seen)
    groups = _Groups(list)
    names = sorted({asked for states in seen.values() for asked in states})
    for asked in names:
        states = _settled([(version, seen[version].get(asked)) for version in versions])
        if any(state is None for _, state in states):
            continue
        stretches = spans(states)
        if not stretches:
            groups[asked.module, "never: true"].append(asked.name or MODULE)
            continue
        first, last = stretches[-1]
        cells = []
        if first != versions[0]:
            cells.append(f"first: {first}")
        if last != versions[-1]:
            cells.append(f"last: {end_of(last, versions, every)}")
        if len(stretches) > 1:
            earlier = " and ".join(
                f"{a} to {end_of(b, versions, every)}" for a, b in stretches[:-1]
            )
            cells.append(f"earlier: {earlier}")
        groups[asked.module, ", ".join(cells)].append(asked.name or MODULE)
    yield from _written(f"package: {package}", groups)


def unsteady(seen: Mapping[Version, States]) -> Iterator[Asked]:
    """Yield the names that not every release has, or that nobody can read in all of them."""
    for asked in {asked for states in seen.values() for asked in states}:
        if not all(states.get(asked) for states in seen.values()):
            yield asked


def asked_rows(
    asker: str,
    seen: Mapping[Version, Seen],
    counted: Collection[Asked],
    every: Sequence[Version] = (),
) -> Iterator[str]:
    """Yield rows of names-asked: which releases of a package surely ask for which names."""
    versions = list(seen)
    groups = _Groups(list)
    names = {asked for sure, _ in seen.values() for asked in sure if asked in counted}
    for asked in sorted(names):
        first, last = spans([(version, asked in seen[version][0]) for version in versions])[-1]
        cells = [f"first: {first}"] if first != versions[0] else []
        if last != versions[-1]:
            gone = versions[versions.index(last) + 1]
            cells += [f"last: {end_of(last, versions, every)}", f"gone: {gone}"]
            if asked in seen[gone][1]:
                cells.append("then: true")
        groups[asked.module, ", ".join(cells)].append(asked.name or MODULE)
    yield from _written(f"asker: {asker}", groups)


def _settled(states: list[tuple[Version, bool | None]]) -> list[tuple[Version, bool | None]]:
    """Return states with what is not known settled where those on both sides agree on no."""
    found = list(states)
    for place, (version, state) in enumerate(states):
        before = next((s for _, s in reversed(found[:place]) if s is not None), None)
        after = next((s for _, s in states[place + 1 :] if s is not None), None)
        if state is None and before is False and after is False:
            found[place] = (version, False)
    return found


def _written(owner: str, groups: _Groups) -> Iterator[str]:
    for (module, cells), members in sorted(groups.items()):
        for at in range(0, len(members), _WIDTH):
            words = " ".join(members[at : at + _WIDTH])
            more = f", {cells}" if cells else ""
            yield f"  - {{{owner}, module: {module}, name: {words}{more}}}\n"
