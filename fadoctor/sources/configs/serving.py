"""What the readers of vLLM's and SGLang's arguments share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.kinds import SGLANG, VLLM
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.sources.configs.words import Topics
    from fadoctor.syntax.tree import Node

SERVERS = (VLLM, SGLANG)
"""Frameworks that serve: beside a training in the same script they are not what is judged."""


def underscored(document: Node) -> Node:
    """Return the document with ``_`` for ``-`` in its keys."""
    renamed = {key.replace("-", "_"): node for key, node in document.mapping.items()}
    return msgspec.structs.replace(document, value=renamed)


def read_arguments(source: Source, kind: str, topics: Topics) -> Configuration:
    """Return what a server's arguments ask for."""
    document, said = source.content(), Said(source)
    said.framework(kind, document)
    said.default("config.purpose", document, "inference")
    said.default("config.weights_dtype", document, "auto")
    said.take_all(underscored(document), topics)
    return Configuration(source.name, kind, tuple(said.intents))
