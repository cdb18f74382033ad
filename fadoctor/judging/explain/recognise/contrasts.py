"""Two situations that a person sets against each other: in one it works, in the other it fails.

As root it runs, as my user it finds no GPU. It builds in docker run, and fails in docker build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.judging.explain.recognise.ideas import BETWEEN, plain
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from fadoctor.sources.logs.cleaning import Line

_ENDS = (
    "no-trouble-outcome",
    "not-well-outcome",
    "wrong-outcome",
    "well-outcome",
    "goes-outcome",
    "alone-told",
    "turn-told",
)
"""Ideas of how something ends, as they are read, of the only case, and of what turns to another."""

_SENTENCE_END = compiled(r"[.!?](?=\s|$)|[\u3002\uff01\uff1f]")
"""What ends a sentence: a semicolon does not, as what stands behind it belongs to it."""

_PIECE = compiled(r"(?i)[,:]\s|\uff0c|\u3001|\. | and ")


class _Pair(NamedTuple):
    """The patterns of both situations."""

    better: re.Pattern[str]
    worse: re.Pattern[str]


class _Outcomes(NamedTuple):
    """The patterns of how something ends."""

    no_trouble: re.Pattern[str]
    not_well: re.Pattern[str]
    wrong: re.Pattern[str]
    well: re.Pattern[str]
    goes: re.Pattern[str]
    """It runs, loads or builds: said of what fails, too."""

    alone: re.Pattern[str]
    turn: re.Pattern[str]
    """It works as root, but not as my user; while the other one fails."""


class _Reading(NamedTuple):
    """What one clause says: of which situation, whether it goes well, and whether only there."""

    at: int
    is_better: bool
    is_well: bool
    is_alone: bool


def worse_line(
    lines: Iterable[Line], contrast: str, pattern: Callable[[str], re.Pattern[str]]
) -> Line | None:
    """Return the line that tells of the worse of two situations, in which something fails.

    None where a text does not tell of both, or also says the contrary of either.
    """
    parts = [(line, part) for line in lines for part in _SENTENCE_END.split(line.text)]
    pair = _Pair(*map(pattern, filter(None, contrast.split(BETWEEN))))
    texts = [plain(part) for _, part in parts]
    at = _worse_place(texts, pair, _Outcomes(*map(pattern, _ENDS)), unsaid=2 * BETWEEN in contrast)
    return parts[at][0] if at is not None else None


def _worse_place(
    sentences: list[str], pair: _Pair, outcomes: _Outcomes, *, unsaid: bool
) -> int | None:
    readings = [
        reading for at, text in enumerate(sentences) for reading in _read(at, text, pair, outcomes)
    ]
    if any(each.is_better is not each.is_well for each in readings):
        return None
    if not unsaid and not all(any(map(each.search, sentences)) for each in pair):
        return None
    worse = [each.at for each in readings if each.is_alone or not each.is_better]
    is_told = any(each.is_better or each.is_alone for each in readings)
    return min(worse) if worse and is_told else None


def _read(at: int, sentence: str, pair: _Pair, outcomes: _Outcomes) -> Iterator[_Reading]:
    """Yield what the clauses of a sentence say; an outcome alone belongs to what stands before."""
    awaited: bool | None = None
    for clause in _clauses(sentence, pair, outcomes.turn):
        side = _side(clause, pair)
        is_well, rest = _outcome(clause, outcomes)
        if is_well is None:
            awaited = side if side is not None else awaited
            continue
        side, awaited = side if side is not None else awaited, None
        if side is not None:
            yield _Reading(at, side, is_well, outcomes.alone.search(rest) is not None)


def _clauses(sentence: str, pair: _Pair, turn: re.Pattern[str]) -> Iterator[str]:
    """Yield clauses; one that speaks of both situations is cut once more."""
    for clause in turn.split(sentence):
        if pair.better.search(clause) and pair.worse.search(clause):
            yield from _PIECE.split(clause)
        else:
            yield clause


def _side(clause: str, pair: _Pair) -> bool | None:
    """Return whether a clause speaks of the better situation; None of neither, or of both."""
    better, worse = pair.better.search(clause) is not None, pair.worse.search(clause) is not None
    return better if better is not worse else None


def _outcome(clause: str, outcomes: _Outcomes) -> tuple[bool | None, str]:
    """Return whether something goes well in a clause, None where it is open, and what is left."""
    rest, smooth = outcomes.no_trouble.subn(" ", clause)
    rest, failed = outcomes.not_well.subn(" ", rest)
    is_wrong = failed > 0 or outcomes.wrong.search(rest) is not None
    is_fine = smooth > 0 or outcomes.well.search(rest) is not None
    if not is_wrong and not is_fine:
        is_fine = outcomes.goes.search(rest) is not None
    return (is_fine if is_fine is not is_wrong else None), rest
