"""What the site does otherwise than a checkout: files outside the pages are named, not linked."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((\.\.?/[^()\s]*)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links to files beside the pages, and to their folders, by what they say."""
    folder = posixpath.dirname(page.file.src_uri)

    def named(found: re.Match[str]) -> str:
        target = found[2].partition("#")[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        inside = not path.startswith("..") and target.endswith(".md")
        return found[0] if inside else found[1]

    return _LINK.sub(named, markdown)
