"""The two requirements that exclude each other in an installer's list of what depends on what.

pip lists all that depends on a package where it finds no release for all. Most lines of such a
list fit each other, so that the first of them is rarely the one that matters.
"""

from __future__ import annotations

from itertools import combinations, islice, zip_longest
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.model.finding import Severity
from fadoctor.model.packages import COMPANIONS, STACK
from fadoctor.model.rule import rules_by_id
from fadoctor.sources.pasted.requirement_lines import requirement_lines
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.recognise.told_requirements import Told
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line

RULE = "requirement-unmet"
"""The rule whose wordings read one line of such a list."""

PAIRS = 400
"""Most pairs of requirements that are compared."""

EXACT = "=="
"""How the requirement of one release begins."""

_DEPENDS = " depends on "

TOLD_LIMIT = 60
"""Most requirements of one text that are compared."""

# What a resolver says at its end: pip, uv, poetry
_FAILED = compiled(
    r"(?i)conflicting dependencies|conflict is caused by|unsatisfiable|no solution found"
    r"|are incompatible|cannot be used|version solving failed|ResolutionImpossible"
)


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


def told_conflict(lines: Sequence[Line], knowledge: Knowledge) -> Cause | None:
    """Return the cause of a resolver that found no release for two packages, whoever they are.

    uv tells it in sentences, which it breaks where the terminal ends.
    """
    texts = [line.text for line in lines]
    if not any(map(_FAILED.search, texts)):
        return None
    rows: list[Told] = []
    for line, below in zip_longest(lines, lines[1:]):
        if _DEPENDS.rstrip() in line.text:
            text = f"{line.text.rstrip()} {below.text.lstrip() if below is not None else ''}"
            found = requirement_lines(text)
            rows += [(each, line) for each in found if each.needs in STACK | COMPANIONS]
    pair = next(_conflicts(islice(rows, TOLD_LIMIT)), None)
    if pair is None:
        return None
    rule = rules_by_id(knowledge)[RULE]
    return _of_pair(line_cause(rule, "", pair[0][1], severity=Severity.WARNING), *pair)


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
