"""JSON with remarks, as editors write it: each is blanked where it stands."""

from __future__ import annotations

import re

# "https://a text" | // a remark | /* one over lines */
# what is not closed goes on to the end of its line, or of the text: each part is met once
_PARTS = re.compile(
    r'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*(?:"|\\?(?=\n)|\\?\Z)|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)'
)
_VISIBLE = re.compile(r"[^\n]")


def without_remarks(text: str) -> str:
    """Return JSON without its remarks, every other character where it was."""
    if "//" not in text and "/*" not in text:
        return text
    return _PARTS.sub(lambda found: found[0] if found[0][0] == '"' else _blank(found[0]), text)


def _blank(text: str) -> str:
    return _VISIBLE.sub(" ", text)
