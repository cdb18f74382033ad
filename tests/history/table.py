"""The verdicts of one torch release as text that a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.diagnose import diagnose
from fadoctor.model.verdict import Backend, Dtype, Predicted, Verdict
from tests.history.environments import (
    ATTENTION,
    DRIVER,
    GLIBC,
    GPUS,
    Stack,
    environment,
    stacks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.rule import Knowledge

BROUGHT_BY = {
    Backend.FA1: "flash_attn_1",
    Backend.FA2: "flash_attn",
    Backend.FA3: "flash_attn_3",
    Backend.FA4: "flash_attn_4",
    Backend.SDPA_FLASH: "",
    Backend.SDPA_EFFICIENT: "",
    Backend.SDPA_CUDNN: "",
    Backend.SDPA_MATH: "",
    Backend.XFORMERS: "xformers",
}
"""Backend -> the attention package that has to be there, "" for torch's own."""

DTYPES = (Dtype.BF16, Dtype.FP16)

SHORT = {
    "torch-arch-unsupported": "T",
    "gpu-too-old-fa2": "G",
    "fa2-too-old-for-gpu": "B",
    "kernel-image-missing-fa2": "K",
    "fa3-arch-unsupported": "H",
    "fa4-arch-unsupported": "C",
    "sdpa-no-available-kernel": "S",
    "bf16-unsupported-gpu": "D",
    "xformers-no-operator": "X",
    "glibc-too-old": "L",
}
"""Rule -> its letter in the table; any other rule is written out."""

Cells = dict[tuple[Backend, Dtype, str], Verdict]
"""Backend, dtype and GPU, as named in `GPUS`."""

_LEGEND = f"""\
What fadoctor predicts for each torch release. Written by tests/history; do not edit.

Assumed: Linux on x86_64, glibc {GLIBC}, driver {DRIVER}, PyPI's build of torch, and beside
torch and triton one attention package at a time, the newest that fits (stacks.yaml says how it
was chosen).

  works      nothing stands against it, and it is known to work
  unknown    not known; letters name rules that could not be decided
  fails:T    known to fail; the letters name the rules that say why
  -          no cell; a backend whose package is not there has no row

"""


def cells(stack: Stack, knowledge: Knowledge, gpus: tuple[str, ...] = GPUS) -> Cells:
    """Return the verdicts on a stack, each backend beside no other attention package."""
    found: Cells = {}
    for package in ("", *ATTENTION):
        if package and not getattr(stack, package):
            continue
        report = diagnose(environment(stack, package, gpus, knowledge), knowledge)
        for verdict in report.verdicts:
            if BROUGHT_BY.get(verdict.backend) == package:
                gpu = gpus[int(verdict.gpu.partition("]")[0].removeprefix("gpu["))]
                found[verdict.backend, verdict.dtype, gpu] = verdict
    return found


def render(found: Mapping[str, Cells]) -> str:
    """Return the whole table, from torch release -> its cells."""
    blocks = [_block(stack, found[torch]) for torch, stack in stacks().items()]
    named = {rule for each in found.values() for cell in each.values() for rule in cell.because}
    used = [f"  {letter}  {rule}\n" for rule, letter in SHORT.items() if rule in named]
    return "".join((_LEGEND, *used, *blocks))


def _block(stack: Stack, found: Cells) -> str:
    header = ["", *GPUS]
    rows = [header]
    for backend in BROUGHT_BY:
        for dtype in DTYPES:
            row = [found.get((backend, dtype, gpu)) for gpu in GPUS]
            if any(row):
                rows.append([f"{backend.value} {dtype.value}", *map(_cell, row)])
    return f"\n{_assumptions(stack)}\n" + "".join(_aligned(rows))


def _assumptions(stack: Stack) -> str:
    wheel = f"official wheel {stack.wheel}" if stack.wheel else "built there"
    older = f"{stack.flash_attn_1} or " if stack.flash_attn_1 else ""
    named = {
        "triton": stack.triton,
        "flash-attn": f"{older}{stack.flash_attn} ({wheel})" if stack.flash_attn else "",
        "flash-attn-3": stack.flash_attn_3,
        "flash-attn-4": stack.flash_attn_4,
        "xformers": stack.xformers,
    }
    packages = ", ".join(f"{name} {version or '-'}" for name, version in named.items())
    return f"torch {stack.torch}  CUDA {stack.cuda}, Python {stack.python}, {packages}"


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "-"
    if verdict.predicted is Predicted.WORKS or not verdict.because:
        return verdict.predicted.value
    letters = [SHORT.get(rule, rule) for rule in verdict.because]
    between = "" if all(len(letter) == 1 for letter in letters) else "+"
    return f"{verdict.predicted.value}:{between.join(letters)}"


def _aligned(rows: list[list[str]]) -> Iterable[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip() + "\n"
