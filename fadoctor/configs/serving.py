"""What the readers of vLLM's and SGLang's arguments share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.configs.tree import Node
    from fadoctor.configs.words import Said

Topics = tuple[tuple[str, str, "Callable[[Node], object]"], ...]


def underscored(document: Node) -> Node:
    """Return the document with ``_`` for ``-`` in its keys."""
    renamed = {key.replace("-", "_"): node for key, node in document.mapping.items()}
    return msgspec.structs.replace(document, value=renamed)


def say_topics(said: Said, document: Node, topics: Topics) -> None:
    """Note what stands at each path."""
    for path, name, meaning in topics:
        said.take(document, path, name, meaning)
