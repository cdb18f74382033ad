"""Keys that are blocks of several lines: PEM, in lines of its own or inside one; PuTTY's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.texts.credentials.values import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = r"-{4,5} ?BEGIN [A-Z0-9 ]{1,40}-{4,5}"
_END = r"-{4,5} ?END [A-Z0-9 ]{1,40}-{4,5}"
_LIMIT = 40_000
# A line of base64, however it is quoted or indented.
_LINE = r"(?:[^\n]{0,60}?[^\w+/=\n]|)[A-Za-z0-9+/]{4,}={0,2}[\"',;\\rn \t]{0,12}"
_FULL = r"[A-Za-z0-9+/]{40,}={0,2}"
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
            yield found.end(), _last_line(text, found.end())


def _end(text: str, at: int) -> int:
    """Return where a block ends: at its last line, or where no more of it follows."""
    stop = compiled(_END).search(text, at, at + _LIMIT)
    other = compiled(_BEGIN).search(text, at, stop.start() if stop else at)
    if stop and not other and text.count("\n", at, stop.start()) < 400:
        return stop.start()
    rest = compiled(r"(?:[ \t]|\\[nr]|[A-Za-z0-9+/]{16,}={0,2}){1,2000}").match(text, at)
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
    found = compiled(rf"(?:{_FULL}|[A-Za-z0-9+/]{{4,}}={{0,2}}|\\[nr]|[ \t]){{1,2000}}\Z").search(
        text, max(line, at - 8_000), at
    )
    if found and compiled(_FULL).search(found[0]):
        return found.start()
    start = line
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        inside = compiled(_LINE).fullmatch(text, above, start - 1)
        if inside is None or not (compiled(_FULL).search(inside[0]) or start == line):
            ending = compiled(rf"{_FULL}\s{{0,8}}\Z").search(text, max(above, start - 2_000), start - 1)
            start = ending.start() if ending else start
            break
        start = above
    return start if compiled(_FULL).search(text, start, at) else at
