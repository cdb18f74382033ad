"""Leave out of a source what is not run at import, before it is parsed: bodies of functions.

Parsing takes as long as the text is, and most of a text are bodies of methods. Lines keep their
numbers. Where the text left is no Python, the caller parses all of it: a bracket or a string that
was cut through does not parse.
"""

from __future__ import annotations

import re
from typing import List

KEPT_LINES = 60
"""Functions of a module that are no longer keep their bodies where they may be called at import."""

ASKED = re.compile(
    r"is_|_is_|has_|_has|check|_check|get_.{0,40}version|.*(avail|version|support|_flag|_bool|_env)"
    r"|__getattr__$"
)
"""Names of functions that modules ask while they are imported."""

_HEADER = re.compile(rb"[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
_STRING = re.compile(rb"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*", re.DOTALL)
_PLAIN = re.compile(rb"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*", re.DOTALL)
_QUOTED = re.compile(rb"[\"'#]")
_OPENING, _CLOSING = (b"(", b"[", b"{"), (b")", b"]", b"}")


def without_bodies(source: bytes) -> bytes:
    """Return a source whose functions do nothing."""
    lines = source.replace(b"\r\n", b"\n").split(b"\n")
    kept: List[bytes] = []
    index, quote = 0, b""
    while index < len(lines):
        line = lines[index]
        header = _HEADER.match(line) if not quote else None
        if header:
            after = _end_of_header(lines, index)
            if after:
                end = _end_of_body(lines, after, _indent(line))
                kept += lines[index:after]
                is_of_module = not _indent(line) or header[1] == b"__getattr__"
                is_short = is_of_module and end - after <= KEPT_LINES
                is_kept = is_short and _may_run(header[1], source)
                kept += lines[after:end] if is_kept else _blank(line, end - after)
                index = end
                continue
        quote = _open_quote(line, quote)
        kept.append(line)
        index += 1
    return b"\n".join(kept)


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _end_of_header(lines: List[bytes], start: int) -> int:
    """Return the index of the line behind ``def f(...):``; 0 where the body is on that line."""
    depth = 0
    for index in range(start, min(start + 200, len(lines))):
        text = lines[index]
        if _QUOTED.search(text):
            if b'"""' in text or b"'''" in text:
                return 0
            text = _PLAIN.sub(b"", text)
        depth += sum(map(text.count, _OPENING)) - sum(map(text.count, _CLOSING))
        if depth <= 0 and not text.rstrip().endswith(b"\\"):
            return index + 1 if text.rstrip().endswith(b":") else 0
    return 0


def _end_of_body(lines: List[bytes], start: int, indent: int) -> int:
    """Return the index of the first line that is not of the body."""
    quote = b""
    for index in range(start, len(lines)):
        line = lines[index]
        if not quote:
            text = line.lstrip(b" \t\f")
            if text and len(line) - len(text) <= indent and not text.startswith(b"#"):
                return index
        if quote or b'""' in line or b"''" in line:
            quote = _open_quote(line, quote)
    return len(lines)


def _may_run(name: bytes, source: bytes) -> bool:
    """Return whether a function of a module may be called while it is imported."""
    return bool(ASKED.match(name.decode("utf-8", "replace"))) or source.count(name) > 1


def _blank(header: bytes, count: int) -> List[bytes]:
    return [b" " * (_indent(header) + 1) + b"...", *[b""] * (count - 1)] if count else []


def _open_quote(line: bytes, quote: bytes) -> bytes:
    """Return the triple quote that is open behind a line; `quote` is open before it."""
    if quote:
        at = line.find(quote)
        if at < 0:
            return quote
        position = at + 3
    else:
        position = 0
    if b'"""' not in line and b"'''" not in line:
        return b""
    while True:
        match = _STRING.search(line, position)
        if match is None:
            return b""
        position = match.end()
        if match[0] in (b'"""', b"'''"):
            at = line.find(match[0], position)
            if at < 0:
                return match[0]
            position = at + 3
