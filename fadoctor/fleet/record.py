"""The record of a node: one line of at most 1,000 bytes.

What does not fit is dropped in a fixed order: first steps, then a section after the other. ``o``
names the sections with their digests. The digest of everything, the counts and the worst severity
always stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.fleet.content import FINDINGS, SECOND, Content, digest_of
from fadoctor.fleet.envelope import HEAD_LENGTH, LINE_LIMIT, seal
from fadoctor.model.typed import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.fleet.identity import NodeIdentity

DROPPED_FIRST = (
    "by", "tool", "lib", "env", "nv", "sys", "bin", "torch", "py", "pkg", "gpu",
)  # fmt: skip
"""The order in which sections go that do not fit; then findings, the least severe ones first."""
_ROOM = LINE_LIMIT - HEAD_LENGTH - 1
SEPARATOR = b"|"


def record_line(node: NodeIdentity, content: Content) -> bytes:
    """Return the record of a node, with its line end."""
    return seal(payload_of(node, content))


def second_line(node: NodeIdentity) -> bytes:
    """Return the record of a task whose node is reported by its first one."""
    return record_line(node, SECOND)


def payload_of(node: NodeIdentity, content: Content) -> bytes:
    """Return what a record carries: who, and what is the case there."""
    if node.h and len(_ascii(node)) > _ROOM // 3:
        node = msgspec.structs.replace(node, h="")
    who = _ascii(node) + SEPARATOR
    for smaller in _smaller(content):
        payload = who + _ascii(smaller)
        if len(payload) <= _ROOM:
            return payload
    # Only a problem's sentence can still be too long: each of its characters may take six.
    least = msgspec.structs.replace(content, t={}, f=(), p=content.p[:20])
    return who + _ascii(least)


def _smaller(content: Content) -> Iterator[Content]:
    """Yield a content, then with less and less of it."""
    yield content
    content = msgspec.structs.replace(content, a={})
    yield content
    tree, dropped = dict(content.t), dict(content.o)
    for section in DROPPED_FIRST:
        if section in tree:
            dropped[section] = digest_of(tree.pop(section))
            yield msgspec.structs.replace(content, t=dict(tree), o=dict(dropped))
    if content.f:
        dropped[FINDINGS] = digest_of(content.f)
    for kept in range(len(content.f) - 1, -1, -1):
        yield msgspec.structs.replace(content, t={}, o=dropped, f=content.f[:kept])


def _ascii(what: NodeIdentity | Content) -> bytes:
    """Return JSON in ASCII, without ``@``, which is the mark's."""
    data = encode(what)
    if not data.isascii():
        data = b"".join(
            bytes((unit,)) if unit < 128 else b"?"
            for unit in data.decode(errors="replace").encode("ascii", "replace")
        )
    return data.replace(b"@", b"\\u0040")
