"""What a log shows: its root causes, and how it ends."""

from __future__ import annotations

import msgspec

from fadoctor.judging.engine.symptoms import SymptomMatch
from fadoctor.model.finding import Severity
from fadoctor.model.rule import Rule
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.messages import Failure, Raised


class Cause(msgspec.Struct, frozen=True):
    """A root cause that shows in the log."""

    rule: Rule
    match: SymptomMatch
    severity: Severity
    lines: tuple[Line, ...]
    """Where it shows first."""
    failure: Failure
    consequences: tuple[str, ...] = ()
    times: int = 1
    """In how many failures it shows."""
    general: Rule | None = None
    """The general rule that this cause refines, where its fixes for words of the log come first."""
    is_of_code: bool = False
    """Whether only the code that a call answers shows it, and no wording."""


class Ranked(msgspec.Struct, frozen=True):
    """What a log shows, and how it ends."""

    causes: tuple[Cause, ...]
    unexplained: Raised | None
    """The last exception, where no cause was found in it and it is about something else."""
