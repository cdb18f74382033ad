"""Lines of a paste without what a tracker, a terminal or a person has put around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_LIMIT, COUNT_LIMIT = 2_000, 100_000
"""Characters of a line, and lines, that are read."""

_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_TAG = re.compile(
    r"</?(?:details|summary|pre|code|p|br|div|b|i|sub|sup)(?: [^<>]{0,200})?/?>", re.IGNORECASE
)
_QUOTE = re.compile(r"(?:> ?){1,6}(?=\S)")
_FENCE = re.compile(r"(?:```|~~~)[\w+ -]{0,40}")


def clean_lines(text: str) -> Iterator[Line]:
    """Yield the lines of a paste: no colours, HTML, quoting, or fences of code; bounded."""
    for number, raw in enumerate(text.splitlines()[:COUNT_LIMIT], 1):
        line = plain(raw[:LINE_LIMIT])
        if line.strip() and not _FENCE.fullmatch(line.strip()):
            yield Line(number, line)


def plain(text: str) -> str:
    """Return a line without colours, HTML and quoting."""
    line = _ESCAPE.sub("", text) if "\x1b" in text else text
    line = _TAG.sub("", line).rstrip() if "<" in line else line.rstrip()
    return _QUOTE.sub("", line, count=1) if line.startswith(">") else line
