"""Full reports of nodes: of ``check --format json`` and ``jsonl``, plain or signed by a node."""

# A circle with `content` by a type alone: a report becomes a content, and `content` takes the
# outcome of a check from a report.

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.fleet.content import CheckOutcome, Content, content_of
from fadoctor.fleet.documents import sum_of
from fadoctor.fleet.identity import UNREADABLE, NodeIdentity, plain_name
from fadoctor.model.fact import Fact
from fadoctor.model.finding import Finding, Severity
from fadoctor.model.report import RulesInfo, Summary
from fadoctor.model.typed import encode
from fadoctor.model.verdict import Verdict

if TYPE_CHECKING:
    from fadoctor.fleet.gathered import Gathered

_OURS = (b'"schema_version"', b'"fadoctor"', b'"fleet"', b'"kind":"')
_LINES_LIMIT = 32 << 20
"""Bytes of the longest report in lines."""
_KINDS = frozenset({"fact", "finding", "unknown", "verdict", "rule_error"})


class _Signature(msgspec.Struct):
    """Who signed a report, and what its record says; the rest is not even read."""

    node: NodeIdentity | None = None
    fleet: Content | None = None
    sum: str = ""
    fadoctor: str = ""


class Plain(msgspec.Struct):
    """What counts in a report that nobody signed."""

    fadoctor: str
    rules: RulesInfo
    environment: dict[str, Fact]
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    summary: Summary
    rule_errors: tuple[Any, ...] = ()


class _Head(msgspec.Struct):
    """The first of the lines of a report."""

    kind: str
    lines: int | None = None


_SIGNATURE = msgspec.json.Decoder(_Signature)
_PLAIN = msgspec.json.Decoder(Plain)
_HEAD = msgspec.json.Decoder(_Head)


def is_document(text: bytes) -> bool:
    """Return whether a text looks as if fadoctor had written it."""
    return any(word in text for word in _OURS)


def add_document(text: bytes, gathered: Gathered, name: str) -> str:
    """Take a report; return what is wrong with it, "" where nothing is.

    `name` is that of the node where the report does not tell.
    """
    try:
        signature = _SIGNATURE.decode(text)
        if signature.node is not None and signature.fleet is not None:
            if signature.sum != sum_of(signature.node, signature.fleet):
                return "a report is damaged: its checksum is wrong"
            gathered.add(signature.node, signature.fleet)
            return ""
        if signature.node is not None or signature.fleet is not None or signature.sum:
            return "a report is damaged: a part of its signature is missing"
        plain = _PLAIN.decode(text)
    except UNREADABLE:
        return "a report is cut, damaged, or of another kind"
    gathered.add(NodeIdentity(plain_name(PurePath(name).stem) or "?"), _content(plain))
    return ""


def _content(plain: Plain) -> Content:
    has_error = any(each.severity is Severity.ERROR for each in plain.findings)
    code = 4 if plain.rule_errors else int(bool(plain.summary.error) or has_error)
    return content_of(CheckOutcome.of(plain, code), plain.environment)


class ReportLines:
    """A report as lines of JSON: its head, then what it counts."""

    def __init__(self, head: dict[str, Any], count: int | None) -> None:
        """Take the head, and how many lines it announces."""
        self._head, self._count = head, count
        self._parts: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}
        self._taken = self._size = 0

    @classmethod
    def start(cls, text: bytes) -> ReportLines | None:
        """Return the lines that begin with this one; None where it begins none."""
        try:
            head = _HEAD.decode(text)
            if head.kind != "report":
                return None
            return cls(msgspec.json.decode(text), head.lines)
        except UNREADABLE:
            return None

    def take(self, text: bytes) -> bool:
        """Take one line more; return whether it belongs to this report."""
        try:
            part = msgspec.json.decode(text)
        except UNREADABLE:
            return False
        kind = part.get("kind") if isinstance(part, dict) else None
        self._size += len(text)
        if kind not in _KINDS or self._size > _LINES_LIMIT:
            return False
        self._taken += 1
        self._parts[kind].append(part)
        return True

    def close(self, gathered: Gathered, name: str) -> str:
        """Take the report; return what is wrong with it."""
        if self._count is None:
            return "a report in lines does not tell how many there are: it may be cut"
        if self._taken != self._count:
            return f"a report has {self._taken} of {self._count} lines"
        parts = self._parts
        whole = {
            **self._head,
            "environment": {str(part.get("name")): part for part in parts["fact"]},
            "findings": parts["finding"],
            "verdicts": parts["verdict"],
            "rule_errors": parts["rule_error"],
        }
        try:
            return add_document(encode(whole), gathered, name)
        except msgspec.MsgspecError:
            return "a report in lines cannot be understood"
