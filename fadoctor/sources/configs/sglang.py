"""SGLang's YAML of arguments (``launch_server --config``); those of a command line are read alike.

Keys are the options of ``server_args.py`` of sglang 0.5.9 without their dashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.kinds import SGLANG
from fadoctor.sources.configs.serving import read_arguments, underscored

if TYPE_CHECKING:
    from fadoctor.sources.configs.intent import Configuration
    from fadoctor.sources.configs.source import Source

KIND = SGLANG
_OWN_KEYS = frozenset({
    "model_path", "mem_fraction_static", "tp_size", "tp", "context_length", "schedule_policy",
    "chunked_prefill_size", "prefill_attention_backend", "decode_attention_backend",
    "sampling_backend", "cuda_graph_max_bs", "disable_cuda_graph", "mm_attention_backend",
    "schedule_conservativeness", "max_running_requests", "disable_radix_cache",
})  # fmt: skip
_TOPICS = (
    ("attention_backend", "config.attention", words.text),
    ("prefill_attention_backend", "config.attention", words.text),
    ("decode_attention_backend", "config.attention", words.text),
    ("dtype", "config.weights_dtype", words.loaded_dtype),
    ("kv_cache_dtype", "config.kv_cache_dtype", words.text),
    ("quantization", "config.quantization", words.text),
    ("trust_remote_code", "config.trust_remote_code", words.flag),
    ("model_path", "config.model", words.text),
    ("model", "config.model", words.text),
)


def recognises(source: Source) -> bool:
    """Return whether it is one: several of its own options."""
    document = source.document()
    return document is not None and len(_OWN_KEYS.intersection(underscored(document).mapping)) > 1


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    return read_arguments(source, KIND, _TOPICS)
