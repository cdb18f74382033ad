"""A line of source code that somebody quotes: it says what would be raised, and raised nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from fadoctor.judging.explain.causes import Cause
    from fadoctor.sources.logs.messages import Failure

# raise ValueError("xformers is not available. ...") | ---> 12     raise ImportError( | logger.warn(
_SOURCE = compiled(
    r"\s{0,40}(?:[-=]{1,8}> {0,4})?(?:\d{1,6} {1,40})?"
    r"(?:raise \w{1,60}\(|(?:log|logger|logging|warnings)\.\w{1,12}\()"
)


def without_source(causes: list[Cause], found: list[Failure]) -> list[Cause]:
    """Return causes without those that only quoted code shows, where others are shown otherwise.

    What a traceback quotes stands below it once more, as its exception.
    """
    quoted = [cause for cause in causes if _is_code(cause)]
    if not quoted or len(quoted) == len(causes):
        return causes
    told = [
        line.text for failure in found for line in failure.lines if not _SOURCE.match(line.text)
    ]
    return [cause for cause in causes if cause not in quoted or _is_said(cause, told)]


def _is_code(cause: Cause) -> bool:
    return all(_SOURCE.match(line.text) for line in cause.lines)


def _is_said(cause: Cause, told: list[str]) -> bool:
    shown = cause.failure.text[cause.match.start : cause.match.end]
    return any(shown in text for text in told)
