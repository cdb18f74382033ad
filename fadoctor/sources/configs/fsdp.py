"""FSDP: the JSON that transformers' ``fsdp_config`` names.

Read in ``training_args.py`` of transformers 4.57.1: FSDP casts to what the trainer is told, so that
such a file says little about precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

KIND = "fsdp"
_OWN_KEYS = frozenset({
    "fsdp_transformer_layer_cls_to_wrap", "transformer_layer_cls_to_wrap", "fsdp_version",
    "fsdp_auto_wrap_policy", "fsdp_sharding_strategy", "fsdp_min_num_params", "min_num_params",
    "fsdp_backward_prefetch", "backward_prefetch", "fsdp_use_orig_params", "fsdp_offload_params",
    "limit_all_gathers", "reshard_after_forward", "cpu_ram_efficient_loading",
})  # fmt: skip


def recognises(source: Source) -> bool:
    """Return whether it is one, by its own keys."""
    document = source.document()
    return document is not None and not _OWN_KEYS.isdisjoint(document.mapping)


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    for key in ("activation_checkpointing", "fsdp_activation_checkpointing"):
        said.take(document, key, "config.gradient_checkpointing", words.flag)
    for above in ("mixed_precision", "mixed_precision_policy", "fsdp_mixed_precision_policy"):
        section = document.get(above)
        for key in ("param_dtype", "param"):
            if section is not None:
                said.take(section, key, "config.fsdp_precision", words.dtype)
    return Configuration(source.name, KIND, tuple(said.intents))
