"""A model's ``config.json``: heads, windows, dtype and quantisation of the checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.model_shapes import (
    HEADS,
    HIDDEN,
    LATENT,
    UNKNOWN,
    default_shapes,
)
from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.kinds import BITSANDBYTES
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = "model"
_HEADS = frozenset({"hidden_size", "num_attention_heads", "n_head", "n_embd", "num_hidden_layers"})
_TOPICS = (
    ("model_type", "config.model_type", words.text),
    ("attn_logit_softcapping", "config.softcap", words.text),
    ("_attn_implementation", "config.attention", words.text),
    ("attn_implementation", "config.attention", words.text),
)


def recognises(source: Source) -> bool:
    """Return whether it is one: architectures, or a type and the shape of its layers."""
    document = source.document()
    if document is None:
        return False
    shaped = not _HEADS.isdisjoint(document.mapping) or document.has("text_config")
    return document.has("architectures") or (document.has("model_type") and shaped)


def read(source: Source) -> Configuration:
    """Return what it says; of a model for images and text, what it says of the text."""
    document, said = source.content(), Said(source)
    text = document.get("text_config") or document
    for key, name, meaning in _TOPICS:
        said.take(document if document.get(key) else text, key, name, meaning)
    for part in (document, text):
        if _checkpoint(said, part):
            break
    said.take(document, "vision_config.model_type", "config.vision_type", words.text)
    _heads(said, text)
    _window(said, text)
    _quantization(said, document)
    _remote_code(said, document)
    return Configuration(source.name, KIND, tuple(said.intents))


def _checkpoint(said: Said, part: Node) -> bool:
    """Say in what dtype the checkpoint is."""
    return any(
        said.take(part, key, "config.checkpoint_dtype", words.dtype) is not None
        for key in ("dtype", "torch_dtype")
    )


def _heads(said: Said, text: Node) -> None:
    """Say how large a head is: by its name, by its parts, by its class, or by width and number."""
    dropout = text.get("attention_dropout") or text.get("attn_pdrop")
    if dropout is not None and dropout.value is not None:
        said.add("config.dropout", dropout, words.text(dropout), "attention_dropout")
    latent = text.get("kv_lora_rank")
    if latent is not None:
        # Keys and values come from one latent vector: head_dim is the part that turns.
        parts = [_number(text, (key,)) for key in LATENT]
        if all(parts):
            said.add("config.head_dim", latent, sum(parts), f"{' + '.join(LATENT)}, kv_lora_rank")
        return
    if said.take(text, "head_dim", "config.head_dim", words.integer) is not None:
        return
    kind = text.get("model_type")
    usual = default_shapes().get(str(kind.scalar), UNKNOWN) if kind is not None else UNKNOWN
    if kind is not None and usual.head_dim and text.get("head_dim") is None:
        said.add("config.head_dim", kind, usual.head_dim, "the default of model_type")
        return
    wide, many = _number(text, HIDDEN) or usual.hidden, _number(text, HEADS) or usual.heads
    node = next((n for n in map(text.get, (*HIDDEN, "model_type")) if n is not None), None)
    if many and wide and wide % many == 0 and node is not None:
        said.add("config.head_dim", node, wide // many, "hidden_size / num_attention_heads")


def _number(text: Node, names: tuple[str, ...]) -> int:
    """Return the first of some keys that is a number above zero; 0 where none is."""
    nodes = (text.get(name) for name in names)
    found = (words.integer(node) for node in nodes if node is not None and node.value is not None)
    return next((each for each in found if isinstance(each, int) and each > 0), 0)


def _window(said: Said, text: Node) -> None:
    window, used = text.get("sliding_window"), text.get("use_sliding_window")
    if window is None or window.value is None or (used is not None and used.scalar is False):
        return
    said.add("config.sliding_window", window, words.integer(window), "sliding_window")


def _quantization(said: Said, document: Node) -> None:
    section = document.get("quantization_config")
    if section is None or not section.mapping:
        return
    method = section.get("quant_method")
    for key, value in (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit")):
        node = section.get(key)
        if node is not None and words.flag(node) is True:
            said.add("config.quantization", node, value, f"quantization_config.{key}")
            return_dtype = section.get("bnb_4bit_compute_dtype")
            if return_dtype is not None and value == "4bit":
                said.add("config.compute_dtype", return_dtype, words.dtype(return_dtype),
                         "bnb_4bit_compute_dtype")  # fmt: skip
            return
    if method is not None and method.scalar not in (None, BITSANDBYTES):
        said.add("config.quantization", method, str(method.scalar).lower()[:40], "quant_method")
    elif method is not None:
        said.add("config.quantization", method, Computed("it does not say how many bits"))


def _remote_code(said: Said, document: Node) -> None:
    """Say what models with code of their own are told: Qwen's first generation, for one."""
    own = document.get("use_flash_attn")
    if own is not None and own.value is not None:
        asked = {True: "flash_attention_2", False: "eager"}.get(words.flag(own) is True)
        if own.scalar != "auto":
            said.add("config.attention", own, asked, "use_flash_attn")
