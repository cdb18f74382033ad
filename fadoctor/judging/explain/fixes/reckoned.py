"""Numbers of a fix that follow from the numbers of a log: jobs of a build, a share of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.fixes.situations import LINE, LINES
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.likely_lines import matches
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# 16 GB RAM | 31.2GiB of system memory | 64G DDR5, and not 16 GB VRAM
_AMOUNT = compiled(
    r"(?i)(?<![\w.])(?P<amount>\d{1,4})(?:\.\d{1,2})? ?G(?:i?B|o)? (?:of )?"
    r"(?:system |host |main |physical |total |cpu )?"
    r"(?:RAM\b|DDR\d|memory\b(?! (?:on|of) the (?:gpu|card)))"
)
# 16GB内存 | 16G的内存
_BEFORE = compiled(r"(?<![\w.])(?P<amount>\d{1,4}) ?G(?:i?B)?(?: of)? ?\u7684?\u5185\u5b58")
# RAM: 32 GB | system memory = 16GiB | 内存 32G
_LABELLED = compiled(
    r"(?i)(?<![\w-])(?:RAM|(?:system|host|physical|total) (?:RAM|memory)|内存|記憶體)"
    r"(?: ?[:=] ?| (?:is|of) | )(?P<amount>\d{1,4})(?:\.\d{1,2})? ?G(?:i?B)?\b"
)
# Mem:           31Gi       2.1Gi, as `free -h` prints it
_FREE = compiled(r"^\s{0,4}Mem:\s{1,20}(?P<amount>\d{1,4})(?:\.\d{1,2})?G")
# Free memory on device cuda:0 (5.40/23.64 GiB) on startup is less than desired
_LEFT = compiled(
    r"Free memory on device [^\n(]{0,16}"
    r"\((?P<free>\d{1,4}\.\d{1,3})/(?P<total>\d{1,4}\.\d{1,3}) GiB\)"
)
# MAX_JOBS=4 pip install flash-attn: so many were too many
_TAKEN = compiled(r"MAX_JOBS[= ]{1,3}[\"']?(?P<jobs>\d{1,3})\b")
_GIB_OF_JOB = 9
"""What a job that compiles FlashAttention's kernels uses."""
_MOST_JOBS, _LEAST_SHARE, _HUNDRED = 32, 10, 100


def reckoned(lines: Sequence[str], memory: Fact) -> dict[str, Fact]:
    """Return the jobs that fit into the machine's memory, and the share of a GPU that is free.

    `memory`: that of the machine in bytes, where a report names it.
    """
    texts = [line[:LINE] for line in ends_of(lines, LINES)]
    return {
        "log.jobs": _fact(_jobs(texts, memory), "memory of the machine"),
        "log.gpu_share": _fact(_share(texts), "GPU that is partly free"),
    }


def _fact(found: str, what: str) -> Fact:
    return Known(found, "the log") if found else Absent(f"the log names no {what}")


def _jobs(lines: Sequence[str], memory: Fact) -> str:
    """Return the number of jobs by the smallest memory that is named, "" where none is."""
    if isinstance(memory, Known):
        amounts = {int(str(memory.value)) >> 30}
    else:
        amounts = {int(found) for found in _amounts(lines)}
    taken = {int(found["jobs"]) // 2 for found in matches(_TAKEN, lines)}
    least = min(amounts, default=0)
    return str(max(min(least // _GIB_OF_JOB, _MOST_JOBS, *taken), 1)) if least else ""


def _amounts(lines: Sequence[str]) -> Iterable[str]:
    for pattern in (_AMOUNT, _BEFORE, _LABELLED, _FREE):
        yield from (found["amount"] for found in matches(pattern, lines))


def _share(lines: Sequence[str]) -> str:
    """Return the free share of the fullest GPU in hundredths, rounded down; "" for next to none."""
    shares = [
        int(float(found["free"]) / float(found["total"]) * _HUNDRED)
        for found in matches(_LEFT, lines)
        if float(found["total"])
    ]
    least = min(shares, default=0)
    return f"0.{least:02d}" if _LEAST_SHARE <= least < _HUNDRED else ""
