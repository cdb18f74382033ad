"""The same answer through whatever way a process is started, and an unchanged end of it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from fadoctor.proof.trace.parent import CHILD
from fadoctor.report.schema import render as render_schema
from tests.trace import routes
from tests.trace.routes import FOUND, FOUND_IN_RANKS, PATIENT, RANKS, TORCHRUN

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch")

pytestmark = pytest.mark.torch


def traced(
    tmp_path: Path, *command: str, options: tuple[str, ...] = (), **environ: str
) -> tuple[subprocess.CompletedProcess[bytes], dict[str, Any]]:
    run, document = routes.run_traced(tmp_path / "trace.json", command, options, **environ)
    jsonschema.validate(document, json.loads(render_schema("trace")))
    return run, document


def guilty(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    assert [p["faults"] for p in document["processes"] if p["faults"]] == []
    return routes.named(document)


@pytest.mark.thinned
@pytest.mark.parametrize(
    "way",
    [
        "plain",
        *(pytest.param(way, marks=pytest.mark.long) for way in routes.STARTED[1:]),
    ],
)
def test_the_same_answer_whichever_way_it_is_started(tmp_path: Path, way: str) -> None:
    run, document = traced(tmp_path, sys.executable, str(PATIENT), way)
    assert run.returncode == document["exit_code"] == 0
    assert set(guilty(document)) == {FOUND}
    assert [finding["rule_id"] for finding in document["findings"]] == ["sdpa-mixed-qkv-dtype"]
    assert b"refused" in run.stdout


@pytest.mark.weekly
def test_as_a_module_and_as_a_command_and_through_a_shell(tmp_path: Path) -> None:
    _, document = traced(tmp_path, sys.executable, "-m", "patient")
    assert guilty(document) == [FOUND]
    _, document = traced(tmp_path, "sh", "-c", f"{sys.executable} patient.py; exit 5")
    assert guilty(document) == [FOUND]
    assert document["exit_code"] == 5
    _, document = traced(tmp_path, sys.executable, "-c", PATIENT.read_text())
    assert guilty(document) == [FOUND]
    call = document["processes"][0]["calls"][-1]
    assert call["culprits"]["q"]["source"].startswith("return x * self.weight")


@pytest.mark.long
def test_two_ranks_with_ddp(tmp_path: Path) -> None:
    run, document = traced(
        tmp_path, sys.executable, *TORCHRUN, str(PATIENT), "ranks",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr.decode()
    assert guilty(document) == [FOUND, FOUND]
    ranks = [process["rank"] for process in document["processes"] if process["calls"]]
    assert sorted(ranks) == [0, 1]


@pytest.mark.weekly
@pytest.mark.thinned(every=2)
@pytest.mark.parametrize("way", routes.WRAPPED[1:])  # of DDP there are ranks above
def test_ranks_whose_model_is_wrapped(tmp_path: Path, way: str) -> None:
    run, document = traced(
        tmp_path, sys.executable, *TORCHRUN, str(RANKS), way,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr.decode()
    assert guilty(document) == [FOUND_IN_RANKS] * 2
    (because,) = {
        call["culprits"]["q"]["because"]
        for process in document["processes"]
        for call in process["calls"]
    }
    assert because == "weight: float32"


@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.parametrize(("way", "code"), routes.ENDED.items())
def test_an_end_without_notice_keeps_what_was_seen(tmp_path: Path, way: str, code: int) -> None:
    run, document = traced(tmp_path, sys.executable, str(PATIENT), way)
    assert run.returncode == document["exit_code"] == code
    assert guilty(document) == [FOUND]


@pytest.mark.weekly
def test_streams_are_those_of_the_command_alone(tmp_path: Path) -> None:
    argv = [sys.executable, str(PATIENT), "fails"]
    bare = subprocess.run(argv, capture_output=True, check=False, timeout=60, cwd=PATIENT.parent)
    run, _ = traced(tmp_path, *argv)
    assert (run.stdout, run.stderr) == (bare.stdout, bare.stderr)


@pytest.mark.long
def test_silence_says_what_ran(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "fadoctor", "trace", "--", sys.executable, str(PATIENT)]
    run = subprocess.run(
        argv, capture_output=True, check=False, timeout=60, text=True,
        env={**os.environ, "PATIENT": "well"},
    )  # fmt: skip
    assert run.returncode == 0
    assert run.stderr.strip() == "All 2 layers ran sdpa-flash in bf16, 2 calls."


@pytest.mark.long
def test_processes_that_cannot_be_entered_are_said(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "for flag in '-I', '-E', '-S': subprocess.run([sys.executable, flag, '-c', 'pass'])\n"
        "subprocess.run([sys.executable, '-c', 'pass'], env={})\n"
    )
    _, document = traced(tmp_path, sys.executable, "-c", code)
    reasons = [p["reason"] for p in document["processes"] if not p["entered"]]
    assert [reason[:15] for reason in reasons] == [
        "it runs with -I", "it runs with -E", "it runs with -S", "its PYTHONPATH ",
    ]  # fmt: skip
    _, document = traced(tmp_path, sys.executable, "-I", "-c", "pass")
    assert [process["entered"] for process in document["processes"]] == [False]


def test_the_patients_own_sitecustomize_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.mine = 7\n")
    code = "import sys, sitecustomize\nprint(sys.mine, sitecustomize.__file__)"
    run, document = traced(tmp_path, sys.executable, "-c", code, PYTHONPATH=str(tmp_path))
    assert run.stdout.decode().split() == ["7", str(tmp_path / "sitecustomize.py")]
    assert document["processes"][0]["entered"]


@pytest.mark.long
def test_an_import_that_fails_is_kept_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "flash_attn.py").write_text("raise ImportError('undefined symbol: _ZN3c10')\n")
    code = "import torch\ntry:\n    import flash_attn\nexcept ImportError:\n    pass"
    _, document = traced(tmp_path, sys.executable, "-c", code, PYTHONPATH=str(tmp_path))
    (failed,) = document["processes"][0]["failed_imports"]
    assert failed == {"module": "flash_attn", "error": "ImportError: undefined symbol: _ZN3c10"}


def test_only_sys_and_os_are_imported_before_torch(tmp_path: Path) -> None:
    code = "import sys; print(*sorted(sys.modules))"
    bare = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    run, _ = traced(tmp_path, sys.executable, "-c", code)
    more = set(run.stdout.decode().split()) - set(bare.stdout.decode().split())
    assert more <= {"sitecustomize", "_fadoctor_trace_watch", "os", "sys"}


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "fadoctor", "trace", "--", str(tmp_path / "nothing")]
    run = subprocess.run(argv, capture_output=True, check=False, timeout=60, text=True)
    assert run.returncode == 127
    assert "No such file" in run.stderr


@pytest.mark.weekly
def test_compiled_code_runs_and_is_named(tmp_path: Path) -> None:
    code = (
        "import torch, torch.nn.functional as F\n"
        "@torch.compile(backend='eager', fullgraph=True)\n"
        "def attend(x):\n    return F.scaled_dot_product_attention(x, x, x) * 2\n"
        "x = torch.ones(1, 2, 3, 4)\n"
        "print(float(attend(x).sum()), float(attend(x).sum()))\n"
    )
    run, document = traced(tmp_path, sys.executable, "-c", code)
    assert run.stdout.split() == [b"48.0", b"48.0"], run.stderr.decode()
    (process,) = document["processes"]
    assert process["compiled"] == ["__main__.attend"]
    assert process["faults"] == []
    _, document = traced(tmp_path, sys.executable, "-c", code, options=("--eager",))
    (process,) = document["processes"]
    assert process["compiled"] == []
    assert [call["times"] for call in process["calls"]] == [2]


def test_what_runs_in_a_patient_is_python_3_8() -> None:
    for script in CHILD.glob("*.py"):
        ast.parse(script.read_text(), feature_version=(3, 8))
