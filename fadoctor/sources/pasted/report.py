"""What the lines of a text state, as claims: by readers of tools, or of single lines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fadoctor.sources.pasted import READERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fadoctor.sources.pasted.claims import Claim, PastedLine


def claims_in(
    lines: Sequence[PastedLine], readers: Mapping[str, tuple[str, ...]] = READERS
) -> list[Claim]:
    """Return what the reports of known tools among some lines say; most lines have none."""
    text = "\n".join(line.text for line in lines)
    return [
        claim
        for reader, marks in readers.items()
        if any(mark in text for mark in marks)
        for claim in import_module(reader).read(lines)
    ]
