"""The value that stands behind a name: in quotes, in a shell's words, as a block of YAML."""

from __future__ import annotations

import re
from functools import cache

LIMIT = 8_192
"""Longest value, in characters: what is longer is hidden so far."""

_QUOTES = r"(?:[bBrRuUfF]{0,2})(?P<quote>\\{0,7}[\"'`]|&quot;|&#39;|&#x27;|[\u201c\u2018\u00ab])"
_CLOSING = {"\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb"}

# What a shell takes for one word; a quote ends it where no letter follows.
_BARE = (
    r"(?:(?i:Bearer|Basic|Token|Digest|Negotiate|ApiKey|AWS4-HMAC-SHA256|SSWS) {1,4})?"
    r"(?P<bare>(?:[^\s\"'`<\\]|\\(?![nrt\"'\\])|<(?!/)|[\"'`](?=\w)){1,8192})"
)
_BLOCK = r"[|>][+-]?[ \t]{0,9}(?P<block>(?:\n[ \t]{1,40}\S[^\n]{0,8000}){1,100})"

# What fills a place without being a secret.
_HARMLESS = (
    r"(?i)\*{2,}|x{3,}|\.{3,}|\u2026|-|none|null|nil|true|false|yes|no|on|off|undefined|required"
    r"|optional|set|unset|missing|empty|str|string|bool|boolean|bytes|optional\[.*|<[\w ./-]{0,40}>"
    r"|\$\{?\w+(?::-)?\}?|%\w+%|\$\{\{.*|\{\{?\s?[\w.]*\s?\}?\}|\[?(?:redacted|masked|hidden)\]?"
)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled when it is first needed."""
    return re.compile(pattern)


def small(text: str) -> str:
    """Return a text in small letters, as long as it was."""
    small = text.lower()
    return (
        small
        if len(small) == len(text)
        else "".join(char.lower() if char.isascii() else char for char in text)
    )


def value_at(text: str, at: int) -> tuple[int, int] | None:
    """Return where the value lies that begins at a place; None where none is there to hide."""
    if block := compiled(_BLOCK).match(text, at):
        return block.span("block")
    if quote := compiled(_QUOTES).match(text, at):
        return _quoted(text, quote.end(), quote["quote"])
    bare = compiled(_BARE).match(text, at)
    return None if bare is None else _worth(text, bare.start("bare"), bare.end("bare"))


def _quoted(text: str, start: int, quote: str) -> tuple[int, int] | None:
    """Return the inside of quotes; up to the end of the line where they do not close."""
    closing = _CLOSING.get(quote, quote)
    stop = text.find("\n", start, start + LIMIT)
    stop = min(len(text), start + LIMIT) if stop < 0 else stop
    end = text.find(closing, start, stop)
    while end > 0 and closing in ('"', "'") and text[end - 1] == "\\" and text[end - 2] != "\\":
        end = text.find(closing, end + 1, stop)
    return _worth(text, start, stop if end < 0 else end, whole=True)


def _worth(text: str, start: int, end: int, *, whole: bool = False) -> tuple[int, int] | None:
    """Return a span without the punctuation behind it; None where what is there hides nothing."""
    if not whole:
        while end > start and text[end - 1] in ";,.)]}":
            end -= 1
    inside = text[start:end].strip()
    is_harmless = not inside or compiled(_HARMLESS).fullmatch(inside) is not None
    return None if is_harmless else (start, end)
