"""PEFT's ``adapter_config.json``: which adapters, and on which modules.

Read in ``tuners/lora/config.py`` of peft 0.21.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

KIND = "peft-adapter"


def recognises(source: Source) -> bool:
    """Return whether it is one: PEFT writes its type into each."""
    document = source.document()
    return document is not None and document.has("peft_type")


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.take(document, "peft_type", "config.adapter", lambda node: str(node.scalar).lower()[:40])
    said.take(document, "use_dora", "config.use_dora", words.flag)
    said.take(document, "target_modules", "config.adapter_modules", words.names)
    return Configuration(source.name, KIND, tuple(said.intents))
