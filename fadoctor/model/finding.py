"""What the engine concludes: outcomes, findings with their evidence, and what stayed unknown."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.model.fact import Value
from fadoctor.model.fix import Fix
from fadoctor.model.place import Place


class Outcome(enum.Enum):
    """How one rule came out for one subject."""

    __hash__ = object.__hash__  # equal is the same here, and enum's own is not written in C

    FAIL = "fail"
    PASS = "pass"  # noqa: S105 -- an outcome
    NOT_APPLICABLE = "not_applicable"
    UNKNOWN = "unknown"
    ERROR = "error"


class Severity(enum.Enum):
    """How bad a finding is. Declared from worst to least."""

    __hash__ = object.__hash__

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Confidence(enum.Enum):
    """How sure a finding is. Declared from most to least."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    def weaker(self) -> Confidence:
        """Return the next lower one; below the lowest there is none."""
        members = list(Confidence)
        return members[min(members.index(self) + 1, len(members) - 1)]


class Evidence(msgspec.Struct, frozen=True):
    """One fact, or one cell of the matrix, that a finding rests on."""

    fact: str
    value: Value | None
    """None where the fact is absent."""
    source: str


class Reference(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a claim about the world comes from. Types are OSV's."""

    type: str
    """ADVISORY, REPORT, FIX, EVIDENCE, PACKAGE or WEB."""
    url: str
    """A link, or ``pkg:pypi/name@version`` for a published package."""
    retrieved: str = ""
    note: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One root cause, with what shows it and what removes it."""

    rule_id: str
    severity: Severity
    confidence: Confidence
    title: str
    message: str
    why: str
    subject: str
    """What it is about: ``gpu[0]``, a distribution's name, or ``environment``."""
    evidence: tuple[Evidence, ...]
    fixes: tuple[Fix, ...]
    consequences: tuple[str, ...]
    """Ids of rules that also failed, only because of this one."""
    references: tuple[Reference, ...]
    fingerprint: str
    """Hash of rule id and subject: the same problem keeps it across runs and machines."""
    locations: tuple[Place, ...] = ()
    """Where in the files that were examined: what to edit, first what the rule read first."""


class Undecided(msgspec.Struct, frozen=True):
    """A rule that could not be decided, and the facts that would settle it."""

    rule_id: str
    needs: tuple[str, ...]
    reason: str
    subject: str = "environment"
