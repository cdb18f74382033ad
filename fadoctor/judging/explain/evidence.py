"""The lines of a log that show a cause: as evidence, and where the program says it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.quoting import as_written, quote
from fadoctor.model.fact import printable
from fadoctor.model.finding import Evidence
from fadoctor.model.rule import needs_of

if TYPE_CHECKING:
    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.quoting import Vocabulary
    from fadoctor.sources.logs.cleaning import Line

LIMIT = 300
"""Longest line of a log that is shown, in characters."""


def lines_of(cause: Cause, lines: tuple[Line, ...], name: str, known: Vocabulary) -> list[Evidence]:
    """Return the lines where a cause shows first, as they were written, without secrets."""
    captures = cause.match.captures
    return [
        Evidence(
            "log",
            printable(quote(line.text.strip(), captures, known), LIMIT),
            f"{name}:{line.number}",
        )
        for line in as_written(cause.lines, lines)
    ]


def said_again(cause: Cause, lines: tuple[Line, ...]) -> tuple[str, ...]:
    """Return the lines with which the program fails: also where it says so again, as below a title.

    A message is said again where a line holds its anchor and all that was captured.
    """
    first = tuple(line.text for line in cause.lines)
    at, anchors = cause.match.index, needs_of(cause.rule)
    if not 0 <= at < len(anchors) or not cause.match.captures:
        return first
    words = (anchors[at][0], *cause.match.captures.values())
    again = (line.text for line in lines if all(word in line.text for word in words))
    return (*first, *again)
