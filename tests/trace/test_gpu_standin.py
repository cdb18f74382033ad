"""The tracer's scripts from T4 to B200: torch and packages answer as with that GPU.

The programs that `on_a_gpu` runs on a GPU come out here as `gpu_trace` says of that GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.gpu_transcripts import GPUS, Gpu
from tools import gpu_trace

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.long]

SCRIPT = Path(__file__).with_name("gpu_programs.py")
ROOT = Path(__file__).parents[2]
PACKAGES = {
    "transformer engine": ("transformer_engine.pytorch.DotProductAttention", "unknown", ""),
    "transformer engine and float32": (
        "transformer_engine.pytorch.DotProductAttention", "unknown", "k"),
    "flash-attn 3": ("flash_attn_interface.flash_attn_func", "fa3", ""),
    "flash-attn 3 and float32": ("flash_attn_interface.flash_attn_func", "fa3", "v"),
    "flex": ("torch.nn.attention.flex_attention.flex_attention", "flex", ""),
    "flex and float32": ("torch.nn.attention.flex_attention.flex_attention", "flex", "k"),
}  # fmt: skip
"""Program -> the entry that is seen, its backend, and whose culprit is named."""


@pytest.mark.thinned
@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.key)
def test_each_gpu_is_told_as_what_it_is(tmp_path: Path, gpu: Gpu) -> None:
    found = documents(tmp_path, gpu)
    said = {case.name: gpu_trace.problem(case, found[case.name], gpu.capability, pretend=False)
            for case in gpu_trace.CASES}  # fmt: skip
    assert said == dict.fromkeys(said, "")
    assert {call["q"]["device"] for each in found.values() for call in calls_of(each)} == {"cuda:0"}
    for name, (entry, backend, letters) in PACKAGES.items():
        (call,) = calls_of(found[name])
        assert (call["entry"], call["backend"]) == (entry, backend), name
        assert "".join(call["culprits"]) == letters, name
        assert not letters or call["culprits"][letters]["source"] == f"w = {letters}.float()"
        refused = bool(letters) or (backend == "fa3" and not gpu.modern)
        assert (call["error"] is not None) is refused, name
    half = calls_of(found["half"])[0]
    assert half["backend"] == gpu.first
    assert bool(half["why_not_flash"]) is not gpu.modern  # torch's own words where it is too old


def documents(folder: Path, gpu: Gpu) -> dict[str, Any]:
    """Return program -> what trace says, all run in one process."""
    argv = [sys.executable, "-B", str(SCRIPT), gpu.name, gpu.capability, str(folder)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(argv, capture_output=True, text=True, check=False, env=env, timeout=200)
    assert run.returncode == 0, run.stderr[-2000:]
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line["name"]: line["document"] for line in lines}


def calls_of(document: Any) -> list[Any]:
    assert [fault for each in document["processes"] for fault in each["faults"]] == []
    return [call for each in document["processes"] for call in each["calls"]]
