"""The real flash-attn on a CPU, traced: the same results, and who widened a tensor.

The interpreter that FADOCTOR_TESTS_FLASH_ATTN names has it; docs/smoke.md says how to make one. Its
Triton kernels run in triton's interpreter, so that of a GPU this shows nothing.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.trace import routes

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.flash_attn, pytest.mark.slow]

SCRIPT = Path(__file__).with_name("flash_attn_calls.py")
ENVIRON = {"TRITON_INTERPRET": "1", "FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"}
GUILTY = next(
    at for at, text in enumerate(SCRIPT.read_text().splitlines(), 1) if "the guilty line" in text
)
FUNCTIONS = ("func", "qkvpacked_func", "kvpacked_func", "varlen_func", "with_kvcache")


class Runs(NamedTuple):
    bare: subprocess.CompletedProcess[bytes]
    traced: subprocess.CompletedProcess[bytes]
    process: dict[str, Any]
    findings: list[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The program alone and under a trace, side by side."""
    argv = (os.environ["FADOCTOR_TESTS_FLASH_ATTN"], str(SCRIPT))
    output = tmp_path_factory.mktemp("trace") / "trace.json"
    with ThreadPoolExecutor() as pool:
        bare = pool.submit(routes.run, argv, **ENVIRON)
        traced, document = routes.run_traced(output, argv, (), **ENVIRON)
    (process,) = document["processes"]
    findings = [finding["rule_id"] for finding in document["findings"]]
    return Runs(bare.result(), traced, process, findings)


def test_results_gradients_and_the_end_are_the_same(runs: Runs) -> None:
    assert runs.traced.stdout == runs.bare.stdout
    assert runs.traced.stderr == runs.bare.stderr
    assert runs.traced.returncode == runs.bare.returncode == 1
    assert runs.process["faults"] == runs.process["failed_imports"] == []


def test_each_function_ran_on_flash_attn_2(runs: Runs) -> None:
    ran = [call for call in runs.process["calls"] if not call["error"]]
    assert {call["backend"] for call in ran} == {"fa2"}
    assert {call["entry"] for call in ran} == {f"flash_attn.flash_attn_{x}" for x in FUNCTIONS}
    assert {call["ran_in"] for call in ran} == {"float16", "bfloat16"}
    assert not any(call["culprits"] or call["why_not_flash"] for call in ran)


def test_a_module_that_wants_a_gpu_is_told_with_its_name(runs: Runs) -> None:
    entry = "flash_attn.modules.mha.FlashSelfAttention"
    calls = [call for call in runs.process["calls"] if call["entry"] == entry]
    seen = {(call["module"], call["causal"], *call["why_not_flash"]) for call in calls}
    assert seen == {("inner", True, "device cpu")}


def test_who_widened_the_key_is_named(runs: Runs) -> None:
    call = runs.process["calls"][-1]
    assert call["error"].startswith("AssertionError")
    assert list(call["culprits"]) == ["k"]
    culprit = call["culprits"]["k"]
    assert (culprit["kind"], culprit["module"], culprit["line"]) == ("promotion", "norm", GUILTY)
    assert culprit["because"] == "weight: float32"
    assert runs.findings == ["fa2-mixed-qkv-dtype"]
