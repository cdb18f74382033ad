"""LLaMA-Factory: its YAML and JSON of arguments, and what its WebUI saves.

Read in ``hparams``, ``model/patcher.py``, ``model/adapter.py`` and ``webui/runner.py`` of
llamafactory 0.9.4: without ``bf16`` and ``fp16`` no autocast runs, weights that are trained whole
become float32, and the others are loaded in the half precision that the GPU has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = "llamafactory"
_OWN_KEYS = ("finetuning_type", "flash_attn", "cutoff_len", "dataset_dir", "neat_packing",
             "quantization_bit", "lora_target", "infer_backend", "export_dir",
             "adapter_name_or_path", "infer_dtype")  # fmt: skip
_WEBUI_KEYS = ("top.booster", "train.compute_type", "top.finetuning_type", "top.model_name")
_WHOLE = ("full", "freeze")
"""Ways of training whose weights are made float32, unless pure_bf16 is asked for."""

_TOPICS = (
    ("bf16", "config.bf16", words.flag),
    ("fp16", "config.fp16", words.flag),
    ("tf32", "config.tf32", words.flag),
    ("fp8", "config.fp8", words.flag),
    ("flash_attn", "config.attention", words.text),
    ("use_dora", "config.use_dora", words.flag),
    ("lora_target", "config.adapter_modules", words.names),
    ("upcast_layernorm", "config.upcast_layernorm", words.flag),
    ("trust_remote_code", "config.trust_remote_code", words.flag),
    ("use_unsloth", "config.use_unsloth", words.flag),
    ("torch_compile", "config.compile", words.flag),
    ("finetuning_type", "config.adapter", words.text),
)


def recognises(source: Source) -> bool:
    """Return whether it is one: by keys that no other trainer has together."""
    document = source.document()
    if document is None:
        return False
    own = sum(key in document.mapping for key in _OWN_KEYS)
    is_run = own > 1 or document.has("stage") or document.has("template")
    return any(key in document.mapping for key in _WEBUI_KEYS) or (own > 0 and is_run)


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.framework(KIND, document)
    if any(key in document.mapping for key in _WEBUI_KEYS):
        _webui(said, document)
    else:
        _arguments(said, document)
    named = words.named_files(document, "deepspeed")
    adapters = words.named_files(document, "adapter_name_or_path")
    return Configuration(source.name, KIND, tuple(said.intents), named=named, adapters=adapters)


def _arguments(said: Said, document: Node) -> None:
    said.take_all(document, _TOPICS)
    off = document.get("disable_gradient_checkpointing")
    if off is not None:
        value = words.flag(off) is False
        said.add("config.gradient_checkpointing", off, value, "disable_gradient_checkpointing")
    bits, method = document.get("quantization_bit"), document.get("quantization_method")
    _quantization(said, bits, method)
    _precision(said, document)


def _quantization(said: Said, bits: Node | None, method: Node | None) -> None:
    if bits is None or bits.scalar in (None, "none"):
        return
    value: str | Computed = f"{bits.scalar}bit"
    if method is not None and str(method.scalar).lower() not in {"bnb", "bitsandbytes"}:
        value = f"{method.scalar}-{value}".lower()[:40]
    said.add("config.quantization", bits, value, "quantization_bit")


def _precision(said: Said, document: Node) -> None:
    """Say what autocast and weights come to."""
    if document.get("stage") is None and document.get("do_train") is None:
        node = document.get("infer_dtype")
        said.default("config.purpose", document, "inference")
        if node is not None and node.scalar != "auto":
            said.add("config.weights_dtype", node, words.dtype(node), "infer_dtype")
        return
    said.default("config.purpose", document, "training")
    pure = document.get("pure_bf16")
    if pure is not None and words.flag(pure) is True:
        said.default("config.autocast", pure, None)
        said.add("config.weights_dtype", pure, "bf16", "pure_bf16")
        return
    if words.autocast(said, document):
        return
    way = document.get("finetuning_type")
    if way is not None and way.scalar in _WHOLE:
        said.add("config.weights_dtype", way, "fp32", "finetuning_type")


def _webui(said: Said, document: Node) -> None:
    booster = document.get("top.booster")
    if booster is not None:
        attention = "fa2" if booster.scalar == "flashattn2" else "auto"
        said.add("config.attention", booster, attention, "top.booster")
        said.add("config.use_unsloth", booster, booster.scalar == "unsloth", "top.booster")
    compute = document.get("train.compute_type")
    way = document.get("top.finetuning_type")
    said.default("config.purpose", document, "training")
    if compute is not None:
        _webui_precision(said, compute, way)
    if way is not None:
        said.add("config.adapter", way, words.text(way), "top.finetuning_type")
        if way.scalar == "lora":
            dora = document.get("train.use_dora")
            if dora is not None:
                said.add("config.use_dora", dora, words.flag(dora), "train.use_dora")
            target = document.get("train.lora_target")
            if target is not None and target.scalar:
                said.add("config.adapter_modules", target, words.names(target), "train.lora_target")
    bits, method = document.get("top.quantization_bit"), document.get("top.quantization_method")
    _quantization(said, bits, method)


def _webui_precision(said: Said, compute: Node, way: Node | None) -> None:
    word = str(compute.scalar)
    key = "train.compute_type"
    said.add("config.bf16", compute, word == "bf16", key)
    said.add("config.fp16", compute, word == "fp16", key)
    half = word if word in {"bf16", "fp16"} else None
    if half is None:
        said.default("config.autocast", compute, None)
    else:
        said.add("config.autocast", compute, half, key)
    if word == "pure_bf16":
        said.add("config.weights_dtype", compute, "bf16", key)
    elif half is None and way is not None and way.scalar in _WHOLE:
        said.add("config.weights_dtype", way, "fp32", "top.finetuning_type")
