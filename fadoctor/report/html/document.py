"""The frame of a page: its style and script stand in it, and nothing else may be loaded."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from fadoctor.report.html.elements import Html, joined, tag

_HERE = Path(__file__).parent


def document(title: str, body: list[Html]) -> str:
    """Return the page as one file."""
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            tag("title", title),
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            tag("main", joined(body)),
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def _hash(text: str) -> str:
    """Return how a policy names an element by its content."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
