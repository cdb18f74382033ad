"""The script for an hour with a GPU, pretended on a CPU: what it runs, keeps and says."""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import gpu_build, gpu_faults, gpu_page, gpu_trace, on_a_gpu

ROOT = Path(__file__).parents[2]
FAULT = gpu_faults.FAULTS[0]


def cell(measured: str = "passed", **more: Any) -> dict[str, Any]:
    return {
        "backend": "fa2", "dtype": "bf16", "case": "full", "measured": measured, "detail": "seen",
        "predicted": "works", "device_name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0",
        "device": "cuda:0", "trap": False, "because": [], "errors": {}, "kernel": "",
        "rule_id": "", **more,
    }  # fmt: skip


def keep(folder: Path, cells: list[dict[str, Any]], *, pretended: bool = False) -> str:
    steps = [{"name": "smoke default", "code": 0, "seconds": 3.2, "problem": ""}]
    (folder / "steps.json").write_text(json.dumps({"pretended": pretended, "steps": steps}))
    report = {
        "torch_version": "2.9.1+cu128",
        "cells": cells,
        "gpu_tested": True,
        "summary": {},
    }
    (folder / "smoke-default.json").write_text(json.dumps(report))
    return gpu_page.render(folder)


def a_call(backend: str, *reasons: str) -> dict[str, Any]:
    call: dict[str, Any] = {
        "backend": backend,
        "culprits": {},
        "error": None,
        "why_not_flash": list(reasons),
    }
    return {"processes": [{"calls": [call]}]}


@pytest.mark.parametrize(
    ("name", "capability", "backend", "said"),
    [
        ("half", "9.0", "sdpa-cudnn", ""),
        ("half", "9.0", "sdpa-efficient", "ran on sdpa-efficient"),
        ("half", "7.5", "sdpa-efficient", ""),
        ("half", "7.0", "sdpa-math", ""),
        ("half", "", "sdpa-efficient", ""),
        ("norm under autocast", "7.5", "sdpa-efficient", ""),
        ("norm under autocast", "12.1", "sdpa-flash", ""),
        ("flash-attn", "7.5", "sdpa-efficient", ""),
        ("flash-attn", "8.6", "sdpa-math", "ran on sdpa-math"),
    ],
)
def test_each_gpu_has_expectations_of_its_own(
    name: str, capability: str, backend: str, said: str
) -> None:
    """A T4 and a V100 have no flash kernels; a GPU of AMD tells no compute capability."""
    case = next(case for case in gpu_trace.CASES if case.name == name)
    found = gpu_trace.problem(case, a_call(backend), capability, pretend=False)
    assert found.startswith(said)
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("capability", "said"),
    [("", "no compute capability"), ("7.5", "no kernels"), ("8.0", ""), ("12.1", "")],
)
def test_builds_are_for_gpus_that_have_kernels(capability: str, said: str) -> None:
    assert said in gpu_build.hindrance(capability)
    assert bool(gpu_build.hindrance(capability)) is bool(said)


def test_interpreter_without_dependencies_gets_a_sentence(tmp_path: Path) -> None:
    script = str(ROOT / "tools" / "on_a_gpu.py")
    bare = [sys.executable, "-I", "-S", script, "--out", str(tmp_path)]
    done = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "lacks what fadoctor needs" in done.stderr
    assert "Traceback" not in done.stderr


def session_of(folder: Path, **options: Any) -> on_a_gpu.Session:
    given = {"out": folder, "budget": 60.0, "pretend": True, "step": None, "python": sys.executable}
    return on_a_gpu.Session(argparse.Namespace(**{**given, **options}))


def test_each_step_is_a_line_at_once(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    assert session.run(on_a_gpu.Step("one", [sys.executable, "-c", "print('{}')"], 30)) == {}
    session.run(on_a_gpu.Step("two", [sys.executable, "-c", "raise SystemExit(5)"], 30))
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [(line["name"], line["code"]) for line in lines] == [("one", 0), ("two", 5)]
    assert not (tmp_path / "steps.json").exists()


@pytest.mark.long
def test_a_step_out_of_time_leaves_what_it_knew(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('{\"cells\": []}'), sys.exit(130)))\n"
        "time.sleep(60)"
    )
    session = session_of(tmp_path)
    found = session.run(on_a_gpu.Step("slow", [sys.executable, "-c", code], 2))
    assert found == {"cells": []}
    assert session.steps[0]["problem"] == "ran out of time"
    session.ends = 0.0
    session.run(on_a_gpu.Step("built", [sys.executable, "-c", "print(1)"], 30, own_budget=True))
    assert session.steps[1]["code"] == 0


def test_signal_leaves_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(session: on_a_gpu.Session) -> None:
        session.steps.append({"name": "facts", "command": []})
        signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(on_a_gpu, "take_measurements", ended)
    try:
        assert on_a_gpu.run_all(session_of(tmp_path, flash_attn_source=None)) == 143
    finally:
        signal.signal(signal.SIGTERM, before)
    [step] = json.loads((tmp_path / "steps.json").read_text())["steps"]
    assert step["problem"] == "ended from outside"


def test_page_of_this_checkout_says_what_was_measured() -> None:
    """As long as nobody had a GPU, that is what stands there."""
    page = (ROOT / "docs" / "measured-on-gpu.md").read_text()
    assert page == gpu_page.render(None) or "pretended" not in page
    assert "Nothing was measured yet" in gpu_page.render(None)


def test_page_names_contradictions_and_impossible_times(tmp_path: Path) -> None:
    cells = [
        cell(speed={"forward_tflops": 180.0}),
        cell("failed", case="causal", detail="out is wrong\n| pipe"),
        cell(backend="sdpa-flash", speed={"forward_tflops": 400.0}),
        cell(backend="sdpa-efficient", speed={"forward_tflops": 2.0}),
        cell(backend="fa3", speed={"forward_tflops": 2.0}, notes=["launch-bound: so"]),
        cell("not_run", backend="flex"),
    ]
    page = keep(tmp_path, cells)
    assert "* NVIDIA A100-SXM4-80GB, compute capability 8.0" in page
    assert "5 cells were predicted for sure, 1 came out otherwise." in page
    assert "| fa2 | bf16 | causal | works | failed | out is wrong \\| pipe |" in page
    assert "| fa2 | bf16 | 180 | 58% |  |" in page
    assert "more than the GPU can do: the measurement is wrong" in page
    assert "| sdpa-efficient | bf16 | 2 | 1% | slow for this GPU |" in page
    assert "| fa3 | bf16 | 2 | 1% | launch-bound |" in page
    assert "flex" not in page
    assert "pretended" not in page
    assert "pretended on a CPU" in keep(tmp_path, cells, pretended=True)


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA L4", 125.3), ("NVIDIA L40S", 366.4), ("NVIDIA H100 80GB HBM3", 989.4),
        ("NVIDIA GeForce RTX 4090", 165.0), ("NVIDIA L40", None), ("Tesla T4", 65.1),
        ("CPU x86_64", None), ("NVIDIA RTX A1000", None), ("NVIDIA H100 PCIe", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None), ("NVIDIA GeForce RTX 4090 D", None),
    ],
)  # fmt: skip
def test_peaks_are_found_by_whole_words(name: str, peak: float | None) -> None:
    assert gpu_page.peak_of(name) == peak


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([cell("failed", rule_id="gpu-memory-too-small"), cell(), cell("refused")], ""),
        ([cell("failed"), cell()], "told as nothing, not as gpu-memory-too-small"),
        ([cell(), cell()], "no cell is failed"),
        (
            [cell("failed", rule_id="gpu-memory-too-small"), cell("not_run")],
            "cells after it did not run",
        ),
        ([], "no cell was reported"),
    ],
)
def test_fault_is_judged(cells: list[dict[str, object]], said: str) -> None:
    assert gpu_faults.verdict(FAULT, cells, pretend=False) == said


@pytest.mark.parametrize("fault", gpu_faults.FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("pretend", [True, False])
def test_faults_are_python(tmp_path: Path, fault: gpu_faults.Fault, pretend: bool) -> None:  # noqa: FBT001
    gpu_faults.plant(fault, tmp_path, pretend=pretend)
    compile(gpu_faults.HOG, "hog", "exec")
    for file in tmp_path.glob("*.py"):
        compile(file.read_text(), file.name, "exec")
    done = subprocess.run([sys.executable, str(tmp_path / "sitecustomize.py")], check=False)
    assert done.returncode == 0  # it strikes workers alone
    assert not (tmp_path / "struck").exists()


SETUP = """
            sources=[
                "csrc/flash_attn/flash_api.cpp",
                "csrc/flash_attn/src/flash_fwd_hdim64_bf16_sm80.cu",
                "csrc/flash_attn/src/flash_fwd_hdim128_bf16_causal_sm80.cu",
                "csrc/flash_attn/src/flash_bwd_hdim256_fp16_sm80.cu",
            ],
"""
SWITCH = """#define FP16_SWITCH(COND, ...) [&] { }()

#define HEADDIM_SWITCH(HEADDIM, ...)   \\
  [&] {                                \\
    if (HEADDIM <= 64) {               \\
      return __VA_ARGS__();            \\
    }                                  \\
  }()

#define LAST 1
"""


CALLS = """
    TORCH_CHECK(head_size <= 256, "FlashAttention only supports head dimension at most 256");
    const int head_size_rounded = round_multiple(head_size, head_size <= 128 ? 32 : 64);
"""


def plant_source(folder: Path, setup: str = SETUP) -> Path:
    source = folder / "source" / "csrc" / "flash_attn" / "src"
    source.mkdir(parents=True)
    (source / "static_switch.h").write_text(SWITCH)
    (source.parent / "flash_api.cpp").write_text(CALLS)
    (folder / "source" / "setup.py").write_text(setup)
    return folder / "source"


def test_source_is_reduced_to_one_head_dimension(tmp_path: Path) -> None:
    source = plant_source(tmp_path)
    copy = gpu_build.reduce(source, tmp_path)
    assert set(re.findall(r"hdim\d+", (copy / "setup.py").read_text())) == {"hdim128"}
    header = (copy / "csrc" / "flash_attn" / "src" / "static_switch.h").read_text()
    assert "kHeadDim = 128; return __VA_ARGS__(); }()\n\n#define LAST 1\n" in header
    assert "FP16_SWITCH" in header
    host = (copy / "csrc" / "flash_attn" / "flash_api.cpp").read_text()
    assert "head_size_rounded = 128;" in host  # else heads of 64 came out wrong on an H200
    assert f'TORCH_CHECK(head_size <= 128, "{gpu_build.REFUSAL}");' in host
    assert (source / "setup.py").read_text() == SETUP


def test_other_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(gpu_build.SourceError, match="holds no source"):
        gpu_build.reduce(tmp_path, tmp_path / "out")
    source = plant_source(tmp_path, setup="sources = []")
    with pytest.raises(gpu_build.SourceError, match="another flash-attn"):
        gpu_build.reduce(source, tmp_path / "out")


def ran(measured: str, case: str = "full", message: str = "") -> dict[str, str]:
    return {"measured": measured, "dtype": "bf16", "case": case, "message": message, "detail": "d"}


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([], "no cell was run"),
        ([ran("not_run")], "no cell was run"),
        ([ran("passed"), ran("failed", "hdim256", f"x: {gpu_build.REFUSAL}")], ""),
        ([ran("passed"), ran("failed", "causal", "out is wrong")], "bf16 causal: d"),
    ],
)
def test_run_of_the_build_is_judged(cells: list[dict[str, str]], said: str) -> None:
    assert gpu_build.problem(cells) == said


def test_build_is_for_one_architecture_and_asks_no_network() -> None:
    assert gpu_build.environment("8.6")["FLASH_ATTN_CUDA_ARCHS"] == "80"
    assert gpu_build.environment("12.0")["FLASH_ATTN_CUDA_ARCHS"] == "120"
    argv = gpu_build.command("python", Path("copy"), Path("wheels"))
    assert {"--no-index", "--no-deps", "--no-build-isolation"} < set(argv)


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.slow
def test_pretended_from_end_to_end(tmp_path: Path) -> None:
    """Some of its steps: all of them take two minutes on a CPU."""
    steps = ["facts", "smoke default", "fault device-side assert", "fault killed"]
    steps.append("fault too much memory asked for")
    page = tmp_path / "page.md"
    argv = [
        sys.executable, str(ROOT / "tools" / "on_a_gpu.py"), "--pretend", "--python",
        sys.executable, "--out", str(tmp_path / "out"), "--page", str(page),
        *(word for step in steps for word in ("--step", step)),
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
    record = json.loads((tmp_path / "out" / "steps.json").read_text())
    found = {step["name"]: step.get("problem", "") for step in record["steps"]}
    assert found == dict.fromkeys(steps, ""), done.stderr
    assert done.returncode == 0
    text = page.read_text()
    assert "This was pretended on a CPU" in text
    assert "| sdpa-flash | bf16 | full causal gqa long hdim96 short-q large hdim256 |" in text


def test_what_finds_no_time_is_said_to_be_left_out(tmp_path: Path) -> None:
    argv = [
        sys.executable, str(ROOT / "tools" / "on_a_gpu.py"), "--pretend", "--budget", "0",
        "--out", str(tmp_path),
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "left out: the budget was used up" in done.stdout


@pytest.mark.parametrize("case", gpu_trace.CASES, ids=lambda case: case.name)
def test_programs_to_trace_are_python(case: gpu_trace.Case) -> None:
    compile(gpu_trace.HEAD + case.code, case.name, "exec")


def test_a_trace_that_says_otherwise_is_a_problem() -> None:
    case = next(case for case in gpu_trace.CASES if case.letters == "k")
    culprit = {"source": f"x = {case.source}"}
    call = {"culprits": {"k": culprit}, "error": "RuntimeError: differ", "backend": "sdpa-math",
            "why_not_flash": ["dtypes differ: q bfloat16, k float32"]}  # fmt: skip

    def said(**changes: object) -> str:
        document = {"processes": [{"calls": [{**call, **changes}]}]}
        return gpu_trace.problem(case, document, "9.0", pretend=False)

    assert not said()
    assert said(culprits={}) == "culprits of none, not of k"
    assert "the culprit is" in said(culprits={"k": {"source": "y = 1"}})
    assert said(error=None) == "query, key and value differ, and no error was raised"
    assert said(why_not_flash=[]) == "reasons: none"
    assert gpu_trace.problem(case, {"processes": []}, "", pretend=True) == "no call was seen"


@pytest.mark.weekly
@pytest.mark.torch
def test_traced_programs_say_what_is_known_of_them_on_a_cpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    steps = [word for case in gpu_trace.CASES for word in ("--step", f"trace {case.name}")]
    argv = [
        sys.executable,
        str(ROOT / "tools" / "on_a_gpu.py"),
        "--pretend",
        "--out",
        str(tmp_path / "out"),
        *steps,
    ]
    run = subprocess.run(argv, capture_output=True, check=False, timeout=300, text=True)
    kept = json.loads((tmp_path / "out" / "steps.json").read_text(encoding="utf-8"))
    assert [step for step in kept["steps"] if step.get("problem")] == [], run.stderr
    assert len(kept["steps"]) == len(gpu_trace.CASES)
