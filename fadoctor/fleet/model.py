"""The page of a fleet: who differs in what, who is silent, what is wrong on which nodes."""

from __future__ import annotations

import msgspec

from fadoctor.model.finding import Severity

FLEET_SCHEMA_VERSION = 1


class Difference(msgspec.Struct, frozen=True):
    """One thing in which nodes differ from the others."""

    key: str
    """``gpu.driver``: the section and the key of the records."""
    label: str
    here: str
    reference: str
    level: Severity
    """Error: must agree in one job. Warning: should. Note: may differ."""


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that say the same."""

    nodes: str
    """As a list of hosts: ``n[01-12]``."""
    count: int
    is_reference: bool
    healthy: bool
    exit_code: int
    worst: str
    """error, warning, note, or nothing."""
    findings: tuple[str, ...]
    """Ids, worst first, with their severities: ``error driver-too-old``."""
    problem: str
    """Why the check could not be done; "" where it could."""
    differs: tuple[Difference, ...]
    dropped: tuple[str, ...]
    """Sections for which records had no room: that they differ is known, not in what."""


class FleetFinding(msgspec.Struct, frozen=True):
    """One root cause, or one thing that must agree and does not, over the fleet."""

    rule_id: str
    severity: Severity
    title: str
    message: str
    nodes: str
    count: int
    fix: str = ""
    """What to do first: commands where there are any; "" where the nodes did not say."""


class UnreadableNode(msgspec.Struct, frozen=True):
    """What came and cannot be understood."""

    where: str
    node: str
    problem: str
    text: str


class Spoken(msgspec.Struct, frozen=True):
    """Somebody who printed something, but no record."""

    who: str
    text: str


class Value(msgspec.Struct, frozen=True):
    """Nodes that share a value, where one asked to group by it."""

    value: str
    nodes: str
    count: int


class FleetReport(msgspec.Struct, frozen=True):
    """Everything that ``fleet`` has to say."""

    fadoctor: str
    expected: int | None
    """How many nodes there should be; None where nobody says."""
    answered: int
    """Nodes of which a record came that can be read."""
    healthy: int
    """Nodes that were looked at, and where nothing fails; whose records do not contradict."""
    alike: int
    """Nodes like the reference."""
    findings: tuple[FleetFinding, ...]
    groups: tuple[NodeGroup, ...]
    silent: str
    """Nodes without an answer, where their names are known."""
    silent_count: int
    unreadable: tuple[UnreadableNode, ...]
    unreadable_count: int
    contradicting: str
    """Nodes that say two different things; the worse one counts, and they are not healthy."""
    spoke: tuple[Spoken, ...]
    grouped_by: str = ""
    values: tuple[Value, ...] = ()
    notes: tuple[str, ...] = ()
    baseline: str = ""
    schema_version: int = FLEET_SCHEMA_VERSION
