"""Which releases of others the import of a release can do with: what names say, not metadata."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.names.rows import MODULE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tools.refresh.names.asked import Asked

Given = dict[tuple[str, str], tuple[str, str | None, str | None]]
"""Module and name -> the package that has it, the first release that has it, and the last."""
Fits = tuple[tuple[str, str], ...]
"""Another package and its releases that have all the names."""

STARTS = {
    "transformers": ("transformers", "transformers.modeling_utils"),
    "peft": ("peft",),
    "trl": ("trl", "trl.trainer.sft_trainer"),
    "accelerate": ("accelerate",),
    "bitsandbytes": ("bitsandbytes",),
    "liger-kernel": ("liger_kernel", "liger_kernel.transformers"),
    "diffusers": ("diffusers", "diffusers.pipelines.pipeline_utils"),
    "sentence-transformers": ("sentence_transformers",),
    "torchao": ("torchao", "torchao.quantization"),
    "kernels": ("kernels",),
    "datasets": ("datasets",),
    "auto-gptq": ("auto_gptq",),
    "autoawq": ("awq",),
    "gptqmodel": ("gptqmodel",),
    "timm": ("timm",),
    "optimum": ("optimum", "optimum.gptq"),
    "unsloth": ("unsloth", "unsloth.models.loader"),
    "llamafactory": ("llamafactory", "llamafactory.train.tuner"),
    "axolotl": ("axolotl", "axolotl.cli.train"),
    "vllm": ("vllm", "vllm.entrypoints.llm", "vllm.engine.llm_engine"),
    "sglang": ("sglang", "sglang.srt.server_args", "sglang.srt.managers.scheduler"),
}
"""Whose imports are followed, and what is imported."""


def given_of(rows: Iterable[Mapping[str, object]]) -> Given:
    """Return the table names-given as it is asked; names that came and went are left out."""
    found: Given = {}
    for row in rows:
        first, last = (str(row[end]) if row.get(end) else None for end in ("first", "last"))
        if row.get("never") or row.get("earlier") or not (first or last):
            continue
        for name in str(row["name"]).split():
            found[str(row["module"]), name] = (str(row["package"]), first, last)
    return found


def fits(asks: Iterable[Asked], given: Given, releases: Mapping[str, Sequence[Version]]) -> Fits:
    """Return what goes with a release that surely asks for some names."""
    low: dict[str, Version] = {}
    high: dict[str, Version] = {}
    for asked in asks:
        package, first, last = given.get((asked.module, asked.name or MODULE), ("", None, None))
        if first:
            low[package] = max(low.get(package, Version(first)), Version(first))
        if last:
            high[package] = min(high.get(package, Version(last)), Version(last))
    return tuple(
        (package, ",".join(_specifiers(low.get(package), high.get(package), releases[package])))
        for package in sorted({*low, *high})
        if _has_between(low.get(package), high.get(package))
    )


def _has_between(low: Version | None, high: Version | None) -> bool:
    """Return whether any release can fit: else what was read is not the whole truth."""
    return low is None or high is None or low <= high


def _specifiers(
    low: Version | None, high: Version | None, every: Sequence[Version]
) -> Iterator[str]:
    if low is not None:
        yield f">={low}"
    behind = [version for version in every if high is not None and version > high]
    if behind:
        yield f"<{min(behind)}"


def bound_rows(package: str, seen: Mapping[Version, Fits], every: Sequence[Version]) -> list[str]:
    """Return the rows of name-bounds of one package, releases with the same bounds in one."""
    found = []
    beside = sorted({other for several in seen.values() for other, _ in several})
    versions = sorted(seen)
    for other in beside:
        states = [(version, dict(seen[version]).get(other, "")) for version in versions]
        for specifier, group in groupby(states, key=lambda state: state[1]):
            members = [version for version, _ in group]
            behind = [version for version in versions if version > members[-1]]
            # of the newest that was read, its post-releases included
            end = f"<{behind[0]}" if behind else f"<{max([*every, members[-1]])}.1"
            if specifier:
                keys = f'package: {package}, version: ">={members[0]},{end}", beside: {other}'
                found.append(f'  - {{{keys}, fits: "{specifier}"}}\n')
    return found
