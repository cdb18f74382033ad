"""What is wrong over a fleet: each root cause once, with its nodes and what they have in common."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.fleet.compare import NONE, differs
from fadoctor.fleet.content import SEVERITIES, first_steps
from fadoctor.fleet.fingerprint import UNKNOWN
from fadoctor.fleet.hostlist import compress
from fadoctor.fleet.model import FleetFinding
from fadoctor.judging.engine.judge import judge
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known, printable
from fadoctor.model.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.fleet.compare import Agreements
    from fadoctor.fleet.content import Alike
    from fadoctor.fleet.model import NodeGroup
    from fadoctor.model.fact import Fact
    from fadoctor.model.rule import Condition, Knowledge

CANNOT_CHECK = "fleet-check-failed"
AREA, SOURCE = "fleet", "the records of the nodes"
_COMMON_SHOWN, _NODES_SHOWN, _NODES_IN_A_SENTENCE, _VALUES_SHOWN = 3, 400, 60, 4
_SMALLEST_FAMILY = 2
_STEP_SHOWN = 400


def findings_of(
    members: Sequence[Alike],
    groups: Sequence[NodeGroup],
    knowledge: Knowledge,
    agreements: Agreements,
) -> tuple[FleetFinding, ...]:
    """Return what is wrong: worst first, then what most nodes have."""
    found = [
        *_of_nodes(members, groups, knowledge),
        *_of_failed(members),
        *_of_agreement(members, agreements, knowledge),
    ]
    order = list(Severity)
    return tuple(sorted(found, key=lambda f: (order.index(f.severity), -f.count, f.rule_id)))


def _of_nodes(
    members: Sequence[Alike], groups: Sequence[NodeGroup], knowledge: Knowledge
) -> Iterator[FleetFinding]:
    """Yield the findings of nodes, each once."""
    titles = {rule.id: rule.title for rule in knowledge.rules}
    nodes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in members:
        for finding in each.content.f:
            nodes[finding[2:], finding[:1]].extend(each.nodes)
    everyone = _families(name for each in members for name in each.nodes)
    for (rule_id, letter), names in nodes.items():
        severity = SEVERITIES.get(letter, Severity.NOTE)
        word = severity.value
        mine = [each for each in groups if f"{word} {rule_id}" in each.findings]
        said = [_where(names, everyone), _common(mine, groups)]
        yield FleetFinding(
            rule_id, severity, titles.get(rule_id, rule_id),
            " ".join(filter(None, said)), compress(names), len(names),
            _first_step(rule_id, members),
        )  # fmt: skip


def _first_step(rule_id: str, members: Iterable[Alike]) -> str:
    """Return what most nodes with a finding should do first."""
    said: Counter[str] = Counter()
    for each in members:
        if step := each.content.a.get(rule_id):
            said[printable(step, _STEP_SHOWN)] += len(each.nodes)
    return min(said, key=lambda step: (-said[step], step), default="")


def _of_failed(members: Sequence[Alike]) -> Iterator[FleetFinding]:
    for each in members:
        if each.content.p:
            names = compress(each.nodes)
            yield FleetFinding(
                CANNOT_CHECK, Severity.ERROR, "The check could not be done",
                f"{each.content.p} (exit code {each.content.x}).", names, len(each.nodes),
            )  # fmt: skip


def _of_agreement(
    members: Sequence[Alike], agreements: Agreements, knowledge: Knowledge
) -> Iterator[FleetFinding]:
    """Yield what rules say of what must or should agree between the nodes of one job."""
    told, nodes = _disagreements(members, agreements)
    facts: dict[str, Fact] = {
        "fleet.differs": Known(tuple(told), SOURCE), "fleet.told": Known(told, SOURCE),
    }  # fmt: skip
    about = tuple(rule for rule in knowledge.rules if rule.area == AREA)
    rules = msgspec.structs.replace(knowledge, rules=about)
    environment = Environment(__version__, Target("facts", AREA, SOURCE), facts)
    topics = {rule.id: _topic(rule.when) for rule in about}
    for finding in judge(environment, rules).findings if told else ():
        few = nodes.get(topics[finding.rule_id], [])
        message = f"{finding.message} {finding.why}"
        yield FleetFinding(
            finding.rule_id, finding.severity, finding.title, message, compress(few), len(few),
            first_steps([finding]).get(finding.rule_id, ""),
        )  # fmt: skip


def _topic(when: Condition) -> str:
    """Return what a rule of the area asks for."""
    asked = when.get("fleet.differs")
    return str(asked.get("contains", "")) if isinstance(asked, dict) else ""


def _disagreements(
    members: Sequence[Alike], agreements: Agreements
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return topic -> its values with their nodes, in words, and -> the nodes with the rarest."""
    told: dict[str, str] = {}
    nodes: dict[str, list[str]] = {}
    for key, row in agreements.rows.items():
        values = _values(members, key) if row.get("topic") else {}
        parts = {_part(value, str(row.get("part") or "")) for value in values}
        if len(parts) > 1:
            topic = str(row["topic"])
            few = min(values, key=lambda value: (len(values[value]), value))
            words = _counts(values)
            told[topic] = f"{told[topic]}; {words}" if topic in told else words
            nodes[topic] = [*nodes.get(topic, []), *values[few]]
    return told, nodes


def _values(members: Iterable[Alike], key: str) -> dict[str, list[str]]:
    """Return value -> nodes, of those that say it; what nobody could read is no value."""
    section, _, name = key.partition(".")
    found: dict[str, list[str]] = defaultdict(list)
    for each in members:
        if each.content.is_report and section not in each.content.o:
            value = each.content.t.get(section, {}).get(name, NONE)
            if value != UNKNOWN:
                found[value].extend(each.nodes)
    return found


def _part(value: str, part: str) -> str:
    return value.partition(".")[0] if part == "major" else value


def _counts(values: dict[str, list[str]]) -> str:
    """Return ``2.8.0 on 14 nodes, 2.7.1 on n07``."""
    order = sorted(values, key=lambda value: (-len(values[value]), value))
    said = [
        f"{value} on {len(values[value])} nodes"
        if number == 0 and len(values[value]) > 1
        else f"{value} on {_in_a_sentence(values[value])}"
        for number, value in enumerate(order[:_VALUES_SHOWN])
    ]
    more = len(order) - _VALUES_SHOWN
    return ", ".join([*said, *([f"{more} other values"] if more > 0 else [])])


def _where(names: Sequence[str], everyone: Counter[str]) -> str:
    """Say where those nodes are: all nodes, or all of those whose names begin alike."""
    mine = _families(names)
    if mine == everyone:
        return f"On all {len(names)} nodes." if len(names) > 1 else "On the only node."
    whole = [
        family
        for family, count in mine.items()
        if count == everyone[family] and count >= _SMALLEST_FAMILY
    ]
    if sum(mine[family] for family in whole) == len(names):
        said = " and ".join(f"{family}*" for family in sorted(whole)[:_COMMON_SHOWN])
        return f"On all {len(names)} nodes of {said}, on no other."
    return ""


def _families(names: Iterable[str]) -> Counter[str]:
    """Count nodes by what stands before the last number of their names: a rack, a partition."""
    return Counter(name.partition("#")[0].rstrip("0123456789") for name in names)


def _common(mine: Sequence[NodeGroup], groups: Sequence[NodeGroup]) -> str:
    """Say in what all nodes with a finding differ from those without it."""
    if not mine or len(mine) == len(groups):
        return ""
    sets = [{(each.label, each.here, each.reference) for each in group.differs} for group in mine]
    shared = set.intersection(*sets)
    said = sorted(differs(label, here, there) for label, here, there in shared)
    return f"They have {', '.join(said[:_COMMON_SHOWN])}." if said else ""


def _in_a_sentence(hosts: Sequence[str]) -> str:
    """Return hosts by name where they are few: all of them stand with the finding."""
    nodes = compress(hosts)
    if len(nodes) <= _NODES_IN_A_SENTENCE:
        return nodes
    return f"{len(hosts)} nodes ({shortened(nodes, _NODES_IN_A_SENTENCE)})"


def shortened(nodes: str, room: int = _NODES_SHOWN) -> str:
    """Return the beginning of a list of hosts: whole names and numbers, ``n[104,201,...]``."""
    if len(nodes) <= room:
        return nodes
    kept = nodes[: nodes.rfind(",", 0, room - 4) + 1]
    if not kept:
        return f"{nodes[: room - 3]}..."
    return f"{kept}...{']' if kept.count('[') > kept.count(']') else ''}"
