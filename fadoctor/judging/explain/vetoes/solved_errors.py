"""Tell an old error that a person quotes, and says to be solved, from the one that is left."""

# A circle with `ranking` by a type alone: ranking asks about the causes that it found.

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.finding import Severity
from fadoctor.sources.logs.messages import exceptions
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.messages import Failure, Raised

BELOW, ABOVE = 3, 2
"""Lines below and above a quoted error that may say that it is over."""
TITLE_WORDS = 4
"""Words that a title and the warning that it shortens begin with."""
INTRODUCED = 4
"""Lines above a quoted error that may say that a change repairs it."""

# Upgrading the driver solved that. Now: ... | (fixed) | this went away with 2.8.3
_OVER = compiled(
    r"(?i)(?<!un)(?<!not )\b(?:solved|fixed|resolved|got (?:past|rid of|around) (?:it|that|this)"
    r"|(?:is|are) (?:all )?green again"
    r"|went away|disappeared|is gone|are gone|gone now|worked around)\b"
)
# Earlier I got: | the old error was | At first it said; not: can be used to override this check
_BEFORE = compiled(
    r"(?i)\b(?:earlier|previously|at first|the old error|before that|originally"
    r"|(?<!be )(?<!is )(?<!are )(?<!was )(?<!were )(?<!been )used to)\b"
)
# Release 2.8.3 fixes "undefined symbol" | The undefined symbol went away: nothing is raised there.
_FIXES = compiled(
    r"(?i)(?<!\bnothing )\b(?:fixes|resolves|solves)\b[^\"'`\u201c\n]{0,30}[\"'`\u201c]"
)
# If you see "CUDA_HOME environment variable is not set", install the toolkit.
_ONLY_IF = compiled(
    r"(?i)[^\w\n]{0,6}(?:note: )?(?:if|in case|should) you (?:see|get|hit|encounter|run into)\b"
    r"(?! (?:this|that|it)\b)"
)
# This PR fixes the error: | This should solve the following error; not: this should fix it, but
_CHANGE = compiled(
    r"(?i)\bthis (?:(?:pr|pull request|merge request|patch|change|commit) )?"
    r"(?:should |will |would )?(?:fix|solve|resolve|prevent|avoid)(?:e?s)?"
    r" (?:the|this|an?|these) (?:\w{1,12} ){0,2}"
    r"(?:errors?|crash(?:es)?|issues?|exceptions?|failures?)\b"
)
# This PR improves | ## Summary of this change; beside: Before: | After:
_OF_A_CHANGE = compiled(
    r"(?i)\bthis (?:pr|pull request|merge request|patch|commit|change(?:set)?)\b"
    r" (?:\w{1,12} )?(?:improves?|makes?|adds?|replaces?|rewords?|clarifies|turns?|changes?)\b"
)
_COMPARED = compiled(r"(?i)[^\w\n]{0,6}(?:before|after|old|new)(?: \w{1,12}){0,3}\W{0,6}$")
# but it does not | I still get | how can I
_YET = compiled(
    r"(?i)\b(?:still|not (?:help|work|solve|fix)|how (?:can|do|to)|(?:i|we) tried|didn't|doesn't"
    r"|any (?:idea|help))\b|\?|, but\b"
)
_RAISED = compiled(r"(?i)\b(?:error|warning|fatal|critical)\b ?:")
# not fixed | fixed in 2.9 | how can this be solved? | never resolved | fix it | still
_OPEN = compiled(
    r"(?i)\b(?:not|never|cannot|can't|isn't|wasn't|how|should|would|could|to|be|still|until|unless)"
    r" (?:\w{1,12} ){0,2}(?:solved|fixed|resolved)|\?"
    r"|\b(?:solved|fixed|resolved) (?:in|by|with) (?:version|release|v?\d|main\b|master\b|#|PR\b"
    r"|the (?:next|latest|newest))"
)
# That is solved, but there is a new problem: ValueError: ...
_NEXT = compiled(
    r"(?i)\b(?:solved|fixed|resolved|gone|went away)\b[^\n]{0,40}\b(?:but|however|now)\b[^\n]{0,40}"
    r"\b(?:new|another|different|next) (?:problem|error|issue|one)"
    r"\W{1,4}\w{0,40}(?:error|exception)\b"
)

# It works now. | 已解决
_WORKS = compiled(
    r"(?i)\b(?:now works|works (?:now|again)|(?:is|was) (?:fixed|solved|resolved)"
    r"|solved (?:it|by|the))\b"
    r"|已解决|解决了|解決しました|решено"
)


def is_over(text: str) -> bool:
    """Return whether a sentence tells of a problem that is over."""
    return _WORKS.search(text) is not None and _OPEN.search(text) is None


def without_settled(causes: list[Cause], found: list[Failure], last: Raised | None) -> list[Cause]:
    """Return causes; one that the log itself calls over is a note, where another error follows."""
    lines = sorted(
        (line for failure in found for line in failure.lines), key=lambda line: line.number
    )
    numbers = [line.number for line in lines]
    ends = [cause.lines[0].number for cause in causes if _is_loud(cause) and cause.lines]
    ends += [last.line] if last is not None else []
    final = max(ends, default=0)
    judged = [_judged(cause, lines, numbers, final) for cause in causes]
    return [_as_title(cause, judged, lines) for cause in judged]


def _as_title(cause: Cause, others: list[Cause], lines: list[Line]) -> Cause:
    """Return a cause; a note where only a title shows it that shortens a warning below."""
    if cause.severity is not Severity.ERROR or len(cause.lines) != 1 or not lines:
        return cause
    (line,) = cause.lines
    words = line.text.rpartition(": ")[2].lower().split()[:TITLE_WORDS]
    if line.number != lines[0].number or len(words) < TITLE_WORDS or any(exceptions([line])):
        return cause
    is_short = any(
        other.severity is Severity.WARNING
        and any(below.text.lower().split()[:TITLE_WORDS] == words for below in other.lines)
        for other in others
    )
    return msgspec.structs.replace(cause, severity=Severity.NOTE) if is_short else cause


def _is_loud(cause: Cause) -> bool:
    return cause.severity is not Severity.NOTE


def _judged(cause: Cause, lines: list[Line], numbers: list[int], final: int) -> Cause:
    if not _is_loud(cause) or not cause.lines or cause.times > 1:
        return cause
    first, end = cause.lines[0].number, cause.lines[-1].number
    own = lines[bisect_left(numbers, first) : bisect_right(numbers, end)]
    above = lines[bisect_left(numbers, first - INTRODUCED) : bisect_left(numbers, first)]
    below = lines[bisect_right(numbers, end) :]
    if _is_only_told(own) or _repairs(above, below) or _compares(lines, above, below):
        return msgspec.structs.replace(cause, severity=Severity.NOTE)
    if final <= end:
        return cause
    below = lines[bisect_right(numbers, end) : bisect_left(numbers, min(end + BELOW + 1, final))]
    above = lines[bisect_left(numbers, first - ABOVE) : bisect_left(numbers, first)]
    over = any(_says_over(line.text) for line in (*own, *below))
    if over or any(_BEFORE.search(line.text) for line in (*own, *above)):
        return msgspec.structs.replace(cause, severity=Severity.NOTE)
    return cause


def _repairs(above: list[Line], below: list[Line]) -> bool:
    """Return whether a change is described that repairs the error, and nobody says otherwise."""
    told = [line for line in above if _CHANGE.search(line.text)]
    return bool(told) and not any(_YET.search(line.text) for line in (*told, *below[:BELOW]))


def _compares(lines: list[Line], above: list[Line], below: list[Line]) -> bool:
    """Return whether a change is described that words an error in another way."""
    return (
        any(_COMPARED.match(line.text) for line in above)
        and words_anew(lines)
        and not any(_YET.search(line.text) for line in below[:BELOW])
    )


def words_anew(lines: Sequence[Line]) -> bool:
    """Return whether a text describes a change by what is there before and after it."""
    return any(_OF_A_CHANGE.search(line.text) for line in lines) and any(
        _COMPARED.match(line.text) for line in lines
    )


def _is_only_told(own: list[Line]) -> bool:
    """Return whether a sentence speaks of an error that may come, or is over, and raises none."""
    if any(exceptions(own)) or any(_RAISED.search(line.text) for line in own):
        return False
    return any(_ONLY_IF.match(line.text) or _tells_of_fix(line.text) for line in own)


def _tells_of_fix(text: str) -> bool:
    return _says_over(text) or bool(_FIXES.search(text) and not _OPEN.search(text))


def _says_over(text: str) -> bool:
    return _OVER.search(text) is not None and not _OPEN.search(text) and not _NEXT.search(text)
