"""verl's hydra configurations, whole or as the overrides of a command line.

Read in ``workers/fsdp_workers.py``, ``workers/actor/dp_actor.py`` and ``trainer/config`` at commit
b178a3cd5: with FSDP the actor is loaded with FlashAttention-2 unless ``override_config`` says
otherwise, its weights are float32, and it computes under autocast in bfloat16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.kinds import VERL
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = VERL
_ACTOR = "actor_rollout_ref"
_TOPICS = (
    (f"{_ACTOR}.model.override_config.attn_implementation", "config.attention", words.text),
    (f"{_ACTOR}.actor.fsdp_config.model_dtype", "config.weights_dtype", words.loaded_dtype),
    (f"{_ACTOR}.actor.fsdp_config.dtype", "config.autocast", words.dtype),
    (f"{_ACTOR}.actor.fsdp_config.mixed_precision.param_dtype", "config.fsdp_precision",
     words.dtype),
    (f"{_ACTOR}.model.enable_gradient_checkpointing", "config.gradient_checkpointing", words.flag),
    (f"{_ACTOR}.model.trust_remote_code", "config.trust_remote_code", words.flag),
    (f"{_ACTOR}.model.target_modules", "config.adapter_modules", words.names),
    (f"{_ACTOR}.model.path", "config.model", words.text),
    ("model.fsdp_config.model_dtype", "config.weights_dtype", words.loaded_dtype),
    ("model.enable_gradient_checkpointing", "config.gradient_checkpointing", words.flag),
    ("model.trust_remote_code", "config.trust_remote_code", words.flag),
    ("model.partial_pretrain", "config.model", words.text),
)  # fmt: skip
_FSDP = ("fsdp", "fsdp2")


def recognises(source: Source) -> bool:
    """Return whether it is one: an actor with its rollout, or the sections of its SFT trainer."""
    document = source.document()
    if document is None:
        return False
    actor = document.get(_ACTOR)
    return (actor is not None and bool(actor.mapping)) or (
        document.get("model", "partial_pretrain") is not None
    )


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.framework(KIND, document)
    said.default("config.purpose", document, "training")
    said.take_all(document, _TOPICS)
    rank = document.get(_ACTOR, "model", "lora_rank") or document.get("model", "lora_rank")
    if rank is not None and words.integer(rank) != 0:
        said.add("config.adapter", rank, "lora", "lora_rank")
    strategy = document.get(_ACTOR, "actor", "strategy")
    if strategy is None or strategy.scalar in _FSDP:
        _fsdp(said, document)
    return Configuration(source.name, KIND, tuple(said.intents))


def _fsdp(said: Said, document: Node) -> None:
    """Say what holds with FSDP where the file is silent."""
    actor = document.get(_ACTOR) or document
    said.default("config.attention", actor, "flash_attention_2")
    said.default("config.weights_dtype", actor, "fp32")
    said.default("config.autocast", actor, "bf16")
