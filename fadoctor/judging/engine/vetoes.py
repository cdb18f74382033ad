"""Who raised what a pattern finds, and whether it was survived: facts of the place of a match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NEAR = 20
"""Lines around a match in which another program may speak."""

_A_LINE = 300
"""Longest line that says of one program where it is, in characters."""

GOES_ON = 2
"""Lines below a match that may say how the program goes on."""

# ggml_cuda_init: | llama.cpp/src/x.cu | [ollama] | ollama-1 | 2024 ollama[12]: | File "...ollama/x"
_BEFORE = re.compile(r"[\w/\\\[]")
_BEHIND = re.compile(r"[\w/\\\]]|:(?!\s)|-\d|\.\w")

# The last frame of a traceback, and its line of code: File "/v/cupy/__init__.py:17", line 4, in f
_FRAME = re.compile(r"[ \t>]{0,8}File [^\n]{3,400}(?:\n(?!\s{0,8}File )[^\n]{0,400}){0,12}\Z")

# What is there, and does nothing: cupy==13.6.0 | cupy 13.6.0 | cupy is installed, too
_LISTED = re.compile(
    r"[\w-]{0,24}(?:==|[ \t|]{1,40}v?)\d[\w.+]{1,30}[ \t|]{0,40}(?=\n|$|pypi|py\w)"
)
_BESIDE = re.compile(
    r"(?i)\b(?:is|are) (?:also |both )?installed\b|\balso (?:have|use|run)\b"
    r"|\b(?:too|as well|elsewhere)\b\W{0,3}$"
    r"|\bother (?:machine|computer|pc|environment|program)"
    r"|\b(?:another|different) (?:machine|computer|pc|environment)\b"
)

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
    named = [each for each in _named(pattern, text, first, last) if not _is_beside(text, each)]
    if not named:
        return False
    if frame := _FRAME.search(text, first, max(first, found.start())):
        return pattern.search(frame[0]) is not None
    start, end = lines_around(text, found, NEAR, reach)
    if any(start <= each.start() < end and _speaks(text, each) for each in named):
        return True
    return _OURS.search(text, first, last) is None


def _named(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    for number, each in enumerate(pattern.finditer(text, start, end)):
        if number == NEAR:
            return
        yield each


def _is_beside(text: str, named: re.Match[str]) -> bool:
    """Return whether a name is only told to be there: in a list, or as what works elsewhere."""
    start = text.rfind("\n", 0, named.start()) + 1
    end = text.find("\n", named.end())
    line = text[start : end if end >= 0 else len(text)]
    if not text[start : named.start()].strip(" \t|*-") and _LISTED.match(text, named.end()):
        return True
    return len(line) < _A_LINE and _BESIDE.search(line) is not None


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
