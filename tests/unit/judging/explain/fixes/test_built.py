"""Which package a log builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.fixes.built import ENDS, built_in, of_what_is_built
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Known

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["pip install xformers", "ERROR: Failed building wheel for flash_attn"], "flash-attn"),
        (["  x Failed to build `causal-conv1d==1.5.0`"], "causal-conv1d"),
        (["ERROR: Failed to build 'file:///home/u/w/SageAttention' when"], "sageattention"),
        (["ERROR: Failed to build 'git+https://github.com/o/apex' when"], "apex"),
        (["uv pip install --no-build-isolation Flash-Attn"], "flash-attn"),
        (["pip install torch", "pip install 'mamba-ssm[causal]'"], "mamba-ssm"),
        (["File /tmp/pip-install-ab12cd/apex_0123456789abcdef0123456789abcdef/setup.py"], "apex"),
        (["cache/sdists-v8/pypi/flash-attn/2.7.4/x/src/setup.py"], "flash-attn"),
        (["copying auto_gptq/nn/x.py -> build/lib.linux-x86_64-3.10/auto_gptq/nn"], "auto-gptq"),
        (["building sageattention here, nvcc is missing"], "sageattention"),
        (["deepspeed says that CUDA_HOME does not exist"], "deepspeed"),
    ],
)
def test_the_package_is_named(knowledge: Knowledge, lines: list[str], name: str) -> None:
    found = built_in(lines, Matrix(knowledge.tables))
    assert isinstance(found, Known)
    assert found.value == name


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["pip install -r requirements.txt"],
        ["xformers or deepspeed, one of them"],
        ["pip install alpha", "pip install beta"],
        ["x", *["y"] * 3 * ENDS, "z"],
    ],
)
def test_it_is_not_guessed(knowledge: Knowledge, lines: list[str]) -> None:
    assert isinstance(built_in(lines, Matrix(knowledge.tables)), Absent)


WHY = "PyPI has only the sources of flash-attn. Its setup.py compiles. nvcc comes with no driver."


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("auto-gptq", "flash_attn is there", "nvcc comes with no driver."),
        ("flash-attn", "", WHY),
        ("", "flash-attn does not compile", WHY),
        ("", "nvcc was not found", "nvcc comes with no driver."),
    ],
)
def test_a_build_of_another_package_is_not_told_of_flash_attn(
    name: str, line: str, said: str
) -> None:
    built = Known(name, "the log") if name else Absent("none")
    assert of_what_is_built(WHY, built, [line]) == said
