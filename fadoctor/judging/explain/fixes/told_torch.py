"""The torch and the CUDA that a text names in words, where it names one: a file is chosen by them.

A torch that somebody asks about need not be installed, so that it is no fact of the environment.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fadoctor.syntax.likely_lines import matches
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NEWER = (
    "Each takes the wheel for this torch, Python and ABI. With a newer torch, take a third party's "
    "file with torch, CUDA and Python in its name: "
    "https://github.com/mjun0812/flash-attention-prebuild-wheels/releases"
)
"""What is said behind commands that name the releases of torch which they serve."""

# torch 2.9.0 | PyTorch version: 2.9 | torch==2.9.1+cu128 | torch2.9cxx11abiTRUE
_TORCH = compiled(
    r"(?i)(?<![a-z])(?:py)?torch(?:[ :=v-]|\u7248\u672c|version|is ){0,12}"
    r"(?P<minor>2\.\d{1,2})(?!\d|\.\d{3})"
)
# cu130 | CUDA 13 | CUDA: 12.8 | cuda12.9
_CUDA = compiled(r"(?i)\bcu(?P<label>1[1-3])\d(?!\d)|\bcuda[ :=v-]{0,3}(?P<major>1[1-3])(?!\d)")


def told_torch(lines: Iterable[str]) -> str:
    """Return the one minor release of torch that lines name, "" for none and for several."""
    found = {each["minor"] for each in matches(_TORCH, lines)}
    return found.pop() if len(found) == 1 else ""


def told_major(lines: Iterable[str]) -> str:
    """Return the major release of CUDA that lines name most often, "" where two are as frequent."""
    found = Counter(each["label"] or each["major"] for each in matches(_CUDA, lines)).most_common(2)
    is_clear = len(found) == 1 or (len(found) > 1 and found[0][1] > found[1][1])
    return found[0][0] if is_clear else ""


def told_first(cudas: Sequence[str], lines: Iterable[str]) -> list[str]:
    """Return releases of CUDA with those of the one major first that lines name."""
    found = {each["label"] or each["major"] for each in matches(_CUDA, lines)}
    told = found.pop() if len(found) == 1 else ""
    return sorted(cudas, key=lambda each: each.partition(".")[0] != told)
