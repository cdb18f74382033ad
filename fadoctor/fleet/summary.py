"""From what was gathered to the page: groups, the reference, who is silent, what is wrong where."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor import __version__
from fadoctor.fleet.compare import NONE, Agreements, differences
from fadoctor.fleet.content import SEVERITIES, Alike, Content
from fadoctor.fleet.gathered import badness, fullness, is_healthy
from fadoctor.fleet.hostlist import compress
from fadoctor.fleet.model import FleetReport, NodeGroup, Spoken, UnreadableNode, Value
from fadoctor.fleet.root_causes import findings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.fleet.gathered import AlikeNodes, Gathered
    from fadoctor.model.rule import Knowledge


class FleetRequest(NamedTuple):
    """What the command line says of a fleet."""

    expected: tuple[str, ...] | int | None = None
    """The nodes there should be, by name or by number."""
    baseline: Content | None = None
    baseline_name: str = ""
    group_by: str = ""


def summarise(gathered: Gathered, knowledge: Knowledge, asked: FleetRequest) -> FleetReport:
    """Return the page of a fleet."""
    agreements = Agreements(knowledge.tables["fleet-agreement"])
    members = [
        each._replace(content=_renamed(each.content, knowledge)) for each in _members(gathered)
    ]
    baseline = _renamed(asked.baseline, knowledge) if asked.baseline is not None else None
    reference = baseline or _reference(members)
    groups = _groups(members, reference, agreements, gathered)
    silent, silent_count, expected = _silent(gathered, asked)
    answered = len(gathered.nodes)
    healthy = sum(each.count for each in groups if each.healthy)
    notes = _notes(gathered, expected, answered)
    return FleetReport(
        fadoctor=__version__,
        expected=expected,
        answered=answered,
        healthy=healthy,
        alike=sum(each.count for each in groups if each.is_reference),
        findings=findings_of(members, groups, knowledge, agreements),
        groups=groups,
        silent=compress(silent),
        silent_count=silent_count,
        unreadable=tuple(UnreadableNode(*each) for each in gathered.unreadable),
        unreadable_count=gathered.unreadable_count,
        contradicting=compress(gathered.contradicting),
        spoke=_spoke(gathered),
        grouped_by=asked.group_by,
        values=tuple(_values(members, asked.group_by)) if asked.group_by else (),
        notes=notes,
        baseline=asked.baseline_name,
    )


def _renamed(content: Content, knowledge: Knowledge) -> Content:
    """Return what a node says, with the ids that rules have now: an older fadoctor wrote others."""
    ids = knowledge.current(each[2:] for each in content.f)
    found = {f"{each[:2]}{name}" for each, name in zip(content.f, ids, strict=True)}
    if found <= set(content.f):
        return content
    order = sorted(found, key=lambda each: ("ewn".find(each[:1]), each))
    return msgspec.structs.replace(content, f=tuple(order))


def _members(gathered: Gathered) -> list[Alike]:
    """Return the nodes by what they say; records that only dropped more are together."""
    names: dict[AlikeNodes, list[str]] = defaultdict(list)
    for name, group in gathered.nodes.items():
        names[group].append(name)
    merged: dict[tuple[object, ...], Alike] = {}
    for group, nodes in names.items():
        content = group.content
        key = (content.d, content.x, content.w, content.p) if content.d else (id(group),)
        known = merged.get(key)
        if known is None:
            merged[key] = Alike(content, nodes)
        else:
            known.nodes.extend(nodes)
            if fullness(content) > fullness(known.content):
                merged[key] = known._replace(content=content)
    return list(merged.values())


def _reference(members: Sequence[Alike]) -> Content | None:
    """Return what most nodes say; of two that are as many, the better one."""
    reports = [each for each in members if each.content.is_report]
    if not reports:
        return None
    return min(
        reports, key=lambda each: (-len(each.nodes), badness(each.content), min(each.nodes))
    ).content


def _groups(
    members: Sequence[Alike], reference: Content | None, agreements: Agreements, gathered: Gathered
) -> tuple[NodeGroup, ...]:
    found = []
    for each in members:
        content = each.content
        differs = (
            differences(reference, content, agreements)
            if reference is not None and content.is_report and content is not reference
            else ()
        )
        told = [name for name in each.nodes if name in gathered.contradicting]
        rest = (
            [name for name in each.nodes if name not in gathered.contradicting]
            if told
            else each.nodes
        )
        alike = reference is not None and content.is_report and not differs
        for nodes, is_one in ((rest, True), (told, False)):
            if nodes:
                group = _group(nodes, content, alike=alike and _same_end(reference, content))
                fine = group.healthy and is_one
                found.append(msgspec.structs.replace(group, differs=differs, healthy=fine))
    return tuple(sorted(found, key=lambda each: (not each.is_reference, -each.count, each.nodes)))


def _same_end(reference: Content | None, content: Content) -> bool:
    return reference is not None and (reference.x, reference.f) == (content.x, content.f)


def _group(nodes: list[str], content: Content, *, alike: bool) -> NodeGroup:
    severities = {letter: severity.value for letter, severity in SEVERITIES.items()}
    return NodeGroup(
        nodes=compress(nodes),
        count=len(nodes),
        is_reference=alike,
        healthy=is_healthy(content),
        exit_code=content.x,
        worst=severities.get(content.w, ""),
        findings=tuple(f"{severities.get(each[:1], '?')} {each[2:]}" for each in content.f),
        problem=content.p,
        differs=(),
        dropped=tuple(content.o),
    )


def _silent(gathered: Gathered, asked: FleetRequest) -> tuple[set[str], int, int | None]:
    """Return who is silent, as far as names are known, how many, and how many are expected."""
    nodes = gathered.nodes
    shared = {name.partition("#")[0] for name in nodes if "#" in name}
    silent: set[str] = set()
    count = 0
    wanted = asked.expected
    for name in wanted if isinstance(wanted, tuple) else gathered.names():
        count += 1
        if name not in nodes and name not in shared:
            silent.add(name)
    if isinstance(wanted, int):
        expected: int | None = wanted
        if count > wanted:  # the lists of the records are of more than was asked for
            silent.clear()
    elif isinstance(wanted, tuple):
        expected = count
    else:
        lists = len(gathered.hostlists)
        expected = max(gathered.expected, count if lists == 1 else 0) or None
    # A task that is not the first of its node has spoken, the first one has not.
    silent |= {name for name in gathered.seconds if name not in nodes and name not in shared}
    return silent, max(len(silent), (expected or 0) - len(nodes)), expected


def _spoke(gathered: Gathered) -> tuple[Spoken, ...]:
    """Return who printed something and no record."""
    return tuple(
        Spoken(who, text)
        for who, text in sorted(gathered.spoke.items())
        if who not in gathered.ranks and who not in gathered.nodes
    )[:100]


def _values(members: Iterable[Alike], key: str) -> Iterable[Value]:
    section, _, name = key.partition(".")
    found: dict[str, list[str]] = defaultdict(list)
    for each in members:
        content = each.content
        if not content.is_report or section in content.o:
            value = "not said"
        else:
            value = content.t.get(section, {}).get(name, NONE)
        found[value].extend(each.nodes)
    for value, nodes in sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield Value(value, compress(nodes), len(nodes))


def _notes(gathered: Gathered, expected: int | None, answered: int) -> tuple[str, ...]:
    notes = []
    if expected is None and answered:
        notes.append(
            "The expected number of nodes is unknown, so missing nodes cannot be named:"
            " add --expect N or --expect 'n[1-16]'."
        )
    if expected is not None and answered > expected:
        notes.append(f"{answered} nodes answered where {expected} were expected.")
    if gathered.contradicting:
        notes.append(
            "Some nodes sent different records: the worse one counts, and they are not healthy."
        )
    return tuple(notes)
