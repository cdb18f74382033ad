"""Tables of several releases in one file: what two share is written once."""

from __future__ import annotations

import json
import lzma
from typing import TYPE_CHECKING

from fadoctor.sources.import_names.child._fadoctor_thin import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

Lines = dict[str, bytes]
"""Digest -> JSON, in the order of the files."""

SHARED = 0.4
"""Part of a release's bytes that another has, so that it is worth to open that one first."""


def packed(releases: Mapping[str, Lines]) -> bytes:
    """Return the file of a distribution; `releases` is newest first."""
    whole: dict[int, Lines] = {}
    streams: list[bytes] = []
    needs: dict[str, list[int]] = {}
    for version, lines in releases.items():
        base = _nearest(lines, whole)
        own = {key: line for key, line in lines.items() if key not in whole.get(base, {})}
        needs[version] = [base] if base >= 0 else []
        if own:
            needs[version].append(len(streams))
            if base < 0:
                whole[len(streams)] = own
            streams.append(_stream(own))
    layers, at = [], 0
    for stream in streams:
        layers.append([at, len(stream)])
        at += len(stream)
    head = {"form": VERSION, "releases": needs, "layers": layers}
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + b"".join(streams)


def _nearest(lines: Lines, whole: Mapping[int, Lines]) -> int:
    """Return the layer that shares most with a release; -1 where that is not much."""
    size = sum(map(len, lines.values())) or 1
    shared = {
        number: sum(len(line) for key, line in lines.items() if key in there)
        for number, there in whole.items()
    }
    best = max(shared, key=lambda number: shared[number], default=-1)
    return best if best >= 0 and shared[best] / size >= SHARED else -1


def _stream(lines: Lines) -> bytes:
    text = b"\n".join(key.encode() + b" " + line for key, line in lines.items())
    # A dictionary of the size of the text: readers and writers make room for all of it.
    size = max(1 << 16, len(text))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": size}]
    return lzma.compress(text, check=lzma.CHECK_CRC32, filters=filters)
