"""Lines of a paste without what a tracker, a terminal or a person has put around them."""

from __future__ import annotations

import re

from fadoctor.syntax.patterns import compiled

_ESCAPE = compiled(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_TAG = compiled(
    r"</?(?:details|summary|pre|code|p|br|div|b|i|sub|sup)(?: [^<>]{0,200})?/?>", re.IGNORECASE
)
# not ">>> torch.__version__", which is Python's prompt
_QUOTE = compiled(r"\A\s{0,8}(?!>>> (?:import|from|print|[a-z_]{2,40}[.(= ]))(?:> ?){1,6}(?=\S)")
_FENCE = compiled(r"(?:```|~~~)[\w+ -]{0,40}")


def is_fence(text: str) -> bool:
    """Return whether a line begins or ends a block of code in Markdown."""
    return text.lstrip().startswith(("```", "~~~")) and _FENCE.fullmatch(text.strip()) is not None


def plain(text: str) -> str:
    """Return a line without colours, HTML and quoting."""
    line = _ESCAPE.sub("", text) if "\x1b" in text else text
    line = _TAG.sub("", line).rstrip() if "<" in line else line.rstrip()
    return _QUOTE.sub("", line, count=1) if line.lstrip()[:1] == ">" else line
