"""The two requirements that exclude each other in an installer's list of what depends on what.

pip lists all that depends on a package where it finds no release for all. Most lines of such a
list fit each other, so that the first of them is rarely the one that matters.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.recognise.told_requirements import Told

RULE = "requirement-unmet"
"""The rule whose wordings read one line of such a list."""

PAIRS = 400
"""Most pairs of requirements that are compared."""

EXACT = "=="
"""How the requirement of one release begins."""

_DEPENDS = " depends on "


def with_conflict(causes: tuple[Cause, ...], told: Iterable[Told]) -> tuple[Cause, ...]:
    """Return causes; one that shows a line of a list which fits the others shows what does not."""
    if not any(_is_of_list(cause) for cause in causes):
        return causes
    pair = next(_conflicts(told), None)
    if pair is None:
        return causes
    return tuple(
        _of_pair(cause, *pair) if _is_of_list(cause) and not _is_shown(cause, pair) else cause
        for cause in causes
    )


def _is_of_list(cause: Cause) -> bool:
    return cause.rule.id == RULE and any(_DEPENDS in line.text for line in cause.lines)


def _is_shown(cause: Cause, pair: tuple[Told, Told]) -> bool:
    """Return whether a cause names both of a pair."""
    return all(each.asker in cause.match.message for each, _ in pair)


def _conflicts(told: Iterable[Told]) -> Iterator[tuple[Told, Told]]:
    """Yield the pairs of requirements that no release meets, those with an exact one first."""
    # Late: few texts hold such a list.
    from fadoctor.sources.manifests.installed.contradicted import is_impossible  # noqa: PLC0415

    rows = [(each, line) for each, line in told if not each.found and each.specifier]
    rows.sort(key=lambda row: not row[0].specifier.startswith(EXACT))
    for one, other in islice(combinations(rows, 2), PAIRS):
        is_apart = one[0].needs == other[0].needs and one[0].asker != other[0].asker
        if is_apart and is_impossible((one[0].specifier, other[0].specifier)):
            yield other, one


def _of_pair(cause: Cause, one: Told, other: Told) -> Cause:
    """Return a cause that names the two which exclude each other."""
    (first, line), (second, beside) = one, other
    said = (
        f"{first.asker} {first.release} requires {first.needs}{first.specifier}, and "
        f"{second.asker} {second.release} requires {second.needs}{second.specifier}."
    )
    captures = {
        "package": first.asker,
        "release": first.release,
        "needs": first.needs,
        "range": first.specifier,
        "name": second.asker,
        "found": second.release,
    }
    match = msgspec.structs.replace(cause.match, message=said, captures=captures)
    lines = tuple(sorted({line, beside}, key=lambda each: each.number))
    return msgspec.structs.replace(cause, match=match, lines=lines)
