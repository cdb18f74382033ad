"""accelerate's YAML: mixed precision, DeepSpeed, FSDP and torch.compile of a launch.

Read in ``commands/config`` and ``utils/dataclasses.py`` of accelerate 1.15.0. What a Trainer is
told itself overrules it; ``bf16: false`` there does not (``training_args.py`` of transformers
5.23.0: the variable that the launcher sets is taken where neither switch is on).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.kinds import ACCELERATE
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

KIND = ACCELERATE
_OWN_KEYS = frozenset({
    "compute_environment", "distributed_type", "num_processes", "main_training_function",
    "machine_rank", "downcast_bf16", "use_cpu", "mixed_precision",
})  # fmt: skip


def recognises(source: Source) -> bool:
    """Return whether it is one: several keys of its own."""
    document = source.document()
    return document is not None and len(_OWN_KEYS.intersection(document.mapping)) > 1


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    node = document.get("mixed_precision")
    if node is not None and node.value is not None:
        word = "no" if node.scalar is False else str(node.scalar).lower()
        said.add("config.accelerate_precision", node, word[:20], "mixed_precision")
        if word in {"bf16", "fp16"}:
            said.add("config.autocast", node, word, "mixed_precision")
        elif word == "fp8":
            said.add("config.fp8", node, value=True, key="mixed_precision")
            said.add("config.autocast", node, "bf16", "mixed_precision")
    dynamo = document.get("dynamo_config", "dynamo_backend")
    if dynamo is not None:
        said.add("config.compile", dynamo, str(dynamo.scalar).lower() != "no", "dynamo_backend")
    file = document.get("deepspeed_config", "deepspeed_config_file")
    if file is not None and file.value is not None:
        other = Computed("it is set in another file")
        said.add("config.deepspeed_precision", file, other, "deepspeed_config_file")
    fsdp = document.get("fsdp_config")
    if fsdp is not None:
        said.take(
            fsdp, "fsdp_activation_checkpointing", "config.gradient_checkpointing", words.flag
        )
    named = words.named_files(document, "deepspeed_config.deepspeed_config_file")
    return Configuration(source.name, KIND, tuple(said.intents), named=named)
