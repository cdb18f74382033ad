"""Lists of ``- key: value``: reports of transformers, accelerate, LLaMA-Factory, diffusers.

- `transformers` version: 4.57.1
- PyTorch version (GPU?): 2.8.0+cu128 (True)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.environment import SUBJECT_LIMIT
from fadoctor.sources.pasted.claims import (
    AVAILABLE,
    RUNTIME,
    Claim,
    PastedLine,
    gpu_claims,
    platform_claims,
)
from fadoctor.sources.pasted.sizes import size_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "a report of transformers, accelerate or LLaMA-Factory"

_PAIR = compiled(r"\s{0,8}[-*]\s{1,4}(?P<key>[^:\n]{2,80}?)\s{0,4}:\s{1,4}(?P<value>[^\n]{1,300})")
_EDGES = 3
"""Bars in a row of two cells."""
_VERSION = compiled(r"(?P<found>\d{1,5}(?:\.\d{1,5}){1,3}[\w.+-]{0,60})(?P<rest> .{0,80})?")
_COUNT = compiled(r"\d{1,3}")
_NAMES = {
    "transformers": "transformers",
    "accelerate": "accelerate",
    "llamafactory": "llamafactory",
    "peft": "peft",
    "trl": "trl",
    "deepspeed": "deepspeed",
    "bitsandbytes": "bitsandbytes",
    "vllm": "vllm",
    "numpy": "numpy",
    "datasets": "datasets",
    "diffusers": "diffusers",
    "xformers": "xformers",
    "safetensors": "safetensors",
    "huggingface_hub": "huggingface-hub",
    "liger-kernel": "liger-kernel",
}
"""First word of a key, in lower case -> the distribution."""


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what the lists say."""
    kind, many = "", 0
    for line in lines:
        pair = _PAIR.fullmatch(line.text) or _PAIR.fullmatch(_listed(line.text))
        if pair is None:
            continue
        key = re.sub(r"[`*_🤗\ufe0f]{1,4}", lambda m: "_" if m[0] == "_" else "", pair["key"])
        key, value = key.strip().lower(), pair["value"].strip()
        if key == "platform":
            yield from platform_claims(value, line.number, TOOL)
        elif key in ("gpu type", "gpu model"):
            kind, many = value, 1
            yield from gpu_claims(0, value, line.number, TOOL)
        elif key == "gpu memory" and kind and (memory := size_of(value)):
            for index in range(many):
                yield Claim(f"gpu[{index}].memory_bytes", memory, line.number, TOOL)
        elif key == "gpu number" and _COUNT.fullmatch(value):
            many = min(int(value), SUBJECT_LIMIT)
            for index in range(1, many if kind else 0):
                yield from gpu_claims(index, kind, line.number, TOOL)
        else:
            yield from _version(key, value, line.number)


def _listed(text: str) -> str:
    """Return a row of a table of two columns as the lists have it; "" for any other line."""
    if text.count("|") != _EDGES:
        return ""
    before, key, value, behind = (cell.strip() for cell in text.split("|"))
    return "" if before or behind else f"- {key}: {value}"


def _version(key: str, value: str, line: int) -> Iterator[Claim]:
    found = _VERSION.fullmatch(value)
    if found is None or "version" not in key:
        return
    word = key.partition(" ")[0]
    if key.startswith("pytorch version"):
        yield Claim(RUNTIME, found["found"], line, TOOL)
        if "(true)" in value.lower() or "(gpu)" in value.lower():
            yield Claim(AVAILABLE, True, line, TOOL)
    elif key == "python version":
        yield Claim("python.version", found["found"], line, TOOL)
    elif word in _NAMES:
        yield Claim(f"package:{_NAMES[word]}", found["found"], line, TOOL)
