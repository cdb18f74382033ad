"""A full report of a node: that of ``check``, with who made it and what its record would say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.fleet.content import Content, digest_of
from fadoctor.fleet.identity import NodeIdentity, plain_name
from fadoctor.model.typed import encode

if TYPE_CHECKING:
    from fadoctor.model.report import Report

_NAMES_LIMIT = 80


class Signed(msgspec.Struct, frozen=True):
    """What a full report of a node says before all else."""

    node: NodeIdentity
    fleet: Content
    sum: str
    """A digest of both: JSON alone does not show that a letter of it was changed."""


def document_of(node: NodeIdentity, content: Content, report: Report | None) -> bytes:
    """Return a node's report as JSON in one line; without one where the check could not be done.

    It is the report of ``check --format json`` with two keys more.
    """
    signed = encode(Signed(node, content, sum_of(node, content)))
    if report is None:
        return signed
    return signed[:-1] + b"," + encode(report)[1:]


def sum_of(node: NodeIdentity, content: Content) -> str:
    """Return the digest of what a node signs."""
    return digest_of((node, content))


def file_name(node: NodeIdentity) -> str:
    """Return the name of a node's file: no folder, nothing hidden, each node another one."""
    safe = "".join(char if char.isalnum() or char in "._-#" else "_" for char in node.key)
    return f"{plain_name(safe, _NAMES_LIMIT).lstrip('.') or 'node'}.json"
