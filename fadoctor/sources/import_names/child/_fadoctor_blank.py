"""Leave out of a source what is not run at import, before it is parsed: bodies of functions.

Parsing takes as long as the text is, and most of a text are bodies of methods. Lines keep their
numbers. Where the text left is no Python, the caller parses all of it: a bracket or a string that
was cut through does not parse.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import List, NamedTuple, Tuple

from fadoctor.sources.import_names.child._fadoctor_headers import (
    Headers,
    is_later,
    without_silent,
)

KEPT_LINES = 60
"""Functions of a module that are no longer keep their bodies where they may be called at import."""

NAMED_LIMIT = 200
"""Places of a name that are looked at."""

ASKED = re.compile(
    r"is_|_is_|has_|_has|_?check(?!point)|get_.{0,40}version|.*(avail|version|support|_flag|_bool|_env)"
    r"|__getattr__$"
)
"""Names of functions that modules ask while they are imported."""

_HEADER_LINES = 200
_INDENT_LIMIT = 1_000
_DEF = re.compile(rb"\n([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)")
"""Begins with the end of a line: what begins so is found many times as fast as by ``^``."""

_TRIPLE = re.compile(rb"\"\"\"|\'\'\'")
_STRING = re.compile(rb"\"\"\"|\'\'\'|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*", re.DOTALL)
_PLAIN = re.compile(rb"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*", re.DOTALL)
_QUOTED = re.compile(rb"[\"'#]")
_OPENING, _CLOSING = (b"(", b"[", b"{"), (b")", b"]", b"}")
_IN, _OUT = rb"[^()\[\]{}\"'#\\]*", rb"[^()\[\]{}\"'#\\:\n]*"
_INDEX = rb"(?:\[%b(?:\[%b(?:\[%b\]%b)*\]%b)*\]" % (_IN, _IN, _IN, _IN, _IN)
_PLAIN_HEADER = re.compile(
    rb"[ \t]*\(%b%b%b)*\)%b%b%b)*:\n" % (_IN, _INDEX, _IN, _OUT, _INDEX, _OUT)
)
"""What follows the name of most functions: no bracket but of indexes, no text, no comment."""


class _Body(NamedTuple):
    """The body of a short function of a module, which something may call while it is imported."""

    at: int
    """Index of its place in what is kept; its parameters are the one before."""
    name: bytes
    parameters: bytes
    text: bytes


def without_bodies(source: bytes) -> bytes:
    """Return a source whose functions do nothing, but for those that may be called at import."""
    text = b"\n" + source.replace(b"\r\n", b"\n")
    kept: List[bytes] = []
    bodies: List[_Body] = []
    headers = Headers(later=is_later(text))
    done = position = 1
    header, quote = _DEF.search(text), _triple(text, 0, len(text))
    while header is not None:
        if 0 <= quote < header.start(2):
            position = _after_string(text, quote)
        else:
            position = header.end()
            start = _end_of_header(text, header.start(1), position)
            if start:
                indent, name = header.groups()
                position = end = _end_of_body(text, start, len(indent))
                parameters, body = text[header.end() : start], text[start:end]
                headers.pass_by(text[done - 1 : header.start(1)])
                kept.append(text[done : header.end()])
                kept += _emptied(headers, len(indent), name, parameters, body)
                done = end
                if (not indent or name == b"__getattr__") and body.count(b"\n") <= KEPT_LINES:
                    bodies.append(_Body(len(kept) - 1, name, parameters, body))
        if header.start() < position - 1:
            header = _DEF.search(text, position - 1)
        if quote < position:
            quote = _triple(text, position, len(text)) if quote >= 0 else quote
    kept.append(text[done:])
    if bodies:
        _fill(kept, bodies)
    return b"".join(kept)


def _emptied(
    headers: Headers, indent: int, name: bytes, parameters: bytes, body: bytes
) -> Tuple[bytes, bytes]:
    """Return what is left of a function's parameters and of its body."""
    if body and headers.is_needless(indent, name, parameters):
        lines = parameters.count(b"\n") + body.count(b"\n")
        return b"():...", b"\n" * lines
    return without_silent(parameters), _blank(indent, body)


def _fill(kept: List[bytes], bodies: List[_Body]) -> None:
    """Put back the bodies of functions that are asked, and named where something runs."""
    running, waiting = b"".join(kept), bodies
    while running and waiting:
        later: List[_Body] = []
        found: List[bytes] = []
        for body in waiting:
            if _is_asked(body.name) or _is_called(running, body.name):
                kept[body.at - 1 : body.at + 1] = body.parameters, body.text
                found.append(body.text)
            else:
                later.append(body)
        running, waiting = b"".join(found), later


def _is_called(text: bytes, name: bytes) -> bool:
    """Return whether a name may be called in a text: not as an attribute, nor where it is made."""
    for sign in (name + b"(", name + b" ("):
        at = text.find(sign)
        for _ in range(NAMED_LIMIT):
            if at < 0:
                break
            before = text[at - 1 : at]
            if not (before.isalnum() or before in (b"_", b".") or text[at - 4 : at] == b"def "):
                return True
            at = text.find(sign, at + 1)
        else:
            return True
    return False


def _is_asked(name: bytes) -> bool:
    return bool(ASKED.match(name.decode("utf-8", "replace")))


def _blank(indent: int, body: bytes) -> bytes:
    return b" " * (indent + 1) + b"..." + b"\n" * body.count(b"\n") if body else b""


def _triple(text: bytes, start: int, end: int) -> int:
    """Return where the next three quotes are; -1 where there are none."""
    found = text.find(b'"""', start, end)
    other = text.find(b"'''", start, end if found < 0 else found)
    return found if other < 0 else other


def _end_of_line(text: bytes, position: int) -> int:
    end = text.find(b"\n", position)
    return len(text) if end < 0 else end


def _end_of_header(text: bytes, start: int, named: int) -> int:
    """Return where the line behind ``def f(...):`` begins; 0 where the body is on that line.

    `named` is where its name ends.
    """
    plain = _PLAIN_HEADER.match(text, named)
    if plain:
        return plain.end()
    depth = 0
    for _ in range(_HEADER_LINES):
        end = _end_of_line(text, start)
        line = text[start:end]
        if _QUOTED.search(line):
            if _TRIPLE.search(line):
                return 0
            line = _PLAIN.sub(b"", line)
        depth += sum(map(line.count, _OPENING)) - sum(map(line.count, _CLOSING))
        line = line.rstrip()
        if depth <= 0 and not line.endswith(b"\\"):
            return min(end + 1, len(text)) if line.endswith(b":") else 0
        if end == len(text):
            return 0
        start = end + 1
    return 0


@lru_cache(maxsize=64)
def _outside(indent: int) -> "re.Pattern[bytes]":
    """Return what finds a line that is indented no deeper than a header."""
    return re.compile(rb"\n[ \t\f]{0,%d}[^ \t\f\n#]" % indent)


def _end_of_body(text: bytes, position: int, indent: int) -> int:
    """Return where the first line begins that is not of the body."""
    outside = _outside(min(indent, _INDENT_LIMIT))
    while position < len(text):
        match = outside.search(text, position - 1)
        end = match.start() + 1 if match else len(text)
        quote = _triple(text, position, end)
        if quote < 0:
            return end
        position = _after_string(text, quote)
    return len(text)


def _after_string(text: bytes, position: int) -> int:
    """Return where the first line begins behind three quotes, in which no string is open."""
    quote = text[position : position + 3]
    start = text.rfind(b"\n", 0, position) + 1
    if text[start:position].strip() in (b"", b"r"):
        # Most are nothing but documentation: all of their lines.
        closed = text.find(quote, position + 3)
        end = _end_of_line(text, closed) if closed >= 0 else -1
        if end >= 0 and not text[closed + 3 : end].strip():
            return end + 1
    quote = b""
    while True:
        start = text.rfind(b"\n", 0, position) + 1
        end = _end_of_line(text, position)
        quote = _open_quote(text[start:end], quote)
        if not quote:
            return end + 1
        position = text.find(quote, end)
        if position < 0:
            return len(text)


def _open_quote(line: bytes, quote: bytes) -> bytes:
    """Return the triple quote that is open after a line; `quote` is open before it."""
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
