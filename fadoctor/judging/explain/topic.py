"""Whether a text is about attention, GPUs, their compilers or frameworks at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.names import GPU_NAME
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.logs.cleaning import Line

# Parts of words (flash_attn_func, xformers_attention) and whole ones.
_PARTS = compiled(
    r"flash.?att|attention|attn|xformers|triton|cuda|cudnn|nvcc|ptxas|rocm|bfloat16|float16|torch"
    r"|vllm|sglang|unsloth|bitsandbytes|deepspeed|transformers|nvidia|ninja: build|undefined symbol"
    r"|dll load failed|\u6ce8\u610f\u529b|\u663e\u5361|\u986f\u5361",
    re.IGNORECASE,
)
_WORDS = compiled(
    r"(?i)\b(?:gpus?|(?:video|graphics) cards?|bf16|fp16|fp8|sdpa|dtype|hip|geforce"
    r"|llama[-_]?factory|peft|trl)\b"
)


def is_on_topic(lines: Iterable[Line]) -> bool:
    """Return whether a word of the field stands in some line."""
    return any(
        _PARTS.search(line.text) or _WORDS.search(line.text) or GPU_NAME.search(line.text)
        for line in lines
    )
