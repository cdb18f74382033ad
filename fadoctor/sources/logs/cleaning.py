"""Turn the bytes of a log into clean lines: decoded, without escapes, bars and wrapping."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.logs.prefixes import strip_prefixes
from fadoctor.syntax.credentials.hiding import hide_in_lines
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.sources.logs.sieve import Region

LINE_LIMIT = 8_192
"""Longest line that is read whole; of a longer one, its two ends."""

PIECES_LIMIT = 200
"""Most parts of one line between carriage returns that are read: its last ones."""

# "\x1b[31m", "\x1b]8;;https://...\x07", "\x9b1m", and what copying leaves of them: "[0m", "�[36m".
_ESCAPES = compiled(
    r"\x1b\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?"
    r"|(?:\x1b\[|\x9b)[0-?]{0,40}[ -/]{0,4}[@-~]?"
    r"|\x1b[ -/]{0,4}[0-Z\\^-~]?"
    r"|[\ufffd\u241b]?\[(?:\d{1,3};){0,4}\d{1,3}m(?!\])"
)
# torch==1.3 (from -r requirements.txt (line 21)) (from versions: none): the list goes to the end
_OF_LIST = compiled(
    r"(?P<list> {1,2}\(from -[rc] [^\n()]{1,200} \(line \d{1,6}\)\))"
    r"(?P<seen> {1,2}\(from versions: [^\n()]{1,4000}\))"
)
# The last of them is the only one that plain characters make up.
_ESCAPES_PLAIN = compiled(r"\[(?:\d{1,3};){0,4}\d{1,3}m(?!\])")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&", "&nbsp;": " "}
_ENTITY = compiled("|".join(_ENTITIES))

# What programs draw while they work; an error can be printed right behind it, or before.
_BAR = compiled(
    # 3%|#    | 3/10 [00:03<?, 1.0s/it] | 25% Completed | 1/4 [00:01<00:03, 1.2s/it]
    r"(?:\d{1,3}%)?(?: Completed )?\|(?:[^|\n]{0,200}\|)? {0,4}[\d.,kMGTB]{1,12}/[\d.,kMGTB?]{1,12}"
    r" \[[^\]\n]{0,200}(?:\]|$)"
    # 12it [00:03, 4.0it/s]
    r"|(?<![\w.])\d{1,12}[a-z]{2,8} \[\d\d:\d\d[^\]\n]{0,200}(?:\]|$)"
    # ━━━━━━ 8.4/8.4 MB 105.3 MB/s eta 0:00:00
    r"|[\u2501\u2578\u257a]{5,200} {1,8}[\d.]{1,12}(?:/[\d.]{1,12})? [kMG]?B"
    r"(?: {1,8}[\d.?]{1,12} [kMG]?B/s)?(?: {1,8}eta [\d:-]{1,12})?"
)
_BAR_MARKS = ("%|", "Completed |", "| 0/", "/s", "s/it", "?it", "\u2501")
"""One of them is in every line that holds a bar; most lines have none."""

# Loading checkpoint shards: | Epoch 3: | {'loss': 0.5} is none
_CAPTION = compiled(r"[^\n]{0,120}:\s{0,20}|\s{0,200}")
"""What stands before a bar and names it."""

_PLAIN = str.maketrans({
    "\0": None, "\u200b": None, "\ufeff": None, "\xa0": " ", "\t": "    ",
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\uff1a": ": ",
    "\u3000": " ", "\uff08": " (", "\uff09": ") ", "\uff0c": ", ", "\u3001": ", ", "\uff1d": "=",
    "\uff1b": "; ",
})  # fmt: skip
"""What compilers in other locales, Windows and chat programs write for plain characters."""

_UNICODE_BREAKS = compiled("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class Line(msgspec.Struct, frozen=True):
    """One clean line."""

    number: int
    """Its number in the log, from 1."""
    text: str
    channel: str
    """The process that wrote it, as its prefix names it; empty without one."""
    width: int = 0
    """Columns that it took with its prefix."""


def without_credentials(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines of a log without credentials: nothing reads them before that."""
    hidden = hide_in_lines([line.text for line in lines])
    return tuple(
        line if line.text == text else Line(line.number, text, line.channel, line.width)
        for line, text in zip(lines, hidden, strict=True)
    )


def clean_lines(region: Region) -> Iterator[Line]:
    """Yield the lines of a region; parts between carriage returns become lines of their own."""
    rows = region.data.split(b"\n")
    for offset, raw in enumerate(_dedented(rows) if b"  ```" in region.data else rows):
        number = region.line + offset
        # What Windows ends a line with is no line of its own.
        for piece in raw.rstrip(b"\r").split(b"\r")[-PIECES_LIMIT:]:
            for text in _texts(piece):
                stripped, channel = strip_prefixes(text)
                if stripped or not text:
                    yield Line(number, stripped, channel, len(text))


def _dedented(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without what a fence in a list, and the lines inside, are indented by."""
    inside = 0
    for row in rows:
        text = row.lstrip(b" ")
        if text.startswith(b"```"):
            inside = 0 if inside else len(row) - len(text)
            yield text if inside else row
        else:
            yield row[min(inside, len(row) - len(text)) :]


def _ends(piece: bytes) -> bytes:
    """Return both ends of a line, but no end of a word whose beginning is left out."""
    half = LINE_LIMIT // 2
    end = piece[-half:]
    begun = re.search(rb"[\s\"',;&]", end)
    return piece[:half] + b" ... " + (end[begun.start() :] if begun else b"")


def _texts(piece: bytes) -> Iterator[str]:
    """Yield the text of a piece; a traceback inside one line, as JSON logs have it, unfolded."""
    if len(piece) > LINE_LIMIT:
        piece = _ends(piece)
    text = _decoded(piece)
    is_plain = text.isascii() and text.isprintable()
    if not is_plain:
        text = _ESCAPES.sub("", text).translate(_PLAIN)
    elif "[" in text:
        text = _ESCAPES_PLAIN.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda found: _ENTITIES[found[0]], text)
    if "(from -" in text and "(from versions" in text:
        text = _OF_LIST.sub(r"\g<seen>\g<list>", text)
    if "\\n" in text and "raceback (most recent call last)" in text:
        yield from (part.replace('\\"', '"') for part in text.split("\\n"))
        return
    text = (text if is_plain else _UNICODE_BREAKS.sub(" ", text)).rstrip()
    is_bare = (is_plain and " [" not in text) or not any(mark in text for mark in _BAR_MARKS)
    yield from (text,) if is_bare else _without_bars(text)


def _without_bars(text: str) -> Iterator[str]:
    """Yield what stands beside the progress bars of a line, each part as a line of its own.

    What names a bar goes with it, and so does what its end was overwritten with.
    """
    at = 0
    for bar in _BAR.finditer(text):
        before = text[at : bar.start()].rstrip()
        if not _CAPTION.fullmatch(before):
            yield before
        at = bar.end()
    rest = text[at:] if at == 0 else text[at:].strip()
    if rest or not at:
        yield rest


def _decoded(piece: bytes) -> str:
    """Return text: UTF-8, else the Chinese code page of Windows, else what of it is readable."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        found = piece.decode("gb18030")
    except UnicodeDecodeError:
        return piece.decode("utf-8", "replace")
    return found if re.search("[\u4e00-\u9fff]{2}", found) else piece.decode("utf-8", "replace")
