"""What installs flash-attn is not offered for a GPU on which it never runs."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.useless_fixes import IN_VAIN

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge

SYMBOL = (
    "ImportError: /v/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: "
    "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs"
)
MISSING = (
    "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following "
    "error: the package flash_attn seems to be not installed."
)
BUILD = (
    "Getting requirements to build wheel: finished with status 'error'\n"
    '  File "/tmp/pip-install-ab/{}/setup.py", line 14, in <module>\n'
    "ModuleNotFoundError: No module named 'torch'"
)


def explained(knowledge: Knowledge, log: str) -> Explanation:
    return explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)


@pytest.mark.parametrize("gpu", ["Tesla T4", "NVIDIA V100", "NVIDIA GeForce RTX 2080 Ti"])
@pytest.mark.parametrize("log", [SYMBOL, MISSING, BUILD.format("flash-attn_11")])
def test_on_an_old_gpu_no_flash_attn_is_installed(knowledge: Knowledge, gpu: str, log: str) -> None:
    report = explained(knowledge, f"{gpu}\n{log}\n")
    first, *others = report.findings[0].fixes
    # what cannot be imported is removed first
    begins = "Remove flash-attn" if log == SYMBOL else "Use torch's own attention"
    assert first.title.startswith(begins)
    assert not any(
        fix.title.startswith(("Build", "Find", "Install", "Or install")) for fix in others
    )
    assert IN_VAIN in report.notes


@pytest.mark.parametrize(
    "machine", ["NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 5090", "AMD Instinct MI300X", "no GPU"]
)
@pytest.mark.parametrize("log", [SYMBOL, MISSING, BUILD.format("flash-attn_11")])
def test_elsewhere_it_is(knowledge: Knowledge, machine: str, log: str) -> None:
    assert IN_VAIN not in explained(knowledge, f"{machine}\n{log}\n").notes


def test_of_two_gpus_one_may_run_it(knowledge: Knowledge) -> None:
    log = f"GPU 0: Tesla T4\nGPU 1: NVIDIA A100-SXM4-80GB\n{SYMBOL}\n"
    assert IN_VAIN not in explained(knowledge, log).notes


def test_the_build_of_another_package_is_repaired(knowledge: Knowledge) -> None:
    log = f"Tesla T4\n{BUILD.format('mamba-ssm_7')}\n"
    assert IN_VAIN not in explained(knowledge, log).notes
