"""`fadoctor fix` as a user runs it: plan, apply, undo, and every way that can go wrong."""

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

import jsonschema
import pytest

from fadoctor.repair.apply.store import Store
from tests.cli.environments import add_flash_attn, add_package, add_torch, make_environment
from tests.cli.fake_pip import broken_environment
from tests.cli.kill_trials import interruptible, trials
from tests.unit.repair.apply.trees import manifest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

RULES = Path(__file__).parents[2] / "rules"
GOLDEN = Path(__file__).parents[1] / "golden"
MISMATCH = str(GOLDEN / "linux-4090-wheel-mismatch" / "facts.json")
BLACKWELL = str(GOLDEN / "linux-5090-torch26" / "facts.json")
HEALTHY = str(GOLDEN / "linux-a100-healthy" / "facts.json")
VOLTA = str(GOLDEN / "linux-v100-torch210" / "facts.json")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    broken_environment(tmp_path / "env")
    return tmp_path / "env"


def planned(run: Run, *arguments: str) -> Any:
    """Return a plan as plain data."""
    result = run("fix", "--dry-run", "--format", "json", *arguments)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def test_healthy_is_left_alone(run: Run) -> None:
    result = run("fix", "--dry-run", "--facts", HEALTHY)
    assert result.returncode == 0
    assert "Nothing to repair." in result.stdout


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("facts", [HEALTHY, MISMATCH, BLACKWELL])
def test_the_schema_describes_it(run: Run, facts: str) -> None:
    schema = json.loads((RULES / "schema" / "plan.schema.json").read_text())
    jsonschema.validate(planned(run, "--facts", facts, "--keep", "torch"), schema)


def test_a_plan_is_exit_code_one_and_proved(run: Run) -> None:
    plan = planned(run, "--facts", MISMATCH)
    assert plan["outcome"] == "repairs"
    assert plan["proof"] == {
        "errors": [], "by_setting": [], "missed": [], "lost": [], "requirements": [], "unknown": []
    }  # fmt: skip
    [action] = plan["actions"]
    assert action["kind"] == "install"
    assert "wheel-torch-mismatch" in action["findings"]
    assert action["url"].startswith("https://github.com/Dao-AILab/flash-attention/releases/")


@pytest.mark.long
def test_a_script_is_what_the_plan_says(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "fix.sh"
    run("fix", "--dry-run", "--facts", BLACKWELL, "--format", "script", "--output", str(script))
    plan = planned(run, "--facts", BLACKWELL)
    code = [line for line in script.read_text().splitlines() if line and line[0] != "#"]
    assert code[0] == "set -eu"
    assert len(code) - 1 == len([a for a in plan["actions"] if a.get("argv")])
    checked = subprocess.run(["sh", "-n", str(script)], check=False, capture_output=True)
    assert checked.returncode == 0


@pytest.mark.long
def test_requirements_are_exact(run: Run) -> None:
    result = run("fix", "--dry-run", "--facts", BLACKWELL, "--format", "requirements")
    lines = [line for line in result.stdout.splitlines() if line[0] != "#"]
    assert lines
    assert all("==" in line or " @ https://" in line for line in lines)


@pytest.mark.long
def test_the_same_facts_give_the_same_plan(run: Run) -> None:
    assert planned(run, "--facts", BLACKWELL) == planned(run, "--facts", BLACKWELL)


def test_an_impossible_wish_says_why_and_what_would_do(run: Run) -> None:
    result = run("fix", "--dry-run", "--facts", VOLTA, "--want", "flash-attn")
    assert result.returncode == 1
    words = " ".join(result.stdout.split())
    assert "compute capability 7.0" in words
    assert "use torch's own attention" in words


@pytest.mark.long
def test_what_is_kept_is_named_with_what_giving_it_up_brings(run: Run) -> None:
    plan = planned(run, "--facts", BLACKWELL, "--keep", "torch")
    [conflict] = plan["conflicts"]
    assert conflict["because"] == ["torch 2.6.0 stays as it is"]
    freed = conflict["alternatives"][0]
    assert freed["give_up"] == "let torch change"
    assert freed["changes"][0]["distribution"] == "torch"


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_installers_have_their_own_words(run: Run, installer: str) -> None:
    plan = planned(run, "--facts", MISMATCH, "--installer", installer)
    argv = plan["actions"][0]["argv"]
    assert argv[:3] == (["uv", "pip", "install"] if installer == "uv" else argv[:3])
    assert argv[:1] == (["uv"] if installer == "uv" else ["python"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--want", "nonsense"), "not a package in fadoctor's tables"),
        (("--keep", "; rm -rf"), "not a package in fadoctor's tables"),
        (("--yes", "--undo"), "exclude each other"),
    ],
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run("fix", "--dry-run", "--facts", HEALTHY, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


def test_saved_facts_are_not_changed(run: Run) -> None:
    result = run("fix", "--yes", "--facts", MISMATCH)
    assert result.returncode == 2
    assert "--dry-run" in result.stderr


def test_repairs_and_undoes_file_for_file(run: Run, broken: Path) -> None:
    before = manifest(broken)
    fixed = run("fix", "--yes", "--no-smoke", "--python", str(broken))
    assert fixed.returncode == 0, fixed.stderr
    checked = run("check", "--no-smoke", "--python", str(broken))
    assert checked.returncode == 0, checked.stdout
    assert manifest(broken) != before
    undone = run("fix", "--undo", "--python", str(broken))
    assert undone.returncode == 0, undone.stderr
    assert manifest(broken) == before
    assert not (broken / ".fadoctor").exists()


def test_a_failing_step_leaves_the_environment_as_it_was(run: Run, tmp_path: Path) -> None:
    broken_environment(tmp_path / "env", fail="install")
    before = manifest(tmp_path / "env")
    result = run("fix", "--yes", "--no-smoke", "--python", str(tmp_path / "env"))
    assert result.returncode == 1
    assert result.stderr.count("the index is down") == 1
    assert manifest(tmp_path / "env") == before


def test_a_missing_installer_leaves_the_environment_as_it_was(run: Run, broken: Path) -> None:
    before = manifest(broken)
    options = ("--installer", "uv", "--yes", "--no-smoke", "--python", str(broken))
    result = run("fix", *options, env={"PATH": "/nowhere"})
    assert result.returncode == 2
    assert result.stderr.count("uv is not installed") == 1
    assert manifest(broken) == before


@pytest.mark.parametrize("stage", ["", "running"])
def test_only_one_at_a_time(run: Run, broken: Path, stage: str) -> None:
    """A change that still runs is not one that was interrupted."""
    store = Store(broken.resolve())
    with store.locked():
        if stage:
            target = {"kind": "environment", "label": "x", "reason": "x"}
            plan = {"outcome": "repairs", "target": target, "installer": "pip"}
            store.journal.write_text(json.dumps({"stage": stage, "plan": plan, "freeze": []}))
        result = run("fix", "--yes", "--no-smoke", "--python", str(broken))
    assert result.returncode == 1
    assert "another fadoctor is changing" in result.stderr


def test_a_found_environment_is_not_changed(run: Run, tmp_path: Path) -> None:
    """A cloned repository may bring a hostile one."""
    folder = tmp_path / "project"
    folder.mkdir()
    broken_environment(folder / ".venv")
    before = manifest(folder)
    result = run("fix", "--yes", cwd=folder)
    assert result.returncode == 2
    assert "--python" in result.stderr
    assert manifest(folder) == before


def test_a_project_is_told_its_own_commands(run: Run, tmp_path: Path) -> None:
    broken_environment(tmp_path / ".venv")
    (tmp_path / "uv.lock").write_text("")
    plan = planned(run, "--python", str(tmp_path / ".venv"))
    assert plan["installer"] == "uv-project"
    argvs = [action["argv"][:2] for action in plan["actions"] if "argv" in action]
    assert argvs[-1] == ["uv", "add"]


def test_a_project_has_each_package_in_its_own_list(run: Run, tmp_path: Path) -> None:
    """What a group has is changed there by a command of its own, before the dependencies."""
    broken_environment(tmp_path / ".venv")
    (tmp_path / "uv.lock").write_text("")
    first = planned(run, "--python", str(tmp_path / ".venv"))
    adds = [each["argv"] for each in first["actions"] if each.get("argv", [])[1:2] == ["add"]]
    items = adds[0][2:]
    name = re.match(r"[\w-]+", items[0])
    assert name is not None
    (tmp_path / "pyproject.toml").write_text(f'[dependency-groups]\ndev = ["{name[0]}"]\n')
    plan = planned(run, "--python", str(tmp_path / ".venv"))
    adds = [each["argv"] for each in plan["actions"] if each.get("argv", [])[1:2] == ["add"]]
    assert adds[0] == ["uv", "add", "--group", "dev", items[0]]
    assert [each for argv in adds[1:] for each in argv[2:]] == items[1:]


def test_commands_of_another_tools_project_are_not_run(run: Run, tmp_path: Path) -> None:
    broken_environment(tmp_path / ".venv")
    (tmp_path / "poetry.lock").write_text("")
    result = run("fix", "--yes", "--python", str(tmp_path / ".venv"))
    assert result.returncode == 2
    assert "lock file" in result.stderr


def test_a_uv_project_whose_tool_fails_is_as_before(run: Run, tmp_path: Path) -> None:
    """uv refuses this lock file: what it wrote by then is taken back."""
    broken_environment(tmp_path / ".venv")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'p'\nversion = '1'\n")
    (tmp_path / "uv.lock").write_text("no lock file")
    site = next((tmp_path / ".venv").glob("lib/*/site-packages"))
    before = manifest(site)
    result = run("fix", "--yes", "--no-smoke", "--python", str(tmp_path / ".venv"))
    assert result.returncode != 0
    assert manifest(site) == before
    assert (tmp_path / "uv.lock").read_text() == "no lock file"


@pytest.mark.long
def test_an_interrupted_change_is_taken_back_only_when_asked(run: Run, broken: Path) -> None:
    options = ("--yes", "--no-smoke", "--python", str(broken))
    assert run("fix", *options).returncode == 0
    journal = broken / ".fadoctor" / "journal.json"
    journal.write_text(journal.read_text().replace('"stage":"done"', '"stage":"running"'))
    site = next(broken.glob("lib/*/site-packages"))
    (site / "pip" / "__init__.py").write_text("half done\n")
    add_package(site, "xformers", "0.0.1")
    before = manifest(broken)
    again = run("fix", *options)
    assert again.returncode == 1
    assert "interrupted" in again.stderr
    assert manifest(broken) == before


@pytest.mark.long
def test_undo_needs_no_working_interpreter(run: Run, broken: Path) -> None:
    before = manifest(broken)
    assert run("fix", "--yes", "--no-smoke", "--python", str(broken)).returncode == 0
    (broken / "bin" / "python").unlink()
    undone = run("fix", "--undo", "--python", str(broken))
    assert undone.returncode == 0, undone.stderr
    assert "bin/python (removed)" in undone.stderr  # by other hands
    (broken / "bin" / "python").symlink_to(sys.executable)
    after = manifest(broken)
    assert {path for path in before if before[path] != after.get(path)} == {"bin"}  # its time


def test_nothing_to_undo(run: Run, tmp_path: Path) -> None:
    make_environment(tmp_path / "env")
    result = run("fix", "--undo", "--python", str(tmp_path / "env"))
    assert result.returncode == 2
    assert "nothing to undo" in result.stderr
    assert not (tmp_path / "env" / ".fadoctor").exists()


def test_packages_outside_the_matrix_follow(run: Run, tmp_path: Path) -> None:
    """torchvision pins torch exactly: a plan that forgot it would break it."""
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0+cpu", None)
    add_flash_attn(site, "2.8.3")
    add_package(site, "torchvision", "0.23.0", "torch==2.8.0")
    plan = planned(run, "--python", str(tmp_path / "env"), "--want", "vllm")
    changes = {change["distribution"]: change["after"] for change in plan["changes"]}
    if not changes.get("torch", "2.8.0").startswith("2.8.0"):
        assert "torchvision" in changes
    assert plan["proof"]["requirements"] == []


@pytest.mark.long
def test_ctrl_c_offers_the_way_back(run: Run, tmp_path: Path) -> None:
    folder = (tmp_path / "env").resolve()
    broken_environment(folder, delay=0.02)
    before = manifest(folder)
    argv = interruptible("fix", "--yes", "--no-smoke", "--python", str(folder))
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as fix:
        journal = folder / ".fadoctor" / "journal.json"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (
            journal.is_file() and b'"running"' in journal.read_bytes()
        ):
            time.sleep(0.01)
        os.kill(fix.pid, signal.SIGINT)
        _, said = fix.communicate(timeout=60)
    assert "is as it was before" in said
    assert fix.returncode == 130
    assert manifest(folder) == before


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("count", [6, pytest.param(12, marks=pytest.mark.weekly)])
def test_killed_at_any_moment_it_can_be_undone(count: int) -> None:
    found = trials(count)
    assert set(found) <= {"restored", "not begun", "nothing changed yet"}, found
    assert found.get("restored", 0) > count // 8
