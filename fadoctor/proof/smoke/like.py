"""The attention of a model, read from its ``config.json``: what ``smoke --like`` tries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.knowledge.matrix.model_shapes import (
    HEAD_DIM,
    HEADS,
    HIDDEN,
    LATENT,
    UNKNOWN,
    Shape,
    default_shapes,
)
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.model.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOST_BYTES = 4 << 20
_PARTS = ("text_config", "language_config", "llm_config", "thinker_config", "decoder")
"""Where a model of several parts keeps what is asked for; its first part that has heads counts."""

_KV_HEADS = (
    "num_key_value_heads",
    "n_head_kv",
    "num_kv_heads",
    "n_kv_heads",
    "kv_n_heads",
    "multi_query_group_num",
)
_SOFTCAP = ("attn_logit_softcapping", "attn_logit_softcap")
_LARGEST_DIM, _MOST_HEADS, _LARGEST_CAP = 1024, 1024, 1e6


class Like(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model's attention is given."""

    heads: int
    kv_heads: int
    head_dim: int
    window: int = 0
    """Keys that a query of some layers sees; 0: all."""
    softcap: float = 0.0
    """What bounds the logits; 0: nothing."""
    sinks: bool = False
    causal: bool = True
    value_dim: int = 0
    """Dimension of a value's head where it is not that of a key's."""

    def __str__(self) -> str:
        """Return ``32 heads, 8 of keys, head dimension 128``."""
        parts = [f"{self.heads} heads, {self.kv_heads} of keys, head dimension {self.head_dim}"]
        parts += [f"{self.value_dim} of values"] if self.value_dim else []
        parts += ["causal" if self.causal else "not causal"]
        parts += [f"window {self.window}"] if self.window else []
        parts += [f"softcap {self.softcap:g}"] if self.softcap else []
        return ", ".join([*parts, *(["sinks"] if self.sinks else [])])


def read_like(path: Path, with_sinks: frozenset[str]) -> Like:
    """Return the attention that a configuration describes; UsageError where it describes none.

    `path` is the file, or a folder that holds it. `with_sinks` are types of models with sinks.
    """
    file = path / "config.json" if path.is_dir() else path
    shown = printable(str(path), 80)
    try:
        data = read_bytes(file, _MOST_BYTES + 1)
        found = json.loads(data) if len(data) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no JSON"
        raise UsageError(f"--like {shown}: {reason}") from error
    if not isinstance(found, dict):
        raise UsageError(f"--like {shown}: it is no configuration of a model")
    like = like_of(found, with_sinks)
    if like is None:
        raise UsageError(f"--like {shown}: it names no attention heads and no head dimension")
    return like


def like_of(config: dict[str, Any], with_sinks: frozenset[str]) -> Like | None:
    """Return the attention of a configuration, None where it has no heads."""
    part = next((each for each in _parts(config) if _heads(each)), None)
    if part is None:
        return None
    heads = _heads(part)
    head_dim, value_dim = _dimensions(part, heads)
    kv_heads = _kv_heads(part) or _usual(part).kv_heads or heads
    if not head_dim or heads % kv_heads:
        return None
    types = {str(each.get("model_type", ""))[:80] for each in (config, part)}
    return Like(
        heads,
        kv_heads,
        head_dim,
        window=_window(part),
        softcap=_softcap(part),
        sinks=not types.isdisjoint(with_sinks),
        causal=not _is(part, "is_encoder") and not _is_encoder(config, part),
        value_dim=value_dim,
    )


def _parts(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a configuration, its parts, and theirs: an omni model's text is two levels down."""
    yield config
    below = [config[name] for name in _PARTS if isinstance(config.get(name), dict)]
    yield from below
    for each in below:
        yield from (each[name] for name in _PARTS if isinstance(each.get(name), dict))


def _heads(part: dict[str, Any]) -> int:
    """Return how many heads of queries there are; those of a state space are none."""
    if "state_size" in part and "num_attention_heads" not in part:
        return 0
    return _number(part, HEADS, _MOST_HEADS) or _usual(part).heads


def _usual(part: dict[str, Any]) -> Shape:
    """Return what the class of a model takes where its configuration is silent."""
    return default_shapes().get(str(part.get("model_type", ""))[:80], UNKNOWN)


def _kv_heads(part: dict[str, Any]) -> int:
    """Return how many heads of keys a configuration names, 0 where it names none."""
    if _is(part, "multi_query") and not _is(part, "new_decoder_architecture"):
        return 1  # Falcon-7B names all of its heads beside it
    inner = part.get("attn_config")
    return _number(inner if isinstance(inner, dict) else part, _KV_HEADS, _MOST_HEADS)


def _dimensions(part: dict[str, Any], heads: int) -> tuple[int, int]:
    """Return the dimension of a key's head, and that of a value's where it is another."""
    latent = [_number(part, (name,), _LARGEST_DIM) for name in LATENT]
    if all(latent):
        key, value = sum(latent), _number(part, ("v_head_dim",), _LARGEST_DIM)
        return key, value if value != key else 0
    usual = _usual(part)
    named = _number(part, HEAD_DIM, _LARGEST_DIM) or (usual.head_dim if _is_open(part) else 0)
    width = _number(part, HIDDEN, 1 << 20) or usual.hidden
    return named or min(width // heads, _LARGEST_DIM), 0


def _is_open(part: dict[str, Any]) -> bool:
    """Return whether a configuration leaves the head dimension to its class: null is a value."""
    return not any(name in part for name in HEAD_DIM)


def _number(part: dict[str, Any], names: tuple[str, ...], most: int) -> int:
    values = (part.get(name) for name in names)
    return next((x for x in values if type(x) is int and 0 < x <= most), 0)


def _is(part: dict[str, Any], name: str) -> bool:
    return part.get(name) is True


def _is_encoder(config: dict[str, Any], part: dict[str, Any]) -> bool:
    """Return whether a model only encodes, or denoises: none of its positions waits for another."""
    if "_class_name" in config:  # diffusers
        return True
    if _is(part, "is_decoder") or _is(config, "is_encoder_decoder"):
        return False
    if "patch_size" in part and "vocab_size" not in part and "vocab_size" not in config:
        return True
    names = part.get("architectures") or config.get("architectures")
    known = [str(name) for name in names[:8]] if isinstance(names, list) else []
    tasks = ("MaskedLM", "PreTraining", "ImageClassification", "TokenClassification", "CTC")
    ends = tuple(f"For{task}" for task in tasks)
    return "type_vocab_size" in part or any(name.endswith(ends) for name in known)


def _window(part: dict[str, Any]) -> int:
    """Return the window of the layers that have one; a switch may turn it off."""
    if part.get("use_sliding_window") is False:
        return 0
    kinds = part.get("layer_types")
    if isinstance(kinds, list) and "sliding_attention" not in kinds:
        return 0
    return _number(part, ("sliding_window", "window_size", "local_attention"), 1 << 24)


def _softcap(part: dict[str, Any]) -> float:
    values = [part.get(name) for name in _SOFTCAP]
    numbers = [float(x) for x in values if isinstance(x, int | float) and not isinstance(x, bool)]
    return next((x for x in numbers if 0 < x < _LARGEST_CAP), 0.0)
