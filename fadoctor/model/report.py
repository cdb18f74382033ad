"""The report of ``check``: the JSON contract, version 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import Target
from fadoctor.model.fact import Fact
from fadoctor.model.finding import Finding, Undecided
from fadoctor.model.verdict import Recommendation, Verdict

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

REPORT_SCHEMA_VERSION = 1


class RulesInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which knowledge base judged."""

    version: str
    sha256: str
    origin: str = ""
    """Where it came from, in words; missing where it was shipped with fadoctor."""


def rules_info(knowledge: Knowledge) -> RulesInfo:
    """Return what a report says of the knowledge that it comes from."""
    return RulesInfo(knowledge.version, knowledge.sha256, knowledge.origin)


class Summary(msgspec.Struct, frozen=True):
    """How many findings of each severity, and how many rules stayed undecided."""

    error: int
    warning: int
    note: int
    unknown: int


class RuleError(msgspec.Struct, frozen=True):
    """A rule that broke: a fault of fadoctor or of ``--rules``, not of the target."""

    rule_id: str
    reason: str


class Report(msgspec.Struct, frozen=True):
    """Everything that ``check`` has to say."""

    fadoctor: str
    rules: RulesInfo
    target: Target
    environment: dict[str, Fact]
    """Every fact, by its dotted name."""
    findings: tuple[Finding, ...]
    unknown: tuple[Undecided, ...]
    verdicts: tuple[Verdict, ...]
    recommendation: Recommendation | None
    summary: Summary
    overlays: tuple[str, ...] = ()
    """What-if overlays that replaced facts, as typed."""
    notes: tuple[str, ...] = ()
    """Sentences about the run itself: which overlay was used, that no GPU was tested."""
    not_looked: tuple[str, ...] = ()
    """Why there was nothing to look at: `--strict` exits 3."""
    rule_errors: tuple[RuleError, ...] = ()
    schema_version: int = REPORT_SCHEMA_VERSION
