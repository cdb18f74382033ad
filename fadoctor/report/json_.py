"""JSON: the contract of ``check`` and ``facts``, version 1."""

from __future__ import annotations

from typing import Any

import msgspec

from fadoctor.model.typed import encode


def render(document: Any) -> str:
    """Return a document of the model as indented JSON, one line end at its end."""
    return msgspec.json.format(encode(document), indent=2).decode() + "\n"
