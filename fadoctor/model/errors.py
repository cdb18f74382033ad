"""Errors that end a run. The sentence for the user is built here; the exit code too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(text: str, names: Iterable[str], otherwise: str = "") -> str:
    """Return " Did you mean a, b?" with the names that are nearest, else what is said instead."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only for what nobody knows

    near = get_close_matches(text.lower(), list(names), n=3, cutoff=0.6)
    return f" Did you mean {', '.join(near)}?" if near else otherwise


class FadoctorError(Exception):
    """A run that cannot go on."""

    exit_code = 4


class UsageError(FadoctorError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class TargetError(FadoctorError):
    """The environment that was named cannot be examined."""

    exit_code = 2


class _PlacedError(FadoctorError):
    """Something is wrong at a place of a file."""

    exit_code = 2

    def __init__(self, path: str, problem: str, *, line: int = 0, key: str = "") -> None:
        """Name the file, the line (1-based, 0 where unknown), the key path and the problem."""
        place = f"{path}:{line}" if line else path
        at_key = f" at `{key}`" if key else ""
        super().__init__(printable(f"{place}{at_key}: {problem}", 2000))
        self.path, self.line, self.key, self.problem = path, line, key, problem


class InputError(_PlacedError):
    """A file that was given cannot be read or understood."""


class UnknownKindError(InputError):
    """A file is of no kind that is known: not wrong, but not ours."""


class RuleDataError(_PlacedError):
    """A rule or a table is malformed."""


class ApplyError(FadoctorError):
    """A plan that was not carried out, or cannot be taken back: the plan still exists."""

    exit_code = 1
