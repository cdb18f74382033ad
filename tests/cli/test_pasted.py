"""A pasted report in place of saved facts, and real tools held against what the probes read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.sources.pasted.test_tools import COLLECT_ENV, DEEPSPEED, PIP_LIST, SMI

if TYPE_CHECKING:
    from tests.cli.conftest import Run

TOOLS = {
    "collect_env": (sys.executable, "-m", "torch.utils.collect_env"),
    "pip list": (sys.executable, "-m", "pip", "list"),
    "pip freeze": (sys.executable, "-m", "pip", "freeze"),
    "pip show": (sys.executable, "-m", "pip", "show", "torch", "numpy"),
    "nvcc": ("nvcc", "--version"),
}
LONG = ("collect_env", "pip freeze", "pip show")


@pytest.mark.long
def test_a_maintainer_pastes_a_report_and_gets_findings(run: Run) -> None:
    paste = COLLECT_ENV.replace("NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB").replace(
        "CUDA_VISIBLE_DEVICES=0,1\n", ""
    )
    result = run("check", "--facts", "-", input=paste)
    assert result.returncode == 1, result.stderr
    assert "pasted report" in result.stdout
    assert "what the text does not say is unknown" in " ".join(result.stdout.split())
    report = json.loads(run("check", "--facts", "-", "--format", "json", input=paste).stdout)
    assert "gpu-too-old-fa2" in {finding["rule_id"] for finding in report["findings"]}


def test_overlays_lie_on_top_of_a_paste(run: Run) -> None:
    text = run("check", "--facts", "-", "--gpu", "H100", "--exit-zero", input=PIP_LIST).stdout
    assert "H100" in text
    assert "--gpu H100" in text.partition("Assumed: ")[2]


def test_what_was_assumed_of_a_paste_is_said(run: Run) -> None:
    text = run("check", "--facts", "-", "--exit-zero", input=SMI).stdout
    assert "all GPUs that the report names are visible" in text.partition("Assumed: ")[2]


def test_a_paste_without_a_report_is_refused(run: Run) -> None:
    result = run("check", "--facts", "-", input="it does not work\n")
    assert (result.returncode, result.stdout) == (2, "")
    assert "collect_env" in result.stderr


ISSUE = """\
### Environment
| package | version |
|---|---|
| torch | 2.6.0+cu124 |
| transformers | 4.51.3 |

GPU: Tesla T4

### What happens
RuntimeError: FlashAttention only supports Ampere GPUs or newer.
"""


@pytest.mark.long
def test_an_issue_gets_one_answer_whichever_command_is_asked(run: Run) -> None:
    """Facts and complaint take part in both; what is not named is not called missing."""
    checked = run("check", "--facts", "-", "--format", "json", input=ISSUE)
    told = json.loads(run("explain", "-", "--format", "json", input=ISSUE).stdout)
    found = json.loads(checked.stdout)
    assert checked.returncode == 1
    assert told["findings"][0]["rule_id"] == "gpu-too-old-fa2"
    assert "gpu-too-old-fa2" in {each["rule_id"] for each in found["findings"]}
    text = run("check", "--facts", "-", input=ISSUE).stdout
    assert "not installed" not in text.partition("\n")[0]


def test_explain_names_the_command_for_a_report_without_a_complaint(run: Run) -> None:
    text = "torch   2.4.1\nflash-attn 2.6.3\ntriton  3.0.0\nGPU: Tesla V100\n"
    told = json.loads(run("explain", "-", "--format", "json", input=text).stdout)
    assert told["findings"] == []
    assert any("check --facts" in note for note in told["notes"])
    healthy = run(
        "explain", "-", "--format", "json", input=text.replace("Tesla V100", "A100")
    ).stdout
    assert not any("check --facts" in note for note in json.loads(healthy)["notes"])


@pytest.mark.long
def test_a_complaint_alone_is_answered_and_survives_a_round_trip(run: Run) -> None:
    line = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
    saved = run("facts", "--facts", "-", input=line).stdout
    report = json.loads(run("check", "--facts", "-", "--format", "json", input=saved).stdout)
    assert [each["rule_id"] for each in report["findings"]] == ["gpu-too-old-fa2"]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    "tool", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in TOOLS]
)
def test_real_output_says_what_the_probes_read(run: Run, tool: str) -> None:
    """Wherever a tool and a probe both state a fact of this very environment, they agree."""
    if tool == "nvcc" and shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    printed = subprocess.run(
        TOOLS[tool], capture_output=True, text=True, check=False, timeout=120
    ).stdout
    probed = _facts(run("facts", "--python", sys.executable).stdout)
    pasted = _facts(run("facts", "--facts", "-", input=printed).stdout)
    both = {name for name in pasted if name in probed} - _NAMED_OTHERWISE
    assert both
    assert [name for name in both if not _agree(pasted[name], probed[name])] == []


def _agree(pasted: object, probed: object) -> bool:
    """Return whether a paste says what is so; a folder tells 3.11 of Python 3.11.7."""
    return pasted == probed or str(probed).startswith(f"{pasted}.")


_NAMED_OTHERWISE = {
    "packages.installed", "packages.nvidia", "torch.installer", "toolkit.gcc.version",
}  # fmt: skip
"""pip lists what its own Python sees, user site included; collect_env gives gcc's patch release."""


def _facts(text: str) -> dict[str, Any]:
    facts = json.loads(text)["facts"]
    return {name: fact["value"] for name, fact in facts.items() if "value" in fact}


@pytest.mark.long
def test_the_report_is_about_what_the_paste_names(run: Run) -> None:
    """Packages that nobody mentioned are in no row; what no report can tell is only counted."""
    paste = COLLECT_ENV.replace("vLLM Version: 0.9.2\n", "").replace(
        "CUDA_VISIBLE_DEVICES=0,1\n", ""
    )
    result = run("check", "--facts", "-", "--format", "json", "--exit-zero", input=paste)
    report = json.loads(result.stdout)
    backends = {cell["backend"] for cell in report["verdicts"]}
    assert {"fa2", "sdpa-flash"} <= backends
    assert not backends & {"fa3", "fa4", "xformers", "vllm-fa"}
    assert len(report["unknown"]) < 60 < report["summary"]["unknown"]
    assert any("cannot decide" in note for note in report["notes"])
    assert run("check", "--facts", "-", "--strict", input=paste).returncode == 3


def test_a_report_that_a_logger_opens_is_no_json(run: Run) -> None:
    logged = f"[2026-11-22 10:00:00,123] [INFO] [real_accelerator.py:222] set\n{DEEPSPEED}"
    facts = _facts(run("facts", "--facts", "-", input=logged).stdout)
    assert facts["deepspeed.version"] == "0.15.1"


@pytest.mark.long
def test_an_issue_as_a_tracker_prints_it(run: Run) -> None:
    """gh issue view 123 | fadoctor check --facts -"""
    issue = f"""title:\tImport fails
state:\tOPEN
author:\tada
--
### Describe the bug
It dies on `import flash_attn`.

> <details><summary>env</summary>
>
> ```text
{COLLECT_ENV.replace("CUDA_VISIBLE_DEVICES=0,1", "").replace("A100-SXM4-80GB", "V100")}
> ```
> </details>

- [x] I have searched the existing issues
"""
    quoted = issue.replace("\n", "\r\n")
    result = run("check", "--facts", "-", "--format", "json", input=quoted)
    rules = {finding["rule_id"] for finding in json.loads(result.stdout)["findings"]}
    assert "gpu-too-old-fa2" in rules


def test_a_name_that_a_newer_release_has_is_named_beside_the_steps(run: Run) -> None:
    """The steps repair what the facts show; the missing name was left to another command."""
    paste = (
        "$ pip list\ntransformers 4.48.1\ntrl 0.12.2\ntorch 2.5.1\n"
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
        "    from trl import GRPOTrainer\n"
        "ImportError: cannot import name 'GRPOTrainer' from 'trl' (/x/trl/__init__.py)\n"
    )
    said = " ".join(run("fix", "--dry-run", "--facts", "-", input=paste).stdout.split())
    assert "1. Install " in said
    assert "`pip install 'trl>=0.14.0,<1'` may be needed as well" in said


def test_a_healthy_paste_exits_with_0(run: Run) -> None:
    """It was 3, because no text says which resolver was asked."""
    text = "Package      Version\n------------ -----------\ntorch        2.8.0+cu128\n"
    assert run("check", "--facts", "-", "--gpu", "4070", input=text).returncode == 0
