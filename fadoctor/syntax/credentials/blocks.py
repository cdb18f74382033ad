"""Keys that are blocks of several lines: PEM, in lines of its own or inside one; PuTTY's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.credentials.values import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = r"-{4,5} ?BEGIN [A-Z0-9 ]{1,40}-{4,5}"
_END = r"-{4,5} ?END [A-Z0-9 ]{1,40}-{4,5}"
_LIMIT = 40_000
# A line of base64, however it is quoted or indented.
_LINE = r"(?:[^\n]{0,60}?[^\w+/=\n]|)[A-Za-z0-9+/]{4,2000}={0,2}[\"',;\\rn \t]{0,12}"
_FULL = r"[A-Za-z0-9+/]{40,4000}={0,2}"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=\\ \t"
_PUTTY = r"(?:Private|Public)-Lines: \d{1,4}"


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the insides of blocks lie."""
    if "BEGIN " in text:
        for found in compiled(_BEGIN).finditer(text):
            yield found.end(), _end(text, found.end())
    if "END " in text:
        for found in compiled(_END).finditer(text):
            start = _start(text, found.start())
            if start < found.start():
                yield start, found.start()
    if "-Lines: " in text:
        for found in compiled(_PUTTY).finditer(text):
            begun = compiled(rf"(?:[ \t]{{1,8}}{_FULL}){{0,400}}").match(text, found.end())
            yield found.end(), _last_line(text, begun.end() if begun else found.end())


def _end(text: str, at: int) -> int:
    """Return where a block ends: at its last line, or where no more of it follows."""
    stop = compiled(_END).search(text, at, at + _LIMIT)
    other = compiled(_BEGIN).search(text, at, stop.start() if stop else at)
    if stop and not other and text.count("\n", at, stop.start()) < 400:
        return stop.start()
    rest = compiled(r"(?:[ \t]|\\[nr]|[A-Za-z0-9+/]{16,4000}={0,2}){1,2000}").match(text, at)
    return _last_line(text, rest.end() if rest else at)


def _last_line(text: str, at: int) -> int:
    """Return the end of the lines of base64 that follow, from the end of a line on."""
    while at < len(text) and text[at] == "\n":
        end = text.find("\n", at + 1)
        end = len(text) if end < 0 else end
        if compiled(_LINE).fullmatch(text, at + 1, min(end, at + 2_000)) is None:
            begun = compiled(rf"[^\w\n]{{0,40}}{_FULL}").match(text, at + 1, end)
            return begun.end() if begun else at
        at = end
    return at


def _start(text: str, at: int) -> int:
    """Return where the base64 begins that stands before the last line of a block."""
    line = text.rfind("\n", 0, at) + 1
    if (inside := _begun(text, max(line, at - 8_000), at)) is not None:
        return inside
    start = line
    while start > 0:
        above = max(text.rfind("\n", 0, start - 1) + 1, start - 2_000)
        if compiled(_LINE).fullmatch(text, above, start - 1) is None:
            found = _begun(text, above, start - 1)
            start = start if found is None else found
            break
        if start != line and not compiled(_FULL).search(text, above, start - 1):
            break
        start = above
    return start if compiled(_FULL).search(text, start, at) else at


def _begun(text: str, start: int, end: int) -> int | None:
    """Return where base64 begins that goes on to the end of a stretch; None without any."""
    stretch = text[start:end]
    begun = start + len(stretch.rstrip(_LETTERS))
    found = compiled(_FULL).search(text, begun, end)
    return found.start() if found else None
