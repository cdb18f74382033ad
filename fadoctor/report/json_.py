"""JSON: the contract of ``check`` and ``facts``, version 1."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from fadoctor.model.typed import encode

_UNSEEN = re.compile("[^\n -~]")


def render(document: Any) -> str:
    """Return a document of the model as indented JSON, one line end at its end."""
    return visible(msgspec.json.format(encode(document), indent=2).decode()) + "\n"


def visible(text: str) -> str:
    r"""Return JSON without characters that a terminal obeys or nobody sees.

    Controls (C1, DEL), marks of direction and all else that cannot be printed become ``\uXXXX``,
    which every reader of JSON takes for the same.
    """
    return text if text.isascii() and "\x7f" not in text else _UNSEEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return char if char.isprintable() else json.dumps(char)[1:-1] if char != "\x7f" else r"\u007f"
