"""The report of ``explain``: what a log shows, and what an environment says about it."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.model.environment import Target
from fadoctor.model.finding import Finding
from fadoctor.model.plan import Plan
from fadoctor.model.report import RuleError, RulesInfo, Summary

EXPLANATION_SCHEMA_VERSION = 1


class Agreement(enum.Enum):
    """What the facts of an environment say about a cause that the log shows."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    OPEN = "open"


class Check(msgspec.Struct, frozen=True):
    """One cause held against the facts of the environment."""

    rule_id: str
    agreement: Agreement
    detail: str
    """Which facts say so, or why they cannot."""


class Log(msgspec.Struct, frozen=True):
    """The log that was read."""

    name: str
    """Its path, or ``standard input``."""
    size: int
    """Bytes, as UTF-8."""
    lines: int
    read: str
    """``whole``, or ``surroundings``: only what stands around interesting lines."""
    named: dict[str, str]
    """Facts that the log itself names: ``torch.version`` -> ``2.6.0+cu124``."""
    on_topic: bool = True
    """Whether a word of this field is in it: of attention, GPUs, their compilers or frameworks."""


class Explanation(msgspec.Struct, frozen=True):
    """Everything that ``explain`` has to say."""

    fadoctor: str
    rules: RulesInfo
    log: Log
    findings: tuple[Finding, ...]
    """The most likely cause first; their evidence are lines of the log."""
    summary: Summary
    target: Target | None = None
    """The environment that the log was held against; None without one."""
    checks: tuple[Check, ...] = ()
    plan: Plan | None = None
    """What repairs the environment, where it confirms a cause and a change of packages helps."""
    notes: tuple[str, ...] = ()
    """Sentences about the log: what it lacks, how it ends."""
    overlays: tuple[str, ...] = ()
    """What-if overlays that replaced facts of the environment, as typed."""
    rule_errors: tuple[RuleError, ...] = ()
    schema_version: int = EXPLANATION_SCHEMA_VERSION
