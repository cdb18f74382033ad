"""Output formats: one module each, with ``render``. Renderers return text and print nothing."""

from __future__ import annotations

FORMATS = ("text", "json")
