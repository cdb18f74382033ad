"""vLLM's YAML of arguments (``vllm serve --config``); those of a command line are read alike.

Keys are the options without their dashes, ``-`` and ``_`` alike. Read in the engine arguments of
0.6.3 to 0.8.5 and in ``config/attention.py`` at commit 021ebc5db: names of backends are taken in
any case, and ``auto`` is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.kinds import VLLM
from fadoctor.sources.configs.serving import read_arguments, underscored

if TYPE_CHECKING:
    from fadoctor.sources.configs.intent import Computed, Configuration
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = VLLM
_OWN_KEYS = frozenset({
    "tensor_parallel_size", "max_model_len", "gpu_memory_utilization", "served_model_name",
    "max_num_seqs", "enforce_eager", "max_num_batched_tokens", "enable_prefix_caching",
    "enable_chunked_prefill", "attention_config", "uvicorn_log_level", "swap_space",
    "pipeline_parallel_size", "compilation_config", "enable_auto_tool_choice", "tool_call_parser",
})  # fmt: skip


def backend(text: str) -> str | None:
    """Return a backend as vLLM's list of them has it; None where vLLM is to choose."""
    name = text.strip().upper()[:120]
    return None if name in ("AUTO", "") else name


def _backend(node: Node) -> str | Computed | None:
    found = words.text(node)
    return backend(found) if isinstance(found, str) else found


_TOPICS = (
    ("attention_backend", "config.attention", _backend),
    ("attention_config.backend", "config.attention", _backend),
    ("dtype", "config.weights_dtype", words.loaded_dtype),
    ("kv_cache_dtype", "config.kv_cache_dtype", words.text),
    ("quantization", "config.quantization", words.text),
    ("trust_remote_code", "config.trust_remote_code", words.flag),
    ("model", "config.model", words.text),
)


def recognises(source: Source) -> bool:
    """Return whether it is one: its own options, beside a model or several of them."""
    document = source.document()
    if document is None:
        return False
    keys = underscored(document).mapping
    own = len(_OWN_KEYS.intersection(keys))
    return own > 1 or (own == 1 and "model" in keys)


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    return read_arguments(source, KIND, _TOPICS)
