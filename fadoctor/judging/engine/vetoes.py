"""Who raised what a pattern finds, and whether it was survived: facts of the place of a match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NEAR = 20
"""Lines around a match in which another program may speak."""

GOES_ON = 2
"""Lines below a match that may say how the program goes on."""

# ggml_cuda_init: | llama.cpp/src/x.cu | [ollama] | ollama-1 | 2024 ollama[12]: | File "...ollama/x"
_BEFORE = re.compile(r"[\w/\\\[]")
_BEHIND = re.compile(r"[\w/\\\]]|:(?!\s)|-\d|\.\w")

# What shows that Python code of the field is at work.
_OURS = re.compile(
    r"(?i)torch|transformers|xformers|vllm|sglang|diffusers|comfy|unsloth|site-packages|\.py\b"
)


def is_of_others(pattern: re.Pattern[str], text: str, found: re.Match[str], reach: int) -> bool:
    """Return whether another program raised a match: it speaks there, or is the only one named.

    A sentence elsewhere that merely names it says nothing about who failed.
    """
    start, end = lines_around(text, found, 0, reach)
    if pattern.search(text, start, end):
        return True
    first, last = max(0, found.start() - reach), found.end() + reach
    named = list(_named(pattern, text, first, last))
    if not named:
        return False
    start, end = lines_around(text, found, NEAR, reach)
    if any(start <= each.start() < end and _speaks(text, each) for each in named):
        return True
    return _OURS.search(text, first, last) is None


def _named(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    for number, each in enumerate(pattern.finditer(text, start, end)):
        if number == NEAR:
            return
        yield each


def _speaks(text: str, named: re.Match[str]) -> bool:
    """Return whether a name stands as programs write it: in a path, a prefix, a symbol."""
    start, end = named.span()
    begins = start == 0 or text[start - 1] == "\n"
    if _BEHIND.match(text, end) or (begins and text.startswith(":", end)):
        return True
    return not begins and _BEFORE.match(text[start - 1]) is not None


def is_survived(pattern: re.Pattern[str], text: str, found: re.Match[str], reach: int) -> bool:
    """Return whether the lines of a match, or the next ones, say how the program goes on."""
    start = lines_around(text, found, 0, reach)[0]
    end = lines_around(text, found, GOES_ON, reach)[1]
    return pattern.search(text, start, end) is not None


def lines_around(text: str, found: re.Match[str], more: int, reach: int) -> tuple[int, int]:
    """Return where the lines of a match begin and end, and so many more on either side."""
    floor, ceiling = max(0, found.start() - reach), min(len(text), found.end() + reach)
    start, end = found.start(), found.end()
    for _ in range(more + 1):
        start = text.rfind("\n", floor, max(floor, start))
        if start < 0:
            start = floor - 1
            break
    for number in range(more + 1):
        end = text.find("\n", end + bool(number), ceiling)
        if end < 0:
            end = ceiling
            break
    return start + 1, end
