"""Lines of a paste put together again that a mail, a chat or a narrow terminal has wrapped.

Readers of reports look at one line at a time: a GPU's name that is cut at the wrap is another one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.pasted.cleaning import is_fence
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.sources.logs.cleaning import Line

NARROWEST, WIDEST = 50, 132
"""Columns that people wrap at; what has a longer line was not wrapped."""

SEVERAL = 2
"""Joints that show where the margin is; of one alone, the line itself must be unfinished."""

MANY = 3
"""Joints that make the margin sure, though one of them is at the widest line of all."""

STAMP = 4
"""Most columns of a quotation's mark; a wider prefix begins a line of its own."""

# - a bullet, $ a command, >>> a prompt, | a row, [pip3] torch==2.6.0, File "...", line 3, ## a head
_BEGINS = compiled(
    r"\s{2}|-{3}|[=_*~#+]{2}|[-*\u2022+] |[|#$\u276f\u2570\u251c] ?|>>>|\d{1,2}[.)] "
    r"|\[\w{1,12}\]|File \"|Traceback|GPU[ \[]\d"
    r"|In ?\[|Out\[|[\w.-]{2,60}==\d|[\w.@-]{1,60}[:~\w/]{0,80}[$#] |[({\[]?base\) |\(\w{2,30}\) \S"
    r"|(?:CUDA_|HF_|export |set |pip |python |uv )|\S{1,60}(?: \S{1,40}){0,3}(?:\s{3}| \.{3,})"
)
_KEY = compiled(r"(?:[A-Za-z`*\"'][\w `*\"'().?/-]{0,48}|[A-Za-z]\S{2,60})(?::(?:\s|$)| ?= ?\S)")
# CUDA Version: | NVIDIA GeForce RTX | (main, Dec | with-
_UNFINISHED = compiled(
    r"\w-$|[,(\[{=:]$|\b(?:RTX|GTX|GeForce|NVIDIA|AMD|Radeon|Instinct|Tesla|Quadro|Ada|Laptop"
    r"|[Vv]ersion|and|or|the|an?|of|to|for|with|on|in|at|is|are|was|by|from|that|as|but|not)$"
)
# library=cuda compute=8.9 driver=12.3
_PAIRS = compiled(r"\w{2,30}=\S{1,80} \w{2,30}=")
_HYPHEN = compiled(r"\w-$")
# Scripts without spaces break at any sign: such a sentence is no long word.
_WORD = compiled(r"[!-~\xa1-\u2fff\uac00-\ud7af]{1,400}|\S")
_EDGES = "|+"


def unwrapped(lines: Sequence[Line]) -> list[Line]:
    """Return lines with those put together that were one; nearly always the lines themselves."""
    if not lines:
        return []
    joints = {
        at: joint for first, last in _blocks(lines) for at, joint in _joints(lines, first, last)
    }
    if not joints:
        return [*lines]
    whole: list[Line] = []
    for at, line in enumerate(lines):
        joint = joints.get(at)
        if joint is None:
            whole.append(line)
        else:
            text = f"{whole[-1].text}{joint}{line.text}"
            whole[-1] = msgspec.structs.replace(whole[-1], text=text)
    return whole


def _blocks(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield where the parts begin and end that fences separate: each has its own margin."""
    first = 0
    for at, line in enumerate(lines):
        if "```" in line.text and is_fence(line.text):
            yield first, at
            first = at + 1
    yield first, len(lines)


def _joints(lines: Sequence[Line], first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a part that go on the one before, and what stands between the two."""
    width = max((line.width for line in lines[first:last]), default=0)
    if not NARROWEST <= width <= WIDEST:
        return
    rows: list[int] = []
    plain: list[int] = []
    pairs = pairwise(lines[first:last])
    for at, (line, other) in enumerate(pairs, first + 1):
        if not line.text or not other.text or _stamp(other) > STAMP:
            continue
        if _is_open_row(line.text, other.text):
            rows.append(at)
        elif _is_full(line, other, width) and not _is_own(line, other):
            plain.append(at)
    # The widest line of any text is as wide as its margin.
    if len(plain) < MANY:
        widest = len([at for at in plain if lines[at - 1].width == width]) < SEVERAL
        plain = [
            at
            for at in plain
            if _is_unfinished(lines[at - 1].text)
            or (len(plain) >= SEVERAL and not (widest and lines[at - 1].width == width))
        ]
    taken = sorted(plain + rows)
    exact = {at for at in taken if lines[at - 1].width == width}
    is_hard = len(exact) >= SEVERAL and all(lines[at - 1].width >= width - 1 for at in taken)
    for at in taken:
        is_inside = (
            (is_hard and at in exact)
            or _HYPHEN.search(lines[at - 1].text)
            or (at in exact and _is_long_word(lines[at - 1].text, lines[at].text, width))
        )
        yield at, "" if is_inside else " "


def _stamp(line: Line) -> int:
    """Return the columns of what a logger, or who quotes, has put before a line."""
    return line.width - len(line.text)


def _is_own(line: Line, other: Line) -> bool:
    """Return whether a line begins by itself: as a list does, or with a name and its value."""
    if _BEGINS.match(other.text):
        return True
    if _HYPHEN.search(line.text) or (_stamp(line) > STAMP and not _stamp(other)):
        return False
    return _KEY.match(other.text) is not None and not _PAIRS.match(other.text)


def _is_long_word(text: str, below: str, width: int) -> bool:
    """Return whether the end of a line and the beginning of the next are a word of no line."""
    return len(text.rpartition(" ")[2]) + len(below.partition(" ")[0]) > width


def _is_unfinished(text: str) -> bool:
    return _UNFINISHED.search(text) is not None or text.count("(") > text.count(")")


def _is_full(line: Line, other: Line, width: int) -> bool:
    """Return whether the next word would not have fitted into a line; a closed row ends itself."""
    word = _WORD.match(other.text)
    is_row = line.text.lstrip()[:1] in _EDGES and line.text.rstrip()[-1:] in _EDGES
    return line.width + 1 + (len(word[0]) if word else 0) > width and not is_row


def _is_open_row(text: str, below: str) -> bool:
    """Return whether a row of a table ends on the next line."""
    text = text.strip()
    return (
        text[:1] == "|"
        and text[-1:] != "|"
        and below.lstrip()[:1] not in _EDGES
        and below.rstrip()[-1:] == "|"
    )
