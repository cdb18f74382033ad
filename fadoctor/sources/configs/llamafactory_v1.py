"""LLaMA-Factory's second generation of arguments, which names attentions as transformers does.

Read in ``src/llamafactory/v1`` of its repository, October 2026: ``config/model_args.py`` and
``core/model_engine.py`` load weights with ``dtype="auto"`` and hand ``flash_attn`` on as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.kinds import FLASH_ATTN, TRANSFORMERS
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

KIND = "llamafactory-v1"
_OWN_KEYS = frozenset({
    "model_class", "dist_config", "train_dataset", "kernel_config", "sample_backend",
    "peft_config", "quant_config",
})  # fmt: skip


def recognises(source: Source) -> bool:
    """Return whether it is one: a model, and sections of its own."""
    document = source.document()
    if document is None or not document.has("model"):
        return False
    return len(_OWN_KEYS.intersection(document.mapping)) > 1


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.framework(TRANSFORMERS, document)
    said.default("config.weights_dtype", document, "auto")
    if document.get("train_dataset") is not None:
        said.default("config.purpose", document, "training")
    said.take(document, "model", "config.model", words.text)
    said.take(document, FLASH_ATTN, "config.attention", words.text)
    said.take(document, "trust_remote_code", "config.trust_remote_code", words.flag)
    words.switched_on(said, document, "bf16", "config.autocast", "bf16")
    said.take(document, "peft_config.name", "config.adapter", words.text)
    said.take(document, "peft_config.target_modules", "config.adapter_modules", words.names)
    said.take(document, "peft_config.use_dora", "config.use_dora", words.flag)
    said.take(
        document,
        "quant_config.quantization_bit",
        "config.quantization",
        lambda node: f"{node.scalar}bit"[:20],
    )
    return Configuration(source.name, KIND, tuple(said.intents))
