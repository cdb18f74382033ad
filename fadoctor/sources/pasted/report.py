"""From a pasted text to an environment: what it says is Known, all else Unknown, never Absent."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fadoctor import __version__
from fadoctor.model.environment import PASTED, Environment, Target
from fadoctor.model.errors import InputError
from fadoctor.sources.pasted import READERS
from fadoctor.sources.pasted.cleaning import clean_lines
from fadoctor.sources.pasted.combine import Combined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.sources.pasted.claims import Claim, Line

SIZE_LIMIT = 2 << 20
"""Bytes of a paste that are read."""

_VISIBLE = "all GPUs that the report names are visible"


def read_report(data: bytes, name: str) -> Environment:
    """Return what a pasted report says; InputError where no line is one of a known tool."""
    if len(data) > SIZE_LIMIT:
        raise InputError(name, f"larger than {SIZE_LIMIT >> 20} MiB")
    claims = claims_in(tuple(clean_lines(data.decode("utf-8", errors="replace"))))
    if not claims:
        raise InputError(
            name,
            "neither facts as JSON nor the report of a tool that is known: torch's collect_env, "
            "vllm collect-env, transformers env, accelerate env, llamafactory-cli env, "
            "xformers.info, ds_report, nvidia-smi, nvcc, pip list or freeze, conda list",
        )
    facts = Combined(claims, name)
    tools = ", ".join(sorted({claim.tool for claim in claims}))
    target = Target(
        kind="facts",
        label=name,
        reason=PASTED,
        notes=(f"Read from what {tools} printed; what it does not say is unknown.",),
    )
    assumed = (_VISIBLE,) if facts.assumes_visible else ()
    return Environment(__version__, target, facts.facts, assumed)


def claims_in(lines: Sequence[Line]) -> list[Claim]:
    """Return what the reports of known tools among some lines say; most lines have none."""
    text = "\n".join(line.text for line in lines)
    return [
        claim
        for reader, marks in READERS.items()
        if any(mark in text for mark in marks)
        for claim in import_module(reader).read(lines)
    ]
