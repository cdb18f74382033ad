"""No plan brings or leaves a torchao that does not import, or that breaks an adapter."""

from __future__ import annotations

import pytest

from fadoctor.sources.logs.pasted_text import read_text
from tests.unit.repair.plan.problems import plan, session

_LIST = """\
Python 3.12.11
{gpu}
Package         Version
--------------- --------
{rows}
"""
_SMI = """\
| NVIDIA-SMI 580.82.07              Driver Version: 580.82.07      CUDA Version: 13.0     |
|   0  NVIDIA L40S                 Off  |   00000000:01:00.0 Off |                    0 |
"""
_BOTH = {"2.9": ("2.9.1", "0.24.1", "3.5.1"), "2.10": ("2.10.0", "0.25.0", "3.6.0")}


def after(torch: str, want: tuple[str, ...] = (), **more: str) -> dict[str, str]:
    """Return what a plan changes: distribution -> version."""
    release, vision, triton = _BOTH[torch]
    there = {"torch": release, "torchvision": vision, "triton": triton, **more}
    rows = "\n".join(f"{name:<15} {version}" for name, version in there.items())
    text = _LIST.format(gpu=_SMI, rows=rows).encode()
    found = plan(read_text(text, "report.txt", session().knowledge), want=want)
    return {each.distribution: each.after for each in found.changes}


def test_a_torchao_that_does_not_import_under_this_torch_goes_back() -> None:
    """Its metadata name no torch, and pip installs the newest one."""
    assert after("2.9", torchao="0.18.0") == {"torchao": "0.17.0"}
    assert after("2.10", torchao="0.18.0") == {}
    assert after("2.9", torchao="0.17.0") == {}


@pytest.mark.parametrize(
    ("torch", "peft", "comes"),
    [("2.10", "0.18.1", "0.17.0"), ("2.10", "0.21.2", "0.18.0"), ("2.9", "0.21.2", "0.17.0")],
)
def test_a_wish_brings_the_torchao_that_the_torch_and_the_peft_here_take(
    torch: str, peft: str, comes: str
) -> None:
    """Seen: with unsloth came torchao 0.18, and LoRA of peft 0.18.1 ended in an ImportError."""
    beside = {"transformers": "5.2.0", "accelerate": "1.13.0", "datasets": "4.3.0"}
    found = after(torch, ("unsloth",), peft=peft, torchao="0.10.0", **beside)
    assert (found.get("peft", peft), found["torchao"]) == (peft, comes)
