"""What a hook of pre-commit and the GitHub Action do with what they are given."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import COMMAND, Run
from tests.uv import UV

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "bad.txt": "torch==2.8.0\nflash-attn==2.8.3\n",
        "good.txt": "torch==2.8.0\n",
        "pyproject.toml": "[project\n",
        "other.json": '{"a": 1}',
        "ds.json": '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {name: str(tmp_path / name) for name in texts}


@pytest.mark.long
def test_each_file_is_judged_by_itself_and_the_worst_counts(
    run: Run, files: dict[str, str]
) -> None:
    both = run("hook", "requirements", "--gpu", "V100", files["good.txt"], files["bad.txt"])
    assert both.returncode == 1
    assert f"at {files['bad.txt']}:2:1" in both.stdout
    assert run("hook", "requirements", "--gpu", "V100", files["good.txt"]).returncode == 0
    torn = run("hook", "requirements", "--gpu", "V100", files["pyproject.toml"], files["bad.txt"])
    assert torn.returncode == 2
    assert "gpu-too-old-fa2" in torn.stdout, "the files after a torn one are judged, too"
    assert "pyproject.toml:1" in torn.stderr


@pytest.mark.long
def test_a_file_that_is_no_configuration_of_ours_stops_no_commit(
    run: Run, files: dict[str, str]
) -> None:
    passed = run("hook", "config", "--gpu", "V100", files["other.json"])
    assert passed.returncode == 0
    assert "is skipped" in passed.stderr
    both = (files["other.json"], files["ds.json"])
    found = run("hook", "config", "--gpu", "V100", "--fail-on", "warning", *both)
    assert found.returncode == 1
    assert "ds.json:1" in found.stdout


def action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the action's script as the runner does: a file for the summary, inputs as variables."""
    command = folder / "fadoctor"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("INPUT_")}
    env = {**plain, "FADOCTOR": str(command), "FADOCTOR_ANNOTATIONS": "annotations"}
    env |= {"GITHUB_STEP_SUMMARY": str(folder / "summary"), "PYTHONPATH": str(ROOT)}
    argv = ["bash", str(ROOT / "tools" / "action.sh")]
    return subprocess.run(
        argv, env=env | inputs, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="runners of the action have bash")
def test_the_action_reports_annotates_and_summarises(tmp_path: Path, files: dict[str, str]) -> None:
    done = action(tmp_path, INPUT_GPU=" V100 ,\nV100", INPUT_REQUIREMENTS="\n  bad.txt \n")
    assert done.returncode == 1, done.stderr
    assert "gpu[0] V100" in done.stdout
    assert "gpu[1] V100" in done.stdout
    lines = (tmp_path / "annotations").read_text("utf-8").splitlines()
    assert any(line.startswith("::") and "file=bad.txt,line=2" in line for line in lines)
    assert "### fadoctor check" in (tmp_path / "summary").read_text("utf-8")
    (sarif,) = json.loads((tmp_path / "fadoctor.sarif").read_text("utf-8"))["runs"]
    assert sarif["results"]
    assert action(tmp_path, INPUT_REQUIREMENTS="bad.txt", INPUT_FAIL_ON="never").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="runners of the action have bash")
def test_an_input_is_never_a_command(tmp_path: Path, files: dict[str, str]) -> None:
    nasty = "$(touch owned) ; touch owned; --output=owned"
    done = action(tmp_path, INPUT_GPU=nasty, INPUT_REQUIREMENTS="bad.txt")
    assert done.returncode == 2
    assert not (tmp_path / "owned").exists()


def test_the_manifests_name_what_there_is() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    named = set(steps["inputs"])
    used = {line.strip() for line in str(steps["runs"]).split("inputs.")[1:]}
    assert {name for name in named if any(part.startswith(name) for part in used)} == named
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")):
        assert hook["entry"] in ("fadoctor hook requirements", "fadoctor hook config")


@pytest.mark.network
@pytest.mark.slow
def test_the_manifests_pass_their_own_validators(tmp_path: Path) -> None:
    site = str(tmp_path / "site")
    install = [UV, "pip", "install", "-q", "--python", sys.executable, "--target", site]
    tools = ("check-jsonschema", "pre-commit", "yamllint", "zizmor")
    subprocess.run([*install, *tools], check=True, timeout=300)
    env = {**os.environ, "PYTHONPATH": site}
    workflows = [str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    python = (sys.executable, "-m")
    schema = ("check_jsonschema", "--builtin-schema")
    style = (
        "{extends: default, rules: {line-length: {max: 120}, document-start: disable, "
        "truthy: {check-keys: false}, comments: {min-spaces-from-content: 1}}}"
    )
    for argv in (
        (*python, *schema, "vendor.github-actions", str(ROOT / "action.yml")),
        (*python, *schema, "vendor.github-workflows", *workflows),
        (*python, "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")),
        (*python, "yamllint", "--strict", "-d", style, *workflows, str(ROOT / "recipe")),
        (f"{site}/bin/zizmor", "--offline", "--persona", "pedantic", *workflows),
    ):
        done = subprocess.run(
            argv,
            env=env, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
