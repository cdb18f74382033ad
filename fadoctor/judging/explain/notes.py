"""Sentences about a log as a whole: what it lacks, how it ends, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.quoting import quote
from fadoctor.model.fact import printable
from fadoctor.model.finding import Confidence, Severity
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.judging.explain.causes import Ranked
    from fadoctor.judging.explain.quoting import Vocabulary
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.messages import Raised
    from fadoctor.sources.logs.sieve import Sifted

_SHOWN = 120

_FRAME = compiled(r'\s{0,40}File "[^"]{1,400}", line \d{1,7}')
_TRACEBACK = "Traceback (most recent call last)"
_PIP = compiled(r"subprocess-exited-with-error|Failed to build|metadata-generation-failed")


def notes_on(
    lines: Sequence[Line], ranked: Ranked, sifted: Sifted, known: Vocabulary
) -> tuple[str, ...]:
    """Return what a reader of the report should know about the log."""
    return tuple(_notes(lines, ranked, sifted, known))


def _notes(
    lines: Sequence[Line], ranked: Ranked, sifted: Sifted, known: Vocabulary
) -> Iterator[str]:
    if not any(line.text.strip() for line in lines):
        yield "The log is empty."
        return
    loud = [cause for cause in ranked.causes if cause.severity is not Severity.NOTE]
    if ranked.unexplained is not None and not _is_told(ranked.unexplained, ranked):
        last = ranked.unexplained
        text = printable(quote(last.text, {"name": last.name}, known), _SHOWN)
        yield f"The log ends with another error, in line {ranked.unexplained.line}: {text}"
    if sifted.overflowed:
        yield "The log has too many failures: only the first and last ones were read."
    sure = bool(loud) and loud[0].match.confidence is Confidence.HIGH
    if not sure:
        yield from _what_is_missing(lines, found=bool(loud))


def _is_told(last: Raised, ranked: Ranked) -> bool:
    """Return whether one of the causes, a note perhaps, is about this very line."""
    return any(last.line == line.number for cause in ranked.causes for line in cause.lines)


def _what_is_missing(lines: Sequence[Line], *, found: bool) -> Iterator[str]:
    """Yield what more to paste."""
    texts = [line.text for line in lines]
    frames = [number for number, text in enumerate(texts) if _FRAME.match(text)]
    starts = any(_TRACEBACK in text for text in texts)
    if frames and not starts:
        yield f'The log begins inside a traceback: paste it from "{_TRACEBACK}" on.'
    below = texts[frames[-1] + 1 :] if frames else []
    if frames and not any(text.strip() and not text.startswith(" ") for text in below):
        yield (
            "The log ends inside a traceback: paste the lines below it too, where the exception is."
        )
    if not found and any(_PIP.search(text) for text in texts):
        yield "The build's own error is above pip's summary: paste it too, or run pip with -v."
