"""Scalars of TOML: numbers, times, and what is escaped in texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.syntax.tree import Value

_DIGITS_LIMIT = 40

_INTEGER = re.compile(
    r"[+-]?(?:0|[1-9](?:_?[0-9])*)"
    r"|0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*"
)
_FLOAT = re.compile(
    r"[+-]?(?:(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?|inf|nan)"
)
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)?"
    r"|\d\d:\d\d:\d\d(?:\.\d+)?"
)
_ESCAPE = re.compile(
    r'\\(?:([btnfr"\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([ \t]*\r?\n\s*)|(.?))', re.DOTALL
)
_LETTERS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


def plain_value(word: str) -> Value:
    """Return the value of a word without quotes, None for a time; ValueError for what is none."""
    if word in {"true", "false"}:
        return word == "true"
    if len(word) < _DIGITS_LIMIT and _INTEGER.fullmatch(word):
        return int(word.replace("_", ""), 0)
    if len(word) < _DIGITS_LIMIT and _FLOAT.fullmatch(word):
        return float(word.replace("_", ""))
    if _MOMENT.fullmatch(word):
        return None
    raise ValueError(word[:_DIGITS_LIMIT])


def unescape(text: str) -> str:
    """Return a text with its escapes resolved; ValueError for one that stands for nothing."""
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return _LETTERS[found[1]]
    if found[4]:  # the end of a line, and the space after it
        return ""
    return _of_code(int(found[2] or found[3] or "d800", 16))


def _of_code(code: int) -> str:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(code)
    return chr(code)
