"""What a configuration of DeepSpeed that stands in a text asks for: its precision alone.

A text rarely holds a whole run, so that what it does not say stays Unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError
from fadoctor.model.fact import Fact, Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.sources.pasted.claims import PastedLine

PRECISION, DTYPE = "config.deepspeed_precision", "config.dtype"
HALF = ("bf16", "fp16")

LINES_LIMIT = 200
"""Most lines of one such file: they have about fifty."""

_MARKS = ("bf16", "bfloat16", "fp16")


def settings_in(lines: Sequence[PastedLine], name: str) -> dict[str, Fact]:
    """Return the dtype that DeepSpeed's JSON in a text asks for; none where two files differ."""
    if not any(mark in line.text for line in lines for mark in _MARKS):
        return {}
    asked = [(value, line) for block in _blocks(lines) for value, line in _asked(block, name)]
    if len({value for value, _ in asked}) != 1:
        return {}
    value, line = asked[0]
    return {DTYPE: Known(value, f"{name}:{line}: DeepSpeed's configuration")}


def _blocks(lines: Sequence[PastedLine]) -> Iterator[list[PastedLine]]:
    """Yield runs of lines from one that opens a brace to the one that closes it."""
    block: list[PastedLine] = []
    depth = 0
    for line in lines:
        text = line.text
        if not block and not text.lstrip().startswith("{"):
            continue
        block.append(line)
        depth += text.count("{") - text.count("}")
        if depth <= 0 or len(block) > LINES_LIMIT:
            if depth == 0:
                yield block
            block, depth = [], 0


def _asked(block: Sequence[PastedLine], name: str) -> Iterator[tuple[str, int]]:
    """Yield the half precision that a block surely enables, and its line."""
    # Late: few texts hold such a file.
    from fadoctor.sources.configs import deepspeed  # noqa: PLC0415
    from fadoctor.sources.configs.source import Source  # noqa: PLC0415

    source = Source(name, "\n".join(line.text for line in block))
    try:
        intents = deepspeed.read(source).intents if deepspeed.recognises(source) else ()
    except InputError:
        return
    for each in intents:
        if each.name == PRECISION and each.value in HALF:
            yield str(each.value), block[0].number
