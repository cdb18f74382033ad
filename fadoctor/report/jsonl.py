"""JSON lines: a document taken apart, so that tools read it as a stream.

The first line is the document without its lists; then comes a line for each of their elements.
`kind` says which: ``finding``, ``verdict``, ``cell``, ``action`` ... The first one's `lines` is how
many others there are: who reads them knows whether the stream was cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.typed import encode
from fadoctor.report.json_ import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = {
    "environment": "fact",
    "findings": "finding",
    "unknown": "unknown",
    "verdicts": "verdict",
    "cells": "cell",
    "checks": "check",
    "actions": "action",
    "changes": "change",
    "conflicts": "conflict",
    "edits": "edit",
    "rule_errors": "rule_error",
    "groups": "group",
}


def render(document: Any) -> str:
    """Return the lines: `document` is a report, an explanation, a smoke report or a plan."""
    return "".join(f"{visible(encode(line).decode())}\n" for line in _lines(document))


def _lines(document: Any) -> Iterator[dict[str, Any]]:
    plain = msgspec.to_builtins(document)
    taken = {name: plain.pop(name) for name in list(plain) if name in _KINDS and plain[name]}
    count = sum(len(elements) for elements in taken.values())
    yield {"kind": type(document).__name__.lower(), "lines": count, **plain}
    for name, elements in taken.items():
        for element in _each(elements):
            yield {"kind": _KINDS[name], **_without_kind(element)}


def _each(elements: Any) -> list[dict[str, Any]]:
    """Return the elements of a list, or those of a mapping with their keys as names."""
    if isinstance(elements, dict):
        return [{"name": key, **value} for key, value in elements.items()]
    return list(elements)


def _without_kind(element: dict[str, Any]) -> dict[str, Any]:
    """Return an element whose own `kind`, where it has one, is called `does`."""
    return {("does" if key == "kind" else key): value for key, value in element.items()}
