"""Arguments of transformers' Trainer and of TRL, in YAML or JSON.

Read in ``training_args.py`` of transformers 4.57.1 and 5.23.0 and in ``base_config.py`` and
``model_config.py`` of trl 1.16.0: TRL's trainers take bf16 where nothing is said, transformers'
own do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.deepspeed import say_precision
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.kinds import DEEPSPEED, TRANSFORMERS
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = "trainer"
_ARGUMENTS = frozenset({
    "per_device_train_batch_size", "per_device_eval_batch_size", "num_train_epochs",
    "gradient_accumulation_steps", "model_name_or_path", "attn_implementation", "output_dir",
    "lr_scheduler_type", "save_strategy", "eval_strategy", "evaluation_strategy",
    "model_init_kwargs", "warmup_ratio", "logging_steps", "gradient_checkpointing", "torch_compile",
})  # fmt: skip
_OTHERS = frozenset({
    "base_model", "finetuning_type", "cutoff_len", "train_type", "tuner_type", "attn_impl",
    "actor_rollout_ref", "pretrain", "mixed_precision", "precision", "weight_dtype",
})  # fmt: skip
"""Keys of frameworks that share some of these arguments, and of scripts with a loop of their own.

A trainer has no ``mixed_precision`` or ``weight_dtype``: scripts after those of diffusers do.
"""
_TRL = frozenset({
    "use_peft", "packing", "max_length", "max_seq_length", "max_prompt_length", "beta",
    "num_generations", "dataset_name", "dataset_mixer", "dataset_text_field", "loss_type",
    "model_init_kwargs", "lora_target_modules", "chat_template", "use_vllm", "dataset_num_proc",
})  # fmt: skip
_TOPICS = (
    ("bf16", "config.bf16", words.flag),
    ("fp16", "config.fp16", words.flag),
    ("tf32", "config.tf32", words.flag),
    ("attn_implementation", "config.attention", words.text),
    ("dtype", "config.weights_dtype", words.loaded_dtype),
    ("torch_dtype", "config.weights_dtype", words.loaded_dtype),
    ("use_dora", "config.use_dora", words.flag),
    ("lora_target_modules", "config.adapter_modules", words.names),
    ("bnb_4bit_compute_dtype", "config.compute_dtype", words.dtype),
    ("gradient_checkpointing", "config.gradient_checkpointing", words.flag),
    ("torch_compile", "config.compile", words.flag),
    ("trust_remote_code", "config.trust_remote_code", words.flag),
    ("padding_side", "config.padding_side", words.text),
    ("model_name_or_path", "config.model", words.text),
)
_MODEL = (
    ("attn_implementation", "config.attention", words.text),
    ("dtype", "config.weights_dtype", words.loaded_dtype),
    ("torch_dtype", "config.weights_dtype", words.loaded_dtype),
    ("trust_remote_code", "config.trust_remote_code", words.flag),
    ("device_map", "config.device_map", words.text),
)
"""Keywords of from_pretrained, below model_init_kwargs."""


def recognises(source: Source) -> bool:
    """Return whether it is one: several arguments of a trainer, and none of a framework's own."""
    document = source.document()
    return document is not None and _arguments(document) is not None


def _arguments(document: Node) -> Node | None:
    """Return the arguments: the document itself, or what stands below a key that names them."""
    for node in (document, *map(document.get, _BELOW)):
        found = node.mapping if node is not None else {}
        if len(_ARGUMENTS.intersection(found)) > 1 and _OTHERS.isdisjoint(found):
            return node
    return None


_BELOW = ("training_args", "training_arguments", "trainer_args", "train_args")


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    document = _arguments(document) or document
    said.framework(TRANSFORMERS, document)
    said.default("config.purpose", document, "training")
    said.take_all(document, _TOPICS)
    is_trl = not _TRL.isdisjoint(document.mapping)
    words.autocast(said, document, is_off_by_default=not is_trl)
    _older_names(said, document)
    _model_keywords(said, document)
    for key, value in (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit")):
        words.switched_on(said, document, key, "config.quantization", value)
    words.switched_on(said, document, "use_peft", "config.adapter", "lora")
    if (deepspeed := document.get(DEEPSPEED)) is not None and deepspeed.mapping:
        say_precision(said, deepspeed, "deepspeed.")
    named = words.named_files(document, DEEPSPEED, "fsdp_config")
    return Configuration(source.name, KIND, tuple(said.intents), named=named)


def _older_names(said: Said, document: Node) -> None:
    words.switched_on(
        said, document, "use_flash_attention_2", "config.attention", "flash_attention_2"
    )
    words.switched_on(said, document, "use_flash_attn", "config.attention", "flash_attention_2")


def _model_keywords(said: Said, document: Node) -> None:
    keywords = document.get("model_init_kwargs")
    if keywords is None:
        return
    for key, name, meaning in _MODEL:
        said.take(keywords, key, name, meaning)
    for key in ("torch_dtype", "dtype"):
        if (node := keywords.get(key)) is not None:
            said.add("config.dtype_keyword", node, key, f"model_init_kwargs.{key}")
