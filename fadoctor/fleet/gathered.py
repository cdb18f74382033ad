"""What came of a fleet, kept small: equal nodes share one content, a node costs its name."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.fleet.content import Content
from fadoctor.fleet.hostlist import MOST_HOSTS, HostlistError, named
from fadoctor.fleet.identity import UNREADABLE, NodeIdentity
from fadoctor.model.fact import printable
from fadoctor.model.typed import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN, _TEXT_LIMIT = 1_000, 120
"""How much of what cannot be read is kept, to be looked at; all of it is counted."""
_MOST_SPEAKERS = 20_000
_WORST = "n w e"

NODE = msgspec.json.Decoder(NodeIdentity)
_CONTENT = msgspec.json.Decoder(Content)


class AlikeNodes:
    """Nodes that say the same."""

    __slots__ = ("content", "count")

    def __init__(self, content: Content) -> None:
        self.content, self.count = content, 0


class Unreadable(NamedTuple):
    """A record, or a report, that came and cannot be understood."""

    where: str
    node: str
    """Which node it may be from; "" where nothing tells."""
    problem: str
    text: str = ""


class Gathered:
    """All that was read of a fleet."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.nodes: dict[str, AlikeNodes] = {}
        self.groups: dict[bytes, AlikeNodes] = {}
        self.contradicting: set[str] = set()
        self.unreadable: list[Unreadable] = []
        self.unreadable_count = 0
        self.seconds: set[str] = set()
        self.expected = 0
        self.hostlists: set[str] = set()
        self.spoke: dict[str, str] = {}
        """Who printed something that is no record, by the prefix of its lines -> the last of it."""
        self.ranks: set[str] = set()
        """Who printed a record, by the same prefix; only where there is one."""

    def add_raw(self, who: bytes, what: bytes) -> bool:
        """Take a record as it came; return whether it can be understood."""
        group = self.groups.get(what)
        try:
            node = NODE.decode(who)
            if group is None:
                group = self.groups[what] = AlikeNodes(_CONTENT.decode(what))
        except UNREADABLE:
            return False
        self._add(node, group)
        return True

    def add(self, node: NodeIdentity, content: Content) -> None:
        """Take what a node says."""
        raw = encode(content)
        group = self.groups.get(raw)
        if group is None:
            group = self.groups[raw] = AlikeNodes(content)
        self._add(node, group)

    def _add(self, node: NodeIdentity, group: AlikeNodes) -> None:
        if node.e and node.e > self.expected:
            self.expected = node.e
        if node.H and len(self.hostlists) < _SHOWN:
            self.hostlists.add(node.H)
        if group.content.s:
            self.seconds.add(node.n)
            return
        key = node.key
        before = self.nodes.get(key)
        if before is None:
            self.nodes[key] = group
            group.count += 1
        elif before is not group:
            self._add_again(key, before, group)

    def _add_again(self, key: str, before: AlikeNodes, group: AlikeNodes) -> None:
        """Choose for a node that says two things: of the same the fuller one, else the worse."""
        old, new = before.content, group.content
        if old.d == new.d:
            better = fullness(new) > fullness(old)
        else:
            self.contradicting.add(key)
            better = badness(new) > badness(old)
        if better:
            before.count -= 1
            group.count += 1
            self.nodes[key] = group

    def damaged(self, where: str, problem: str, node: str = "", text: str = "") -> None:
        """Take note of what cannot be read."""
        self.unreadable_count += 1
        if len(self.unreadable) < _SHOWN:
            shown = printable(text, _TEXT_LIMIT)
            self.unreadable.append(Unreadable(where, printable(node, 80), problem, shown))

    def spoken(self, prefix: str, text: str) -> None:
        """Take note of who prints something else."""
        if text and (prefix in self.spoke or len(self.spoke) < _MOST_SPEAKERS):
            self.spoke[prefix] = printable(text, _TEXT_LIMIT)

    def names(self) -> Iterator[str]:
        """Yield the nodes that may have been expected, by every list of hosts that came."""
        count = 0
        for text in sorted(self.hostlists):
            with suppress(HostlistError):
                for name in named(text):
                    count += 1
                    yield name
            if count > MOST_HOSTS:
                return


def fullness(content: Content) -> tuple[int, int]:
    """Return how much of what a node says is still there, to be compared."""
    return -len(content.o), len(content.a)


def badness(content: Content) -> tuple[bool, bool, int]:
    """Return how bad what a node says is, to be compared."""
    return bool(content.p), content.x != 0, _WORST.find(content.w) if content.w else -1


def is_healthy(content: Content) -> bool:
    """Return whether somebody looked at the node and found nothing that fails."""
    return content.is_report and content.x == 0 and content.w != "e"
