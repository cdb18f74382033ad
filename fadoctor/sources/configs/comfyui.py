"""ComfyUI: the options of its ``main.py``, and workflows that its pages save.

A workflow names its nodes. What a node that loads a model holds says its dtype and its attention:
by name in the form for programs, one after the other in the form for the page. Read in
``comfy/cli_args.py``, and in the nodes of WanVideoWrapper and HunyuanVideoWrapper.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.configs import settings, words
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.kinds import COMFYUI
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = COMFYUI
_NODE_LIMIT = 2_000
# WanVideoModelLoader, UNETLoader, DownloadAndLoadCogVideoModel; not WanVideoVAELoader
_LOADER = re.compile(r"(?i)load")
_OTHER = re.compile(r"(?i)vae|clip|t5|textencod|lora|image|upscale|whisper|vocoder")
_ATTENTION = {
    "sdpa": "sdpa", "flash_attn": "flash_attention_2", "flash_attn_2": "flash_attention_2",
    "flash_attn_varlen": "flash_attention_2", "flash_attention_2": "flash_attention_2",
    "flash_attn_3": "flash_attention_3", "sageattn": "sageattention", "xformers": "xformers",
}  # fmt: skip
"""How nodes call the attention that they compute with -> how transformers does."""


def recognises(source: Source) -> bool:
    """Return whether it is a workflow with a node that says something."""
    if not source.base.endswith(".json"):
        return False
    document = source.document()
    return document is not None and bool(_said(source, document).intents)


def read(source: Source) -> Configuration:
    """Return what a workflow, or the options of a command, ask for."""
    document = source.content()
    said = _said(source, document)
    if not said.intents:
        settings.say(said, document)
    said.framework(KIND, document)
    said.default("config.purpose", document, "inference")
    return Configuration(source.name, KIND, tuple(said.intents))


def _said(source: Source, document: Node) -> Said:
    said = Said(source)
    for node in _loaders(document):
        told = {each.name for each in said.intents}
        for value in _values(node):
            word = str(value.scalar)
            name, meant = "config.attention", _ATTENTION.get(word)
            if meant is None:
                dtype = words.dtype_word(word)
                name, meant = "config.weights_dtype", dtype if isinstance(dtype, str) else None
            if meant is not None and meant != "fp8" and name not in told:
                said.add(name, value, meant)
                told.add(name)
    return said


def _loaders(document: Node) -> Iterator[Node]:
    """Yield the nodes that load a model, in both forms."""
    listed = document.get("nodes")
    page = listed.items if listed is not None else ()
    for node in (*page[:_NODE_LIMIT], *[*document.mapping.values()][:_NODE_LIMIT]):
        kind = node.get("class_type") or (node.get("type") if node.has("widgets_values") else None)
        name = str(kind.scalar) if kind is not None else ""
        if _LOADER.search(name) and not _OTHER.search(name):
            yield node


def _values(node: Node) -> Iterator[Node]:
    """Yield what a node holds, one after the other."""
    for key in ("inputs", "widgets_values"):
        held = node.get(key)
        if held is not None:
            yield from (each for each in (*held.items, *held.mapping.values()) if _is_text(each))


def _is_text(node: Node) -> bool:
    return isinstance(node.scalar, str)
