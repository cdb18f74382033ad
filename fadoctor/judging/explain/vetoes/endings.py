"""Tell whether the end of a log is explained by what was found in it."""

# A circle with `ranking` by a type alone: ranking asks about the causes that it found.

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.finding import Confidence, Severity
from fadoctor.sources.logs.messages import exceptions
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from fadoctor.judging.explain.causes import Cause
    from fadoctor.sources.logs.messages import Failure, Raised

_OUR_TOPIC = compiled(
    r"(?i)cuda|cudnn|flash|attention|attn|xformers|triton|nvcc|no kernel|hip error|rocm"
    r"|undefined symbol|dtype|bfloat16|torch|scalar type|bias type"
    r"|miopen|(?:hip|roc)blas|zluda|directml|privateuse"
)
# CalledProcessError: Command '...\\fix_torch.py' | FileNotFoundError: ... '/srv/cuda-notes.txt'
_OF_FILES = frozenset({"CalledProcessError", "FileNotFoundError"})
_PATHS = compiled(r"[^\s'\"]{0,300}[\\/][^\s'\"]{1,300}")
"""What stands in paths of these says nothing of what they are about."""

_MEMORY = compiled(r"(?i)out ?of ?memory")

# RuntimeError: Error compiling objects for extension
# subprocess.CalledProcessError: Command '['where', 'cl']' returned non-zero exit status 1.
_BUILD_FAILED = compiled(
    r"Error compiling objects for extension|Error building extension"
    r"|CalledProcessError: Command '\['"
    r"(?:where', 'cl|ninja|cmake|[^'\n]{0,300}(?:nvcc|cl|python)(?:\.exe)?)'"
    r"|\b(?:BuildError|ChefBuildError|BuildBackendException|CompileError|LinkError)\b"
)
"""How a build ends whose own error stands above."""


_CHILD_LOST = frozenset({"PermissionError", "EOFError", "BrokenPipeError"})
"""How a process that multiprocessing starts ends, where the one that starts it has failed."""
_CHILD_STARTS = compiled(r"[\\/]multiprocessing[\\/]|\bspawn_main\b")


def last_exception(found: list[Failure]) -> Raised | None:
    """Return the exception that a log names last."""
    raised = [each for failure in found for each in exceptions(failure.lines)]
    return max(raised, key=lambda each: each.line, default=None)


def is_explained(last: Raised, causes: list[Cause], found: list[Failure]) -> bool:
    """Return whether an exception is about our topic, or shows or ends an error of ours."""
    text = _PATHS.sub(" ", last.text) if last.name in _OF_FILES else last.text
    if _OUR_TOPIC.search(text) and not _MEMORY.search(text):
        return True
    if _BUILD_FAILED.search(last.text) and any(_is_of_a_build(cause) for cause in causes):
        return True
    if any(_is_shown_by(last, cause) for cause in causes):
        return True
    if last.name in _CHILD_LOST and any(_lost_a_child(last, cause, found) for cause in causes):
        return True
    return any(
        cause.severity is Severity.ERROR
        and cause.failure.lines[0].number <= last.line <= cause.failure.lines[-1].number
        for cause in causes
    )


def _lost_a_child(last: Raised, cause: Cause, found: list[Failure]) -> bool:
    """Return whether it ends a traceback of multiprocessing, below a loud cause."""
    if not _is_loud(cause) or not cause.lines or cause.lines[-1].number >= last.line:
        return False
    return any(
        _CHILD_STARTS.search(line.text)
        for failure in found
        for line in failure.lines
        if cause.lines[-1].number < line.number < last.line
    )


def _is_shown_by(last: Raised, cause: Cause) -> bool:
    """Return whether its line or its words are those of a finding: a title often repeats them."""
    if not _is_loud(cause):
        return False
    said = cause.failure.text[cause.match.start : cause.match.end].strip()
    return any(last.line == line.number for line in cause.lines) or (
        bool(said) and said in last.text
    )


def _is_loud(cause: Cause) -> bool:
    return cause.severity is not Severity.NOTE


def _is_of_a_build(cause: Cause) -> bool:
    return cause.rule.area == "build" and _is_loud(cause)


def quieted(cause: Cause, last: Raised) -> Cause:
    """Return a warning as a note, where an exception about something else follows it."""
    before = bool(cause.lines) and cause.lines[-1].number < last.line
    if cause.severity is Severity.WARNING and before:
        return msgspec.structs.replace(cause, severity=Severity.NOTE)
    return cause


def surer_first(causes: list[Cause]) -> list[Cause]:
    """Return causes in order; of those that one line shows alike, the surer one comes first."""
    ranks = {each: place for place, each in enumerate(Confidence)}
    places: dict[tuple[Severity, int], list[int]] = {}
    for place, cause in enumerate(causes):
        if cause.lines:
            places.setdefault((cause.severity, cause.lines[0].number), []).append(place)
    whole = list(causes)
    for alike in places.values():
        mine = sorted((causes[at] for at in alike), key=lambda each: ranks[each.match.confidence])
        for at, cause in zip(alike, mine, strict=True):
            whole[at] = cause
    return whole
