"""The page of a fleet as metrics, for the textfile collector of a Prometheus node exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.fleet.model import FleetReport

_GAUGES = {
    "answered": "Nodes whose record could be read.",
    "healthy": "Nodes that were checked and have no failure.",
    "alike": "Nodes like the reference.",
    "silent_count": "Nodes without an answer.",
    "unreadable_count": "Records that could not be read.",
}


def render(report: FleetReport) -> str:
    """Return the metrics in the text format of Prometheus."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: FleetReport) -> Iterator[str]:
    for field, meaning in _GAUGES.items():
        name = f"fadoctor_fleet_nodes_{field.removesuffix('_count')}"
        yield from (f"# HELP {name} {meaning}", f"# TYPE {name} gauge")
        yield f"{name} {getattr(report, field)}"
    if report.expected is not None:
        name = "fadoctor_fleet_nodes_expected"
        yield from (f"# HELP {name} Nodes that there should be.", f"# TYPE {name} gauge")
        yield f"{name} {report.expected}"
    name = "fadoctor_fleet_finding_nodes"
    yield from (f"# HELP {name} Nodes with a finding.", f"# TYPE {name} gauge")
    found: dict[tuple[str, str], int] = {}
    for each in report.findings:
        key = (each.rule_id, each.severity.value)
        found[key] = found.get(key, 0) + each.count
    for (rule_id, severity), count in found.items():
        yield f'{name}{{rule="{_quoted(rule_id)}",severity="{severity}"}} {count}'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
