"""OpenRLHF's arguments: dotted (``--ds.param_dtype``), and flat in the releases before.

Read in ``openrlhf/cli`` and ``utils/deepspeed`` at commit 3c3be623 and at those that changed them
(397d6a1c, c250c21a, cd7a434f, ed62d0e2): DeepSpeed casts the model to ``param_dtype``, bf16 unless
told otherwise; attention is FlashAttention-2 by default since it has a name of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.kinds import FLASH_ATTN, OPENRLHF
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = OPENRLHF
_TOPICS = (
    ("ds.attn_implementation", "config.attention", words.text),
    ("attn_implementation", "config.attention", words.text),
    ("ds.lora.target_modules", "config.adapter_modules", words.names),
    ("target_modules", "config.adapter_modules", words.names),
    ("model.gradient_checkpointing_enable", "config.gradient_checkpointing", words.flag),
    ("gradient_checkpointing", "config.gradient_checkpointing", words.flag),
    ("model.model_name_or_path", "config.model", words.text),
    ("pretrain", "config.model", words.text),
)
_DTYPES = ("ds.param_dtype", "param_dtype", "data_type")
_FLAT = ("pretrain", "zero_stage", "micro_train_batch_size", "train_batch_size", "max_len",
         "packing_samples", "input_key", "actor_num_gpus_per_node", "prompt_data")  # fmt: skip


def recognises(source: Source) -> bool:
    """Return whether it is one: its section of DeepSpeed, or several of its flat arguments."""
    document = source.document()
    if document is None:
        return False
    section = document.get("ds")
    has_section = section is not None and any(
        section.get(key) is not None for key in ("param_dtype", "zero_stage", "attn_implementation")
    )
    return has_section or sum(document.get(key) is not None for key in _FLAT) > 2


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.framework(KIND, document)
    said.default("config.purpose", document, "training")
    said.take_all(document, _TOPICS)
    words.switched_on(said, document, FLASH_ATTN, "config.attention", "flash_attention_2")
    for node in (document.get("ds") or document, document):
        words.switched_on(said, node, "load_in_4bit", "config.quantization", "4bit")
    rank = document.get("ds", "lora", "rank") or document.get("lora_rank")
    if rank is not None and words.integer(rank) != 0:
        said.add("config.adapter", rank, "lora", "lora_rank")
    _precision(said, document)
    return Configuration(source.name, KIND, tuple(said.intents))


def _precision(said: Said, document: Node) -> None:
    """Say the precision of DeepSpeed, which the model is cast to."""
    for path in _DTYPES:
        if said.take(document, path, "config.deepspeed_precision", words.dtype) is not None:
            return
    words.switched_on(said, document, "bf16", "config.deepspeed_precision", "bf16")
    section = document.get("ds")
    if section is not None:
        said.default("config.deepspeed_precision", section, "bf16")
        said.default("config.attention", section, "flash_attention_2")
