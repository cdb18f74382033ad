"""The whole table against published ranges: a second, blunter reading of the same facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.verdict import Backend, Dtype, Predicted
from tests.history.environments import Stack, stacks
from tests.history.table import BROUGHT_BY, DTYPES, Cells

if TYPE_CHECKING:
    from collections.abc import Mapping

PUBLISHED: dict[str, Any] = yaml.load(
    Path(__file__).with_name("published.yaml").read_text(encoding="utf-8"),
    Loader=yaml.BaseLoader,  # noqa: S506 -- texts only
)
NVIDIA: dict[str, str] = PUBLISHED["gpus"]
ALLOWED = {"works": ("works",), "fails": ("fails",), "may work": ("works", "unknown")}
SURE = (Backend.SDPA_FLASH, Backend.SDPA_EFFICIENT, Backend.SDPA_MATH)
"""Backends of which the published ranges say everything, in half precision."""

Capability = tuple[int, ...]

ALWAYS = list(stacks())[::8]
TORCHES = pytest.mark.parametrize(
    "torch",
    [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.long) for name in stacks()],
)
"""All of them take half a minute."""


def parsed(text: str) -> Capability:
    return tuple(int(part) for part in text.split("."))


def has_code(torch: str, gpu: Capability) -> bool:
    """Say whether PyPI's build has code that runs there: same major, minor not above."""
    [found] = [row["sm"] for row in PUBLISHED["code"] if is_in(torch, row["torch"])]
    return any(gpu[0] == sm[0] and sm[1] <= gpu[1] for sm in map(parsed, found.split()))


def passes(backend: Backend, version: str, gpu: Capability) -> bool:
    rows = [row for row in PUBLISHED["gates"] if row["backend"] == backend.value]
    [gate] = [row for row in rows if is_in(version, row["version"])]
    return parsed(gate["lowest"]) <= gpu <= parsed(gate["highest"])


def published(stack: Stack, backend: Backend, dtype: Dtype, gpu: Capability) -> str:
    """Return ``fails``, ``works``, or ``may work`` where more than the GPU decides."""
    version = getattr(stack, BROUGHT_BY[backend] or "torch")
    if not has_code(stack.torch, gpu) or not passes(backend, version, gpu):
        return "fails"
    if dtype is Dtype.BF16 and gpu < parsed(PUBLISHED["bfloat16_from"]):
        return "may work" if backend is Backend.SDPA_MATH else "fails"
    return "works" if backend in SURE else "may work"


@TORCHES
def test_every_cell_agrees_with_what_is_published(
    torch: str, releases: Mapping[str, Cells]
) -> None:
    differing = []
    for (backend, dtype, gpu), verdict in releases[torch].items():
        if gpu in NVIDIA and backend is not Backend.SDPA_CUDNN and dtype in DTYPES:
            wanted = published(stacks()[torch], backend, dtype, parsed(NVIDIA[gpu]))
            if verdict.predicted.value not in ALLOWED[wanted]:
                said = f"{verdict.predicted.value}, published {wanted}"
                differing.append(f"{backend.value} {dtype.value} {gpu}: {said}")
    assert differing == []


@TORCHES
def test_nothing_is_promised_on_amd(torch: str, releases: Mapping[str, Cells]) -> None:
    amd = {v.predicted for (_, _, gpu), v in releases[torch].items() if gpu not in NVIDIA}
    assert Predicted.WORKS not in amd
    assert amd
