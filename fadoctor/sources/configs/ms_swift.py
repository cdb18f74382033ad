"""ms-swift: the YAML of its arguments, and the ``args.json`` that a run leaves.

Read in ``arguments/base_args`` and ``model/utils.py`` at commit 3602360a5: autocast follows the
dtype of the weights where neither switch is given, fp16 for float16 and float32; ``flash_attn`` is
transformers' ``flash_attention_2``. Names of releases 2 (``sft_type``, ``dtype``) are read, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.kinds import FLASH_ATTN, MS_SWIFT
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = MS_SWIFT
_OWN_KEYS = frozenset({
    "attn_impl", "train_type", "tuner_type", "sft_type", "quant_bits", "rlhf_type", "swift_version",
    "target_regex", "model_id_or_path", "split_dataset_ratio", "lora_dtype",
})  # fmt: skip
_WITH = frozenset({"model", "dataset", "model_type", "model_id_or_path", "torch_dtype"})
_TRAINING = frozenset({
    "train_type", "tuner_type", "sft_type", "rlhf_type", "num_train_epochs", "learning_rate",
    "per_device_train_batch_size", "num_generations", "do_train",
})  # fmt: skip


def attention(node: Node) -> str | Computed:
    """Return an attention in transformers' words."""
    word = words.text(node)
    return "flash_attention_2" if word == FLASH_ATTN else word


_TOPICS = (
    ("attn_impl", "config.attention", attention),
    ("torch_dtype", "config.weights_dtype", words.loaded_dtype),
    ("dtype", "config.weights_dtype", words.loaded_dtype),
    ("bf16", "config.bf16", words.flag),
    ("fp16", "config.fp16", words.flag),
    ("tuner_type", "config.adapter", words.text),
    ("train_type", "config.adapter", words.text),
    ("sft_type", "config.adapter", words.text),
    ("use_dora", "config.use_dora", words.flag),
    ("target_modules", "config.adapter_modules", words.names),
    ("gradient_checkpointing", "config.gradient_checkpointing", words.flag),
    ("bnb_4bit_compute_dtype", "config.compute_dtype", words.dtype),
    ("device_map", "config.device_map", words.text),
    ("model", "config.model", words.text),
    ("tf32", "config.tf32", words.flag),
)


def recognises(source: Source) -> bool:
    """Return whether it is one: a key of its own beside a model or a dataset."""
    document = source.document()
    if document is None:
        return False
    keys = document.mapping
    return not _OWN_KEYS.isdisjoint(keys) and not _WITH.isdisjoint(keys)


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.framework(KIND, document)
    is_training = not _TRAINING.isdisjoint(document.mapping)
    said.default("config.purpose", document, "training" if is_training else "inference")
    said.take_all(document, _TOPICS)
    words.switched_on(said, document, "use_flash_attn", "config.attention", "flash_attention_2")
    _quantization(said, document)
    if is_training:
        _autocast(said, document)
    return Configuration(source.name, KIND, tuple(said.intents))


def _quantization(said: Said, document: Node) -> None:
    method = document.get("quant_method")
    for key in ("quant_bits", "quantization_bit"):
        bits = document.get(key)
        if bits is None or bits.scalar in (None, 0, "0", "none"):
            continue
        name = "bnb" if method is None or method.value is None else str(method.scalar).lower()
        value = f"{bits.scalar}bit" if name == "bnb" else f"{name}-{bits.scalar}bit"
        said.add("config.quantization", bits, value[:40], key)


def _autocast(said: Said, document: Node) -> None:
    """Say the trainer's autocast: its switches, else what follows from the weights."""
    if words.autocast(said, document, is_off_by_default=False):
        return
    if document.get("bf16") is not None and document.get("fp16") is not None:
        return
    node = document.get("torch_dtype") or document.get("dtype")
    found = words.loaded_dtype(node) if node is not None else "auto"
    if node is None or found == "auto":
        why = "it follows from the dtype of the checkpoint"
        said.add("config.autocast", node or document, Computed(why), "torch_dtype")
    else:
        half = found if isinstance(found, Computed) or found == "bf16" else "fp16"
        said.add("config.autocast", node, half, "torch_dtype")
