"""axolotl's YAML.

Read in ``utils/config``, ``utils/schemas`` and ``core/builders/base.py`` at commit 067b021c8: bf16
is ``auto`` where nothing is said, the weights are float32 where no half precision is asked for, and
the older switches of the attention are names of ``attn_implementation``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = "axolotl"
_OWN_KEYS = frozenset({
    "base_model", "datasets", "micro_batch_size", "sequence_len", "sample_packing", "val_set_size",
    "dataset_prepared_path", "flash_attention", "sdp_attention", "xformers_attention",
    "lora_target_linear", "rl", "adapter", "special_tokens", "pad_to_sequence_len", "chat_template",
})  # fmt: skip

_SWITCHES = (
    ("xformers_attention", "xformers"), ("sage_attention", "sage"),
    ("flex_attention", "flex_attention"), ("flash_attention", "flash_attention_2"),
    ("sdp_attention", "sdpa"), ("eager_attention", "eager"),
)  # fmt: skip
"""Older switches and what they mean; the first one that is on counts."""

_TOPICS = (
    ("attn_implementation", "config.attention", words.text),
    ("fp16", "config.fp16", words.flag),
    ("fp8", "config.fp8", words.flag),
    ("adapter", "config.adapter", words.text),
    ("peft_use_dora", "config.use_dora", words.flag),
    ("lora_target_modules", "config.adapter_modules", words.names),
    ("trust_remote_code", "config.trust_remote_code", words.flag),
    ("base_model", "config.model", words.text),
    ("device_map", "config.device_map", words.text),
)
_AUTO = Computed("bf16 where the GPU is said to have it, fp16 elsewhere")


def recognises(source: Source) -> bool:
    """Return whether it is one: a base model, and other keys of its own."""
    document = source.document()
    if document is None or document.get("base_model") is None:
        return False
    return len(_OWN_KEYS.intersection(document.mapping)) > 1


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.framework(KIND, document)
    said.default("config.purpose", document, "training")
    said.take_all(document, _TOPICS)
    for key, value in _SWITCHES:
        node = document.get(key)
        if node is not None and words.flag(node) is not False:
            words.switched_on(said, document, key, "config.attention", value)
            break
    for key, value in (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit")):
        words.switched_on(said, document, key, "config.quantization", value)
    linear = document.get("lora_target_linear")
    if linear is not None and words.flag(linear) is True:
        said.add("config.adapter_modules", linear, ("all-linear",), "lora_target_linear")
    _loose_switches(said, document)
    _precision(said, document)
    named = words.named_files(document, "deepspeed")
    adapters = words.named_files(document, "lora_model_dir")
    return Configuration(source.name, KIND, tuple(said.intents), named=named, adapters=adapters)


def _loose_switches(said: Said, document: Node) -> None:
    """Read what may be a word as well as a switch: ``auto``, ``offload``."""
    for key, name in (
        ("tf32", "config.tf32"),
        ("gradient_checkpointing", "config.gradient_checkpointing"),
        ("torch_compile", "config.compile"),
    ):
        node = document.get(key)
        if node is None or node.value is None:
            continue
        value = words.flag(node)
        is_word = isinstance(value, Computed) and not words.is_open(node)
        is_on = is_word and key == "gradient_checkpointing"
        said.add(name, node, True if is_on else value, key)


def _precision(said: Said, document: Node) -> None:
    """Say what autocast and weights come to, from six switches."""
    bf16, fp16 = document.get("bf16"), document.get("fp16")
    pure = _is_on(document, "bfloat16")
    if bf16 is not None and bf16.scalar == "full":
        said.add("config.bf16", bf16, value=True, key="bf16")
        said.add("config.weights_dtype", bf16, "bf16", "bf16")
        said.default("config.autocast", bf16, None)
        return
    state = words.flag(bf16) if bf16 is not None and bf16.value is not None else _AUTO
    if bf16 is not None and bf16.value is not None:
        said.add("config.bf16", bf16, _AUTO if bf16.scalar == "auto" else state, "bf16")
    if state is True or pure is True:
        at = bf16 if state is True and bf16 is not None else document.get("bfloat16")
        if at is not None:
            said.add("config.autocast", at, "bf16", "bf16")
            said.add("config.weights_dtype", at, "bf16", "bf16")
        return
    half = _is_on(document, "fp16")
    if half is True and fp16 is not None:  # fp16 turns `auto` off
        said.add("config.autocast", fp16, "fp16", "fp16")
        said.add("config.weights_dtype", fp16, "fp16", "fp16")
    elif isinstance(state, Computed) or isinstance(half, Computed) or isinstance(pure, Computed):
        said.add("config.dtype_chosen", bf16 or document, "by torch", "bf16")
        said.add("config.autocast", bf16 or document, _AUTO, "bf16")
        said.add("config.weights_dtype", bf16 or document, _AUTO, "bf16")
    else:
        is_half = any(_is_on(document, key) is not False for key in ("float16", "load_in_8bit"))
        said.default("config.autocast", bf16 or document, None)
        said.add("config.weights_dtype", bf16 or document, "fp16" if is_half else "fp32", "bf16")


def _is_on(document: Node, key: str) -> bool | Computed:
    node = document.get(key)
    if node is None or node.value is None:
        return False
    return Computed("a variable of the file") if words.is_open(node) else words.flag(node)
