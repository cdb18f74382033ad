"""A fleet without names: nodes become n1, n2 ..., and texts lose what identifies somebody."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.fleet.gathered import AlikeNodes, Gathered, Unreadable
from fadoctor.syntax.credentials.hiding import hide_credentials
from fadoctor.syntax.identities import hide_identities, hide_names, identities_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.fleet.content import Content
    from fadoctor.fleet.summary import FleetRequest
    from fadoctor.syntax.identities import Identities

_NUMBERS = re.compile(r"([0-9]+)")
_HOMES = re.compile(r"(/(?:home|Users|root|scratch|users)/?)[^/\s:'\"~]*")


def renamed(gathered: Gathered, asked: FleetRequest) -> tuple[Gathered, FleetRequest]:
    """Return the same fleet with other names, in the order of the old ones."""
    expected = asked.expected if isinstance(asked.expected, tuple) else tuple(gathered.names())
    known = {*gathered.nodes, *gathered.seconds}
    shared = {name.partition("#")[0] for name in gathered.nodes if "#" in name}
    every = sorted({*known, *(set(expected) - shared)}, key=_order)
    names = {name: f"n{number}" for number, name in enumerate(every, 1)}
    found = Gathered()
    told = _told(set(gathered.nodes.values()))
    groups = {
        group: AlikeNodes(_clean(group.content, told)) for group in set(gathered.nodes.values())
    }
    found.nodes = {names[name]: groups[group] for name, group in gathered.nodes.items()}
    found.contradicting = {names[name] for name in gathered.contradicting}
    found.seconds = {names[name] for name in gathered.seconds}
    found.expected = max(gathered.expected, len(expected))
    found.unreadable = [
        Unreadable("a source", names.get(each.node, ""), each.problem)
        for each in gathered.unreadable
    ]
    found.unreadable_count = gathered.unreadable_count
    silent = tuple(names.get(name, name) for name in expected if name not in shared)
    by_name = isinstance(asked.expected, tuple) or bool(silent)
    baseline = "the baseline" if asked.baseline_name else ""
    content = _clean(asked.baseline, told) if asked.baseline is not None else None
    asked = asked._replace(baseline_name=baseline, baseline=content)
    return found, asked._replace(expected=silent) if by_name and not shared else asked


def _order(name: str) -> list[tuple[int, str]]:
    """Return the order in which people count: n2 before n10."""
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in _NUMBERS.split(name) if p]


def _told(groups: Collection[AlikeNodes]) -> Identities:
    """Return the names of people and hosts that the nodes tell."""
    texts = [
        text
        for group in groups
        for keys in (*group.content.t.values(), group.content.a)
        for text in keys.values()
    ]
    return identities_in("\n".join(dict.fromkeys(texts)))


def _clean(content: Content, told: Identities) -> Content:
    """Return what a node says without folders of people, images and reasons."""
    tree = {
        section: {key: _plain(text, told) for key, text in keys.items() if key != "image"}
        for section, keys in content.t.items()
    }
    problem = "the reason is left out" if content.p else ""
    steps = {rule_id: _plain(text, told) for rule_id, text in content.a.items()}
    return msgspec.structs.replace(content, t=tree, p=problem, a=steps)


def _plain(text: str, told: Identities) -> str:
    plain = hide_identities(hide_credentials(text))
    return _HOMES.sub(r"\1~", hide_names(told, plain))
