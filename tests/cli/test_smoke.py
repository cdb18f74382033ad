"""`smoke` as a command: exit codes, formats, bad input, Ctrl-C. torch is a stub unless marked."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.cli.conftest import COMMAND
from tests.cli.environments import add_flash_attn, add_package, add_torch, make_environment
from tests.smoke.smoke_recordings import FAKE_FLASH_ATTN, FAKE_TORCH

if TYPE_CHECKING:
    from tests.cli.conftest import Run

SCHEMA = Path(__file__).parents[2] / "rules" / "schema" / "smoke.schema.json"
NO_GPU = "NO GPU WAS TESTED"


def plant(folder: Path, attention: str = "pass", gpus: int = 0, accident: str = "pass") -> str:
    """Make an environment with a stub torch and a stub flash-attn; return its folder."""
    site = make_environment(folder)
    add_torch(site, "2.8.0", "12.8")
    text = FAKE_TORCH.replace("{attention}", attention).replace("{gpus}", str(gpus))
    (site / "torch" / "__init__.py").write_text(text.replace("{extra}", ""))
    add_flash_attn(site, "2.8.3")
    text = FAKE_FLASH_ATTN.replace("{accident}", accident).replace("{extra}", "")
    (site / "flash_attn" / "__init__.py").write_text(text)
    return str(folder)


def cells_of(text: str) -> list[Any]:
    document = json.loads(text)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    cells: list[Any] = document["cells"]
    return cells


@pytest.mark.torch
@pytest.mark.slow
def test_cpu_only_machine_passes_and_says_so(run: Run) -> None:
    result = run("smoke", "--dtype", "bf16", "--python", sys.executable, "--device", "cpu")
    assert result.returncode == 0, result.stdout
    lines = result.stdout.splitlines()
    assert re.fullmatch(
        r"[✓+] Attention works on CPU .+: .*sdpa-flash.*\. No GPU was tested\.", lines[0]
    )
    assert lines[-2] == NO_GPU
    assert "sdpa-flash  bf16   causal   passed" in result.stdout
    assert run("check", "--python", sys.executable).returncode == 0


def test_imports_are_proved_and_a_broken_one_makes_exit_1(run: Run, tmp_path: Path) -> None:
    """Each package of the stack is imported; what fails has the cause that explain would name."""
    prefix = plant(tmp_path)
    [site] = tmp_path.glob("lib/python*/site-packages")
    for name, version, text in (
        ("peft", "0.17.1", "from transformers import HybridCache"),
        ("accelerate", "1.15.0", "print('noise')\nAccelerator = 1"),
    ):
        add_package(site, name, version)
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(text)
    (site / "transformers").mkdir()
    (site / "transformers" / "__init__.py").write_text("")
    asked = ("smoke", "--imports", "--backend", "sdpa-math", "--dtype", "fp32", "--python", prefix)
    result = run(*asked, "--format", "json")
    assert result.returncode == 1, result.stderr
    document = json.loads(result.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    found = {each["module"]: each for each in document["imports"]}
    assert found["accelerate"]["measured"] == "passed"
    assert found["peft"]["rule_id"] == "peft-hybrid-cache"
    assert "peft-hybrid-cache" in [each["rule_id"] for each in document["findings"]]
    without = run(*asked[:1], *asked[2:], "--format", "json")
    assert json.loads(without.stdout).get("imports", []) == []


def test_nothing_that_passed_is_nothing_proved(run: Run, tmp_path: Path) -> None:
    env = plant(tmp_path / "env")
    result = run("smoke", "--python", env, "--device", "cpu", "--backend", "sdpa-flash")
    assert result.returncode == 3
    assert "NOTHING WAS PROVED" in result.stdout
    assert "(sdpa-no-available-kernel)" in result.stdout
    forgiven = run("smoke", "--python", env, "--device", "cpu", "--exit-zero")
    assert forgiven.returncode == 0


def test_required_gpu_that_is_not_there(run: Run, tmp_path: Path) -> None:
    result = run("smoke", "--python", plant(tmp_path / "env"), "--require-gpu")
    assert result.returncode == 3
    assert "torch sees no GPU" in result.stdout
    assert NO_GPU in result.stdout


def test_failed_cell_makes_1_and_is_explained(run: Run, tmp_path: Path) -> None:
    words = "CUDA error: no kernel image is available for execution on the device"
    env = plant(tmp_path / "env", gpus=1, accident=f"raise RuntimeError({words!r})")
    arguments = ("smoke", "--python", env, "--backend", "fa2", "--dtype", "bf16")
    result = run(*arguments)
    assert result.returncode == 1
    assert "failed: fa2 bf16 full/causal/gqa/long/hdim96/short-q/large/hdim256" in result.stdout
    assert "rule: kernel-image-missing-ext" in result.stdout
    cells = cells_of(run(*arguments, "--format", "json").stdout)
    assert {cell["measured"] for cell in cells} == {"failed"}
    assert {cell["rule_id"] for cell in cells} == {"kernel-image-missing-ext"}
    suite = ET.fromstring(run(*arguments, "--format", "junit").stdout)[0]  # noqa: S314 -- ours
    assert (suite.get("tests"), suite.get("failures")) == ("8", "8")


def test_junit_skips_what_was_not_run_with_its_reason(run: Run, tmp_path: Path) -> None:
    env = plant(tmp_path / "env")
    result = run("smoke", "--python", env, "--device", "cpu", "--format", "junit")
    suite = ET.fromstring(result.stdout)[0]  # noqa: S314 -- ours
    cases = {(case.get("classname"), case.get("name")): case for case in suite.iter("testcase")}
    skipped = cases["cpu.fa3", "bf16 causal"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "not run: runs on a GPU only"
    refused = cases["cpu.sdpa-flash", "bf16 causal"].find("skipped")
    assert refused is not None
    assert str(refused.get("message")).startswith("refused: ")
    assert suite.get("skipped") == suite.get("tests") == str(len(cases))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--dtype", "bf17"), "'bf16', 'fp16', 'fp32', 'fp8'"),
        (("--backend", "fa5"), "no such backend; choose one of fa2, fa3, fa4, hub-fa2"),
        (("--backend", "fa1"), "fa1 is predicted, but never run: choose one of fa2, fa3"),
        (("--device", "tpu"), "cuda, cuda:N, cpu or all"),
        (("--device", "cuda:-1"), "cuda, cuda:N, cpu or all"),
        (("--timeout", "0"), "--timeout"),
        (("--list", "--format", "junit"), "text or json"),
        (("--python", "/nowhere"), "/nowhere"),
    ],
)
def test_wrong_usage_is_2_and_names_the_choices(
    run: Run, arguments: tuple[str, ...], named: str
) -> None:
    result = run("smoke", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert named in " ".join(result.stderr.split())


def test_list_runs_nothing_and_gives_reasons(run: Run, tmp_path: Path) -> None:
    env = plant(tmp_path / "env", attention="os._exit(1)")
    text = run("smoke", "--python", env, "--list", "--device", "cpu").stdout
    assert "sdpa-math   bf16 fp16 fp32  full causal gqa long" in text
    assert "not here, runs on a GPU only: fa3, fa4" in " ".join(text.split())
    listed = json.loads(run("smoke", "--python", env, "--list", "--format", "json").stdout)
    runs = {(c["cell"]["backend"], c["cell"]["case"]): c["runs"] for c in listed["cells"]}
    assert runs["sdpa-flash", "causal"] == "default"
    assert runs["sdpa-flash", "mixed"] == "thorough"
    assert runs["fa3", "causal"] == "no"


def test_environment_that_was_only_found_is_not_run(run: Run, tmp_path: Path) -> None:
    plant(tmp_path / "cwd" / ".venv", attention="os._exit(1)")
    result = run("smoke")
    assert result.returncode == 3
    assert "--python" in result.stdout
    assert "was found, but neither named nor active" in " ".join(result.stdout.split())


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("columns", ["80", "160"])
def test_table_keeps_to_the_terminal(run: Run, tmp_path: Path, columns: str) -> None:
    env = plant(tmp_path / "env", gpus=2)
    text = run("smoke", "--python", env, env={"COLUMNS": columns}).stdout
    lines = [line for line in text.splitlines() if str(env) not in line]  # a path is not broken
    assert max(map(len, lines)) <= int(columns)


def test_quiet_shows_what_failed_and_the_sum(run: Run, tmp_path: Path) -> None:
    env = plant(tmp_path / "env")
    text = run("smoke", "--python", env, "--device", "cpu", "--quiet").stdout
    assert "refused:" not in text
    assert text.startswith("? 0 passed, 51 refused, 0 failed")
    assert text.count("\n") == 1
    assert "NO GPU WAS TESTED" in text


def test_redacted_report_fits_the_schema_too(run: Run, tmp_path: Path) -> None:
    env = plant(tmp_path / "env", gpus=1, accident="raise ValueError('boom')")
    result = run("smoke", "--python", env, "--backend", "fa2", "--format", "json", "--redact")
    cells = cells_of(result.stdout)
    assert "ValueError: boom" in cells[0]["message"]
    assert str(tmp_path) not in json.dumps(cells)


def test_ctrl_c_prints_what_is_known_and_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hang = f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    env = plant(tmp_path / "env", attention=f"if q.dtype == 'float16': {hang}")
    argv = [*COMMAND, "smoke", "--python", env, "--device", "cpu", "--backend", "sdpa-flash"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as child:
        deadline = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "refused: sdpa-flash bf16 full/causal/gqa/long/hdim96/short-q/large/hdim256" in stdout
    assert "not run: sdpa-flash fp16/fp32 full/causal/gqa/" in " ".join(stdout.split())
    assert stderr.endswith("fadoctor: interrupted\n")
    assert not Path("/proc", pid.read_text()).exists() or os.name != "posix"


def test_check_runs_the_default_set_and_joins_it(run: Run, tmp_path: Path) -> None:
    env = plant(tmp_path / "env", gpus=1)
    report = json.loads(run("check", "--smoke", "--python", env, "--format", "json").stdout)
    rows = {(v["backend"], v["dtype"]): v["measured"] for v in report["verdicts"]}
    assert rows["fa2", "bf16"] == "refused"
    assert NO_GPU not in report["notes"]
    assert "flex" not in {backend for backend, _ in rows}


NOWHERE = (
    "import sys, tempfile; tempfile.tempdir = '/nowhere'\n"
    "from fadoctor.interfaces.cli.app import main; sys.argv[0] = 'fadoctor'; main()"
)
"""fadoctor where nothing temporary can be written, as on a read-only system."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (COMMAND, "there is no torch in the target"),
        ([sys.executable, "-c", NOWHERE], "no temporary folder for the results"),
    ],
    ids=["no torch", "no folder"],
)
def test_smoke_run_that_could_not_begin_is_unknown_to_strict(
    tmp_path: Path, command: list[str], words: str
) -> None:
    """It was green under --strict: `0 undecided`, exit 0."""
    env = plant(tmp_path / "env")
    if "torch" in words:
        file = next(Path(env).glob("lib/python*/site-packages/torch/__init__.py"))
        missing = "raise ModuleNotFoundError('no torch', name='torch')\n"
        file.write_text(file.read_text() + missing)

    def check(*more: str) -> subprocess.CompletedProcess[str]:
        argv = [*command, "check", "--python", env, "--fail-on", "never", *more]
        return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)

    before = json.loads(check("--no-smoke", "--format", "json").stdout)
    result = check("--smoke", "--strict", "--format", "json")
    report = json.loads(result.stdout)
    assert result.returncode == 3, result.stderr
    assert report["summary"]["unknown"] == before["summary"]["unknown"] + 1
    [entry] = [each for each in report["unknown"] if each["rule_id"] == "smoke-run-incomplete"]
    assert entry["reason"].startswith(f"the smoke run was not carried out: {words}")
    said = check("--smoke")
    assert said.returncode == 0
    assert words in said.stdout


@pytest.mark.gpu
@pytest.mark.torch
def test_default_set_on_a_gpu(run: Run) -> None:
    result = run("smoke", "--python", sys.executable, "--require-gpu", "--format", "json")
    report = json.loads(result.stdout)
    assert report["gpu_tested"]
    assert (result.returncode, report["summary"]["failed"]) == (0, 0), result.stdout
