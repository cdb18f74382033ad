"""The GPU programme judges records of five GPUs: clean ones, and ones with a planted fault."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.tools.gpu_transcripts import GPUS, Gpu, transcript, write
from tools import gpu_judge, gpu_page, on_a_gpu

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Files = dict[str, Any]
    Plant = Callable[[Files], None]

BY_KEY = {gpu.key: gpu for gpu in GPUS}
DEFAULT, THOROUGH = "smoke-default.json", "smoke-thorough.json"


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.key)
def test_clean_record_has_no_contradiction(tmp_path: Path, gpu: Gpu) -> None:
    write(transcript(gpu), tmp_path)
    assert gpu_judge.contradictions(tmp_path) == []
    page = gpu_page.render(tmp_path)
    assert f"* {gpu.name}, compute capability {gpu.capability}" in page
    assert "What does not fit" not in page
    assert "0 came out otherwise" in page


def found_with(key: str, plant: Plant, folder: Path) -> list[str]:
    """Return what is found in the record of a GPU in which a fault is planted."""
    files = transcript(BY_KEY[key])
    plant(files)
    write(files, folder)
    return gpu_judge.contradictions(folder)


def cells(files: Files, run: str, backend: str, dtype: str, case: str = "") -> list[Any]:
    return [
        cell for cell in files[run]["cells"]
        if (cell["backend"], cell["dtype"]) == (backend, dtype) and case in {"", cell["case"]}
    ]  # fmt: skip


def recount(files: Files) -> None:
    """Let a run's summary and exit codes fit its cells again: only the planted fault is left."""
    for name in (DEFAULT, THOROUGH):
        run = files[name]
        counted = [cell["measured"] for cell in run["cells"]]
        run["summary"] = {word: counted.count(word) for word in run["summary"]}
        for step in files["steps.json"]["steps"]:
            if step["name"] == name.removesuffix(".json").replace("-", " "):
                step["code"] = int("failed" in counted)


def changed(backend: str, dtype: str, case: str = "", **fields: Any) -> Plant:
    """Change cells in both runs alike."""

    def plant(files: Files) -> None:
        found = [each for run in (DEFAULT, THOROUGH)
                 for each in cells(files, run, backend, dtype, case)]  # fmt: skip
        assert found
        for cell in found:
            cell.update(fields)
        recount(files)

    return plant


def everywhere(**fields: Any) -> Plant:
    def plant(files: Files) -> None:
        for run in (DEFAULT, THOROUGH):
            for cell in files[run]["cells"]:
                cell.update(fields)

    return plant


def without(backend: str, dtype: str) -> Plant:
    def plant(files: Files) -> None:
        for run in (DEFAULT, THOROUGH):
            gone = cells(files, run, backend, dtype)
            files[run]["cells"] = [each for each in files[run]["cells"] if each not in gone]
        recount(files)

    return plant


def put(name: str, *path: str | int, value: Any) -> Plant:
    """Put a value into a file."""

    def plant(files: Files) -> None:
        at = files[name]
        for each in path[:-1]:
            at = at[each]
        at[path[-1]] = value

    return plant


def lost(name: str) -> Plant:
    return lambda files: files.pop(name) and None


def call(name: str, **fields: Any) -> Plant:
    def plant(files: Files) -> None:
        files[f"trace/{name}.json"]["processes"][0]["calls"][0].update(fields)

    return plant


def failed_once(files: Files) -> None:
    cells(files, THOROUGH, "sdpa-flash", "bf16", "long")[0].update(FAILED)
    recount(files)


def twice(files: Files) -> None:
    cell = dict(cells(files, THOROUGH, "sdpa-flash", "fp16", "gqa")[0])
    files[THOROUGH]["cells"].append(cell)
    recount(files)


def read_in_files(word: str, value: str) -> Plant:
    """Let the facts tell of another GPU than the runs."""
    return put("facts.json", "facts", f"gpu[0].{word}", value={"state": "known", "value": value})


def not_loaded(files: Files) -> None:
    for run in (DEFAULT, THOROUGH):
        cell = dict(cells(files, run, "sdpa-flash", "fp16", "full")[0])
        cell.update(backend="fa2", predicted="works", measured="not_run", kernel="", errors={},
                    speed=None, detail="ImportError: undefined symbol: _ZN3c10")  # fmt: skip
        files[run]["cells"].append(cell)
    recount(files)


FAILED = {"measured": "failed", "failure": "numbers", "detail": "out is wrong", "speed": None}
PASSED = {"measured": "passed", "detail": "seen", "rule_id": "", "because": []}
FLASH_NODE = "ScaledDotProductFlashAttentionBackward0"
CULPRIT = {"source": "unrelated = 1", "kind": "cast"}

PLANTED: dict[str, tuple[str, Plant, str]] = {
    "foreseen to work, fails": ("h200", changed("sdpa-flash", "bf16", "causal", **FAILED),
        "works was foreseen, measured failed"),
    "foreseen to work, refuses": ("b200", changed("sdpa-efficient", "fp16", "full",
        measured="refused", rule_id="sdpa-no-available-kernel"), "works was foreseen"),
    "foreseen to fail, passes": ("t4", changed("sdpa-flash", "fp16", "full", **PASSED,
        kernel=FLASH_NODE), "fails was foreseen, measured passed"),
    "bf16 on a V100 passes": ("v100", changed("sdpa-efficient", "bf16", "full", **PASSED),
        "fails was foreseen, measured passed"),
    "foreseen to fail, crashes": ("rtx4090", changed("sdpa-flash", "fp32", "full",
        measured="failed", failure="exception"), "fails was foreseen, measured failed"),
    "unforeseen failure": ("h200", changed("sdpa-flash", "bf16", "mixed", **FAILED),
        "sdpa-flash bf16 mixed: failed: out is wrong"),
    "refused for another reason": ("h200", changed("sdpa-flash", "fp32", "full",
        rule_id="gpu-memory-too-small"), "refused by gpu-memory-too-small"),
    "refused for no reason": ("t4", changed("sdpa-flash", "bf16", "causal", rule_id=""),
        "refused by no rule"),
    "mixed dtypes refused otherwise": ("b200", changed("sdpa-math", "fp16", "mixed",
        rule_id="sdpa-no-available-kernel"), "foreseen was sdpa-mixed-qkv-dtype"),
    "prediction for another GPU": ("t4", changed("sdpa-flash", "fp16", "long",
        predicted="works", measured="not_run"), "predicted works, the tables say fails"),
    "impossible TFLOP/s": ("h200", changed("sdpa-flash", "fp16", "full",
        speed={"forward_ms": 0.1, "forward_tflops": 1374.0}), "more than the 989 of NVIDIA H200"),
    "impossible TFLOP/s of a T4": ("t4", changed("sdpa-efficient", "fp16", "full",
        speed={"forward_ms": 1.0, "forward_tflops": 90.0}), "more than the 65 of Tesla T4"),
    "impossible backward": ("rtx4090", changed("sdpa-flash", "bf16", "full",
        speed={"backward_tflops": 300.0}), "more than the 165"),
    "no time at all": ("b200", changed("sdpa-math", "bf16", "full",
        speed={"forward_ms": 0.0}), "forward_ms is 0.0"),
    "a time that is no number": ("v100", changed("sdpa-math", "fp16", "full",
        speed={"forward_ms": math.nan}), "forward_ms is nan"),
    "passed beyond the limit": ("h200", changed("sdpa-efficient", "fp16", "full",
        errors={"out": 5e-3}), "passed with an error of 0.005 in out"),
    "passed with NaN": ("rtx4090", changed("sdpa-flash", "bf16", "full",
        errors={"dq": math.nan}), "passed with an error of nan in dq"),
    "another kernel ran": ("h200", changed("sdpa-cudnn", "fp16", "full", kernel=FLASH_NODE),
        "passed on another kernel"),
    "math instead of flash": ("rtx4090", changed("sdpa-flash", "fp16", "gqa",
        kernel="UnsafeViewBackward0"), "passed on another kernel"),
    "a missing backend": ("b200", without("sdpa-efficient", "bf16"),
        "sdpa-efficient bf16: no cell was run"),
    "a missing dtype": ("t4", without("sdpa-math", "fp32"), "sdpa-math fp32: no cell was run"),
    "a wrong capability": ("h200", everywhere(compute_capability="9.1"),
        "NVIDIA H200 has capability 9.0, not 9.1"),
    "the capability of another": ("rtx4090", everywhere(compute_capability="8.6"),
        "has capability 8.9, not 8.6"),
    "a GPU that changes": ("h200", put(THOROUGH, "cells", 3, "device_name", value="NVIDIA H100"),
        "cuda:0 is NVIDIA H200 and NVIDIA H100"),
    "two runs disagree": ("v100", put(DEFAULT, "cells", 30, "measured", value="not_run"),
        "does not count its cells"),
    "once passed, once failed": (
        "h200", failed_once,
        "passed once, and failed"),
    "another torch": ("h200", put(THOROUGH, "torch_version", value="2.10.0+cu130"),
        "runs with different torch"),
    "a torch that the files do not name": ("b200", put("facts.json", "facts", "torch.version",
        "value", value="2.9.0"), "the files say torch 2.9.0"),
    "no GPU was tested": ("t4", put(DEFAULT, "gpu_tested", value=False), "gpu_tested is False"),
    "exit code without a failure": ("h200", put("steps.json", "steps", 1, "code", value=1),
        "smoke thorough: exit code 1, no cell failed"),
    "assert told as memory": ("h200", put("fault-device-side-assert.json", "cells", 0, "rule_id",
        value="gpu-memory-too-small"), "not as device-side-assert"),
    "hang told as a signal": ("t4", put("fault-hangs.json", "cells", 0, "failure",
        value="signal"), "told as signal, not as time-out"),
    "a fault that nobody saw": ("v100", put("fault-killed.json", "cells", 0, "measured",
        value="passed"), "fault killed: no cell is failed"),
    "cells after a fault did not run": ("b200", put("fault-illegal-memory-access.json", "cells",
        2, "measured", value="not_run"), "cells after it did not run"),
    "a fault without a file": ("h200", lost("fault-killed.json"), "its file is missing"),
    "a wrong culprit": ("h200", call("promoted", culprits={"k": CULPRIT}),
        "the culprit is 'unrelated = 1'"),
    "a culprit where all is well": ("b200", call("half", culprits={"q": CULPRIT}),
        "culprits of q, not of none"),
    "a culprit of another tensor": ("v100", call("flash-attn-and-float32",
        culprits={"v": {"source": "w = k.float()"}}), "culprits of v, not of k"),
    "a slow kernel for half": ("h200", call("half", backend="sdpa-math"), "ran on sdpa-math"),
    "no reason against flash": ("rtx4090", call("mask", backend="sdpa-efficient",
        why_not_flash=[]), "reasons: none"),
    "a trace without a call": ("t4", put("trace/mask.json", "processes", value=[]),
        "no call was seen"),
    "refused in the words of another rule": ("h200", changed("sdpa-flash", "fp32", "full",
        detail="OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
        "whose words are not these"),
    "passed without a comparison": ("h200", changed("sdpa-flash", "bf16", "causal", errors={}),
        "passed, and nothing was compared"),
    "passed without a kernel": ("rtx4090", changed("sdpa-flash", "bf16", "causal", kernel=""),
        "nothing shows which kernel ran"),
    "one cell twice": ("h200", twice, "2 cells of one name"),
    "a time without its speed": ("h200", changed("sdpa-flash", "fp16", "full",
        speed={"forward_ms": 40.0, "forward_tflops": 343.5}), "took another time than its speed"),
    "float32 faster than half": ("v100", changed("sdpa-math", "fp32", "full",
        speed={"forward_ms": 1.3, "forward_tflops": 105.7}), "fp32 at 106 TFLOP/s, half at 40"),
    "files of another GPU": ("h200", read_in_files("name", "NVIDIA H100 80GB HBM3"),
        "the files say name NVIDIA H100 80GB HBM3"),
    "files of another capability": ("t4", read_in_files("compute_capability", "8.0"),
        "the files say compute_capability 8.0"),
    "exit code of a run without cells": ("b200", put("steps.json", "steps", 0, "code", value=3),
        "smoke default: exit code 3, no cell failed"),
    "foreseen to work, cannot be imported": ("h200", not_loaded,
        "works was foreseen, and it was not run: ImportError"),
    "mixed tensors without an error": ("v100", call("flash-attn-and-float32", error=None),
        "differ, and no error was raised"),
    "a GPU beyond a gap": ("t4", put(THOROUGH, "cells", 5, "device", value="cuda:7"),
        "cells of GPUs 0, 7"),
    "an error below zero": ("h200", changed("sdpa-flash", "bf16", "full", errors={"out": -1.0}),
        "an error below zero in out"),
    "an error of zero": ("h200", changed("sdpa-flash", "bf16", "full", errors={"out": 0.0}),
        "compared with itself"),
    "gradients not compared": ("rtx4090", changed("sdpa-flash", "bf16", "causal",
        errors={"out": 1e-4}), "dk, dq, dv not compared"),
    "a step that took less than nothing": ("h200", put("steps.json", "steps", 1, "seconds",
        value=-2.0), "smoke thorough took -2 s"),
    "a backend of no name": ("h200", put(THOROUGH, "cells", 4, "backend", value="sdpa-flesh"),
        "no backend of this name"),
    "traced on the CPU": ("h200", call("half", q={"dtype": "bfloat16", "device": "cpu"}),
        "tensors on cpu"),
    "a trace without a file": ("t4", lost("trace/half.json"), "trace half: no file"),
}  # fmt: skip


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("name", PLANTED)
def test_planted_contradiction_is_found(tmp_path: Path, name: str) -> None:
    key, plant, said = PLANTED[name]
    found = found_with(key, plant, tmp_path)
    assert any(said in each for each in found), found
    assert "## What does not fit" in gpu_page.render(tmp_path)


@pytest.mark.long
def test_a_contradiction_ends_the_script_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = transcript(BY_KEY["h200"])
    monkeypatch.setattr(sys, "argv", ["on_a_gpu", "--from", str(tmp_path)])
    for expected in (0, 1):
        write(files, tmp_path)
        with pytest.raises(SystemExit) as ended:
            on_a_gpu.main()
        assert ended.value.code == expected
        changed("sdpa-flash", "bf16", "causal", **FAILED)(files)
    assert "What does not fit" in capsys.readouterr().out


def test_cell_that_was_run_again_counts_as_it_came_out_last(tmp_path: Path) -> None:
    files = transcript(BY_KEY["h200"])
    changed("sdpa-cudnn", "bf16", "gqa", **FAILED)(files)
    healthy = cells(transcript(BY_KEY["h200"]), THOROUGH, "sdpa-cudnn", "bf16", "gqa")
    write(files, tmp_path)
    assert gpu_judge.contradictions(tmp_path) != []
    write({"smoke-again.json": {"cells": healthy}}, tmp_path)
    assert gpu_judge.contradictions(tmp_path) == []


def test_pretended_record_says_nothing_of_a_gpu(tmp_path: Path) -> None:
    files = transcript(BY_KEY["t4"])
    files["steps.json"]["pretended"] = True
    changed("sdpa-math", "fp32", "full", **FAILED)(files)
    write(files, tmp_path)
    assert gpu_judge.contradictions(tmp_path) == []
