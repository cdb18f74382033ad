"""What stands before a command that reads torch, and behind one that leaves a pinned release."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

PINNED = """The same on win11 and on debian 12
(e) ada@box:~/w$ pip install -r wanted.txt
Collecting flash_attn=={} (from -r wanted.txt (line 4))
  File "/tmp/pip-install-0a1b2c3d/flash-attn_6b2d67bbb95d4c93b94c80d60083bc0b/setup.py", line 22
    import torch
ModuleNotFoundError: No module named 'torch'
"""
OLD_DRIVER = """NVIDIA-SMI 470.86   Driver Version: 470.86   CUDA Version: 11.4
torch 2.9.0 on Linux
WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:
    PyTorch 2.10.0+cu128 with CUDA 1208 (you have 2.9.0+cu128)
"""


def _steps(knowledge: Knowledge, text: str) -> list[str]:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return [step.text for step in report.findings[0].fixes[0].steps]


def test_torch_comes_before_what_reads_it(knowledge: Knowledge) -> None:
    first, command, *_ = _steps(knowledge, PINNED.format("2.7.3"))
    assert first.startswith("If torch itself is missing, install it first: pip install torch==")
    assert "whl/cu1" in first
    assert command.startswith("python -c ")


def test_a_shell_of_linux_gets_no_file_for_windows(knowledge: Knowledge) -> None:
    steps = "\n".join(_steps(knowledge, PINNED.format("2.7.3")))
    assert "win_amd64" not in steps
    assert "linux_x86_64.whl" in steps


def test_a_list_that_pins_another_release_is_named(knowledge: Knowledge) -> None:
    *_, last = _steps(knowledge, PINNED.format("2.7.3"))
    assert last == "Then leave flash_attn==2.7.3 out of wanted.txt, and install the rest from it."


def test_a_torch_that_is_there_is_not_asked_for(knowledge: Knowledge) -> None:
    text = f"torch 2.6.0+cu124, Python 3.11\n{PINNED.format('2.7.3')}"
    assert not [step for step in _steps(knowledge, text) if "itself is missing" in step]


def test_the_driver_comes_before_a_build_that_it_does_not_run(knowledge: Knowledge) -> None:
    first, *_ = _steps(knowledge, OLD_DRIVER)
    assert first.startswith("First install NVIDIA driver 525")
    assert "First install NVIDIA" not in "\n".join(_steps(knowledge, OLD_DRIVER.partition("\n")[2]))
