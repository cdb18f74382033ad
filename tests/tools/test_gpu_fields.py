"""Contradictions within a cell and between the files of a record: one of each class, planted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tools.gpu_transcripts import transcript, write
from tests.tools.test_gpu_replay import (
    BY_KEY,
    DEFAULT,
    FLASH_NODE,
    PASSED,
    THOROUGH,
    call,
    cells,
    changed,
    found_with,
    put,
    recount,
)
from tools import gpu_judge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tools.test_gpu_replay import Plant

    Files = dict[str, Any]

FACTS = "facts.json"
TENSORS = ("out", "dq", "dk", "dv")
FAULTY = "fault-killed.json"


def known(value: Any) -> dict[str, Any]:
    return {"state": "known", "value": value, "source": "seen"}


def fact(name: str, value: Any) -> Plant:
    return put(FACTS, "facts", name, value=known(value))


def masked(files: Files) -> None:
    cell = dict(cells(files, THOROUGH, "sdpa-flash", "fp16", "gqa")[0], case="masked")
    files[THOROUGH]["cells"].append(cell)
    recount(files)


def step_twice(files: Files) -> None:
    files["steps.json"]["steps"].append(dict(files["steps.json"]["steps"][0]))


def cpu_build(files: Files) -> None:
    for name in (DEFAULT, THOROUGH):
        files[name]["torch_version"] = "2.11.0+cpu"


def speed(run: str, backend: str, forward_ms: float, **more: Any) -> Plant:
    """Give a cell of a run a time of its own; its speed fits that time."""

    def plant(files: Files) -> None:
        cell = cells(files, run, backend, "fp16", "full")[0]
        work = cell["speed"]["forward_ms"] * cell["speed"]["forward_tflops"]
        cell["speed"] = {"forward_ms": forward_ms, "forward_tflops": work / forward_ms, **more}

    return plant


def other_gpu(files: Files) -> None:
    for cell in files[FAULTY]["cells"]:
        cell.update(device_name="NVIDIA A10G", compute_capability="8.6")


def beyond_memory(files: Files) -> None:
    fact("gpu[0].memory_bytes", 16 << 30)(files)
    cells(files, THOROUGH, "sdpa-math", "fp16", "full")[0]["speed"]["peak_memory_bytes"] = 90 << 30


def second_gpu(files: Files) -> None:
    fact("gpu.count", 1)(files)
    files[THOROUGH]["cells"] += [{**cell, "device": "cuda:1"} for cell in files[THOROUGH]["cells"]]
    recount(files)


def checked(predicted: str, measured: str) -> Plant:
    def plant(files: Files) -> None:
        row = {"backend": "sdpa-flash", "dtype": "bf16"}
        files["check.json"] = {"verdicts": [{**row, "predicted": predicted, "measured": measured}]}

    return plant


def traced(**tensor: Any) -> Plant:
    given = {"dtype": "bfloat16", "shape": [1, 4, 128, 64], "device": "cuda:0", **tensor}
    return call("half", **dict.fromkeys("qkv", given))


PLANTED: dict[str, tuple[str, Plant, str]] = {
    "a mask into flash": ("h200", masked, "sdpa-flash has no case of this name"),
    "mixed tensors are taken": ("rtx4090", changed("sdpa-math", "bf16", "mixed", **PASSED,
        kernel="ToCopyBackward0"), "passed with tensors of two dtypes"),
    "a trap that is none": ("t4", put(THOROUGH, "cells", 2, "trap", value=True),
        "trap is True for this case"),
    "a rule of no name": ("t4", changed("sdpa-flash", "fp16", "causal", rule_id="no-such-rule"),
        "no rule is named no-such-rule"),
    "works because of a rule": ("h200", changed("sdpa-flash", "fp16", "causal",
        because=["gpu-too-old-fa2"]), "works was foreseen, because of gpu-too-old-fa2"),
    "passed with a failure": ("rtx4090", changed("sdpa-flash", "fp16", "causal",
        failure="numbers"), "passed, with the failure numbers"),
    "passed by a rule": ("rtx4090", changed("sdpa-flash", "fp16", "causal",
        rule_id="headdim-limit"), "passed, by headdim-limit"),
    "passed on the way": ("rtx4090", changed("sdpa-flash", "fp16", "causal", phase="backward"),
        "passed, and it ended in its backward"),
    "refused and compared": ("t4", changed("sdpa-flash", "fp16", "causal", errors={"out": 1e-4}),
        "refused, and its numbers were compared"),
    "refused after its kernel": ("t4", changed("sdpa-flash", "fp16", "causal", kernel=FLASH_NODE),
        "refused in its forward, after the kernel"),
    "refused by what refuses nothing": ("t4", changed("sdpa-flash", "fp16", "causal",
        rule_id="driver-too-old"), "by which no backend refuses"),
    "not run and compared": ("t4", changed("sdpa-math", "fp16", "causal", measured="not_run"),
        "not run, and its numbers were compared"),
    "finer than its dtype": ("h200", changed("sdpa-flash", "bf16", "causal",
        errors=dict.fromkeys(TENSORS, 3e-9)), "finer than bf16 can hold"),
    "a line of other numbers": ("h200", changed("sdpa-flash", "bf16", "causal",
        detail="relative error against float64: out 9.1e-03"), "its line says out 9.1e-03"),
    "a backward before its forward": ("h200", changed("sdpa-flash", "fp16", "full",
        speed={"forward_ms": 0.4, "backward_ms": 0.04}), "a backward of 0.04 ms"),
    "timed in its comparison": ("h200", changed("sdpa-flash", "fp16", "full",
        phase="comparison"), "timed, and it ended in its comparison"),
    "a step twice": ("b200", step_twice, "smoke default: 2 steps of one name"),
    "a step without its file": ("h200", lambda files: files.pop(THOROUGH) and None,
        "smoke-thorough.json is missing"),
    "a build for a CPU": ("h200", cpu_build, "which has no code for one"),
    "a build for another CUDA": ("h200", fact("torch.cuda", "12.8"),
        "the files say a torch for CUDA 12.8"),
    "two capabilities": ("h200", put(THOROUGH, "cells", 3, "compute_capability", value=""),
        "cuda:0 has two descriptions"),
    "faults on another GPU": ("h200", other_gpu, "cuda:0 has two descriptions"),
    "faults with another torch": ("t4", put(FAULTY, "torch_version", value="2.6.0+cu124"),
        "files of different torch"),
    "two speeds": ("h200", speed(DEFAULT, "sdpa-flash", 4.8), "forward_ms is 4.8 once"),
    "two errors": ("h200", put(THOROUGH, "cells", 0, "errors",
        value=dict.fromkeys(TENSORS, 5e-4)), "out is 0.0021 once, and 0.0005"),
    "foreseen twice": ("h200", put(THOROUGH, "cells", 0, "predicted", value="fails"),
        "works was foreseen once, and fails"),
    "two kernels": ("v100", put(THOROUGH, "cells", -1, "kernel", value="MmBackward0"),
        "MmBackward0"),
    "longer than its run": ("v100", speed(THOROUGH, "sdpa-math", 9e6), "9000 s of kernels"),
    "beyond its memory": ("v100", beyond_memory, "held 96636764160 bytes of 17179869184"),
    "a GPU too many": ("h200", second_gpu, "the files count 1 GPUs"),
    "no GPU in the files": ("h200", fact("gpu.count", 0), "the files count 0 GPUs"),
    "foreseen otherwise by check": ("h200", checked("fails", "passed"),
        "predicted fails by check, works by smoke"),
    "measured otherwise by check": ("h200", checked("works", "failed"),
        "measured failed by check, passed by smoke"),
    "traced in float32": ("h200", traced(dtype="float32"), "float32 in k, q, v, culprits of none"),
    "ran in float32": ("h200", call("half", ran_in="float32"), "ran in float32, and has no"),
    "traced in another shape": ("h200", traced(shape=[1, 4, 128, 512]), "head dimensions 512"),
    "reasons against what ran": ("b200", call("half", backend="sdpa-flash",
        why_not_flash=["the head is too large"]), "with reasons against flash"),
    "flash on a V100": ("v100", call("half", backend="sdpa-flash"), "no kernel for this GPU"),
    "traced with another torch": ("h200", put("trace/mask.json", "processes", 0, "torch",
        value="2.6.0+cu124"), "trace mask: with torch 2.6.0+cu124"),
    "a trace that ended otherwise": ("h200", put("trace/half.json", "exit_code", value=1),
        "trace half: exit code 1, its step says 0"),
}  # fmt: skip


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", PLANTED)
def test_planted_contradiction_is_found(tmp_path: Path, name: str) -> None:
    key, plant, said = PLANTED[name]
    found = found_with(key, plant, tmp_path)
    assert any(said in each for each in found), found


def test_what_an_h200_showed_fits(tmp_path: Path) -> None:
    """A trace's autocast, a plain form's quick backward, a slow first run: none is a fault."""
    files = transcript(BY_KEY["h200"])
    changed("sdpa-math", "bf16", "full", phase="timing", speed={
        "forward_ms": 2.05, "backward_ms": 1.96, "peak_memory_bytes": 339215360,
    })(files)  # fmt: skip
    speed(DEFAULT, "sdpa-flash", 0.68)(files)
    call("norm-under-autocast", autocast="bfloat16", ran_in="bfloat16",
         q={"dtype": "float32", "shape": [1, 4, 128, 64], "device": "cuda:0"})(files)  # fmt: skip
    fact("gpu[0].memory_bytes", 150754820096)(files)
    checked("works", "passed")(files)
    write(files, tmp_path)
    assert gpu_judge.contradictions(tmp_path) == []
