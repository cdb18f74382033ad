"""Leave out of a source what is not run at import, before it is parsed: bodies of functions.

Parsing takes as long as the text is, and most of a text are bodies of methods. Lines keep their
numbers. Where the text left is no Python, the caller parses all of it: a bracket or a string that
was cut through does not parse.
"""

from __future__ import annotations

import re
from typing import List

KEPT_LINES = 60
"""Functions of a module that are no longer keep their bodies: they may be called at import."""

_HEADER = re.compile(rb"[ \t]*(?:async[ \t]+)?def[ \t]+\w")
_STRING = re.compile(rb"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*", re.DOTALL)
_PLAIN = re.compile(rb"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*", re.DOTALL)
_OPENING, _CLOSING = b"([{", b")]}"


def without_bodies(source: bytes) -> bytes:
    """Return a source whose functions do nothing."""
    lines = source.replace(b"\r\n", b"\n").split(b"\n")
    kept: List[bytes] = []
    index, quote = 0, b""
    while index < len(lines):
        line = lines[index]
        if not quote and _HEADER.match(line):
            after = _end_of_header(lines, index)
            if after:
                end = _end_of_body(lines, after, _indent(line))
                kept += lines[index:after]
                kept += _body(lines, after, end, _indent(line))
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
        if b'"""' in text or b"'''" in text:
            return 0
        text = _PLAIN.sub(b"", text)
        depth += sum(text.count(bytes([c])) for c in _OPENING)
        depth -= sum(text.count(bytes([c])) for c in _CLOSING)
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
            if text and not text.startswith(b"#") and len(line) - len(text) <= indent:
                return index
        quote = _open_quote(line, quote)
    return len(lines)


def _body(lines: List[bytes], start: int, end: int, indent: int) -> List[bytes]:
    if (indent == 0 and end - start <= KEPT_LINES) or end == start:
        return lines[start:end]
    return [b" " * (indent + 1) + b"...", *[b""] * (end - start - 1)]


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
