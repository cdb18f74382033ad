"""Read what nodes wrote: records, pieces and reports, in any mixture and with any prefixes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

from fadoctor.fleet.envelope import MARK, Damaged, opened
from fadoctor.fleet.frames import Assembly, BrokenFrames, Whole
from fadoctor.fleet.gathered import NODE
from fadoctor.fleet.identity import UNREADABLE
from fadoctor.fleet.record import SEPARATOR
from fadoctor.fleet.reports import ReportLines, add_document, is_document
from fadoctor.fleet.source import LineSource
from fadoctor.syntax.credentials.hiding import hide_credentials

if TYPE_CHECKING:
    from fadoctor.fleet.gathered import Gathered

_PREFIX = re.compile(
    rb"(?:\s{0,8}[0-9]{1,9}: |\[[0-9]{1,9},[0-9]{1,9}\]<std(?:out|err)>:|[\w.\-]{1,80}: )?"
)
"""What launchers put before each line: srun -l, mpirun --tag-output, pdsh and clush."""
_NAME = re.compile(rb'"n":"([^"\\]{1,64})"')
_DOCUMENTS_KEPT = 64 << 20
"""Bytes of reports over several lines that wait for their end."""
_LINE_COST = 48
"""Bytes that a line costs beside its own, also an empty one."""
_REPORTS_OPEN = 20_000
"""Reports over several lines that come at once, each line with the prefix of its node."""


class Intake:
    """Takes lines, from one source after the other."""

    def __init__(self, gathered: Gathered) -> None:
        """Take where to put what is found."""
        self.gathered = gathered
        self.found = 0
        """How much of fadoctor's was found, readable or not."""
        self._hint = ""
        self._pieces = Assembly()
        self._open: dict[bytes, list[bytes]] = {}
        self._open_size = 0
        self._lines: dict[bytes, ReportLines] = {}

    def read(self, stream: BinaryIO, name: str, node: str = "") -> None:
        """Read a stream to its end.

        `name` is how it is called in what is said; `node` whose it is where nothing else tells.
        """
        number = 0
        self._hint = node
        source = LineSource(stream)
        while line := source.line():
            number += 1
            if MARK in line:
                self._marked(line, f"{name}:{number}")
            elif line == b"{\n" and b"" not in self._open and (rest := source.rest_of_report()):
                if self._is_report(line + rest, name):
                    number += rest.count(b"\n")
                else:
                    source.put_back(rest)
                    self._plain(line, f"{name}:{number}")
            else:
                self._plain(line, f"{name}:{number}")
        self._end(name)

    def _is_report(self, text: bytes, name: str) -> bool:
        """Take a whole report over many lines at once: ten times as fast as line by line."""
        if MARK in text or add_document(text, self.gathered, name):
            return False
        self.found += 1
        return True

    def finish(self) -> None:
        """Say what never became whole."""
        for broken in self._pieces.rest():
            self._broken(broken, "pieces")

    def _marked(self, line: bytes, where: str) -> None:
        self.found += 1
        prefix = line[: line.find(MARK)]
        for payload in opened(line):
            if isinstance(payload, Damaged):
                name = _NAME.search(payload.text)
                node = name[1].decode("ascii", "replace") if name else self._hint
                text = payload.text[:200].decode("ascii", "replace")
                self.gathered.damaged(where, "a record is cut or damaged", node, text)
            elif not self._payload(payload, where):
                self.gathered.damaged(where, "a record is of another version of fadoctor")
            elif prefix:
                self.gathered.ranks.add(_named(prefix))

    def _payload(self, payload: bytes, where: str) -> bool:
        who, _, what = payload.partition(SEPARATOR)
        if not what.startswith(b"+"):
            return self.gathered.add_raw(who, what)
        try:
            node = NODE.decode(who)
        except UNREADABLE:
            return False
        done = self._pieces.add(node.key, what)
        if isinstance(done, BrokenFrames):
            self._broken(done, where)
        elif isinstance(done, Whole):
            problem = add_document(done.document, self.gathered, node.key)
            if problem:
                self.gathered.damaged(where, problem, node.key)
        return True

    def _broken(self, broken: BrokenFrames, where: str) -> None:
        self.gathered.damaged(where, broken.problem, broken.node)

    def _plain(self, line: bytes, where: str) -> None:
        """Take a line without a mark: a part of a report, or what somebody else prints."""
        match = _PREFIX.match(line)
        prefix = match[0] if match else b""
        rest = line[len(prefix) :].rstrip(b"\r\n")
        if prefix in self._open:
            self._go_on(prefix, rest, where)
        elif rest == b"{" and len(self._open) < _REPORTS_OPEN:
            self._open[prefix] = [rest]
        elif rest.startswith(b'{"') and is_document(rest):
            self.found += 1
            self._document(prefix, rest, where)
        elif prefix:
            self.gathered.spoken(_named(prefix), _said(line, prefix)[:200])

    def _go_on(self, prefix: bytes, rest: bytes, where: str) -> None:
        """Take one more line of a report that is written over several."""
        self._open[prefix].append(rest)
        self._open_size += len(rest) + _LINE_COST
        if rest != b"}" and self._open_size < _DOCUMENTS_KEPT:
            return
        lines = self._open.pop(prefix)
        self._open_size -= min(self._open_size, sum(map(len, lines)) + len(lines) * _LINE_COST)
        text = b"\n".join(lines)
        if is_document(text):
            self.found += 1
            self._whole(prefix, text, where)

    def _document(self, prefix: bytes, text: bytes, where: str) -> None:
        lines = self._lines.get(prefix)
        if lines is not None and lines.take(text):
            return
        if lines is not None:
            self._close(prefix, where)
        started = ReportLines.start(text)
        if started is None:
            self._whole(prefix, text, where)
        else:
            self._lines[prefix] = started

    def _whole(self, prefix: bytes, text: bytes, where: str) -> None:
        name = _named(prefix) or where.rpartition(":")[0]
        problem = add_document(text, self.gathered, name)
        if problem:
            shown, by = text[:200].decode("utf-8", "replace"), _NAME.search(text[:400])
            node = by[1].decode("ascii", "replace") if by else _named(prefix)
            node = node or self._hint
            self.gathered.damaged(where, problem, node, shown)

    def _close(self, prefix: bytes, where: str) -> None:
        name = _named(prefix) or where.rpartition(":")[0]
        problem = self._lines.pop(prefix).close(self.gathered, name)
        if problem:
            self.gathered.damaged(where, problem, _named(prefix) or self._hint)

    def _end(self, name: str) -> None:
        """Close what the end of a source leaves open."""
        for prefix in list(self._lines):
            self._close(prefix, f"{name}:end")
        for prefix, lines in self._open.items():
            if is_document(b"\n".join(lines[:20])):
                self.found += 1
                self.gathered.damaged(
                    f"{name}:end", "a report is cut", _named(prefix) or self._hint
                )
        self._open.clear()
        self._open_size = 0


def _said(line: bytes, prefix: bytes) -> str:
    """Return what a line says behind its prefix, without credentials: either may tell of one."""
    begun = prefix.decode("utf-8", "replace")
    text = hide_credentials(line[:2_000].decode("utf-8", "replace").rstrip("\r\n"))
    return text.removeprefix(begun)


def _named(prefix: bytes) -> str:
    """Return who a prefix names: ``7`` of ``7: ``, ``n07`` of ``n07: ``."""
    return prefix.decode("ascii", "replace").strip(" :")[-80:]
