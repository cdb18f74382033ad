"""A project's settings: what they choose, what the report says of it, and that nothing runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.interfaces.commands.settings import find_settings
from fadoctor.model.errors import InputError
from tests.cli.environments import add_torch, make_environment
from tests.unit.knowledge.matrix.folders import rule_text, write

if TYPE_CHECKING:
    from tests.cli.conftest import Run

GOLDEN = Path(__file__).parents[1] / "golden"
T4 = GOLDEN / "linux-t4-container-no-libcuda" / "facts.json"
BROKEN = GOLDEN / "linux-4090-wheel-mismatch" / "facts.json"
Project = Callable[..., Path]
RULE = "wheel-torch-mismatch"
FAR, OVER = "2999-12-31", "2020-01-31"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return what writes settings and gives the folder of a project two levels deep."""

    def make(text: str, name: str = "fadoctor.toml") -> Path:
        root = tmp_path / "project"
        (root / "src" / "deep").mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        return root

    return make


def report_of(run: Run, folder: Path, *options: str) -> Any:
    made = run("check", "--no-smoke", "--format", "json", *options, cwd=folder)
    assert made.returncode in (0, 1), made.stderr
    return json.loads(made.stdout)


def ignoring(rule: str, until: str = FAR) -> str:
    return f'[[ignore]]\nrule = "{rule}"\nreason = "the driver comes in May"\nuntil = "{until}"\n'


@pytest.mark.parametrize("deep", ["src/deep"])
def test_a_rule_is_hidden_until_its_day_and_the_report_says_so(
    run: Run, project: Project, deep: str
) -> None:
    root = project(ignoring(RULE))
    report = report_of(run, root / deep, "--facts", str(BROKEN))
    assert RULE not in [each["rule_id"] for each in report["findings"]]
    path = os.path.relpath(root / "fadoctor.toml", root / deep)
    note = f"Settings: {path}. hidden: {RULE} until {FAR} (the driver comes in May)."
    assert note in report["notes"]
    text = run("check", "--no-smoke", "--facts", str(BROKEN), cwd=root / deep)
    assert f"hidden: {RULE}" in " ".join(text.stdout.split())


def test_what_is_hidden_is_said_where_little_else_is(run: Run, project: Project) -> None:
    root = project(ignoring("driver-too-old"))
    quiet = run("check", "--no-smoke", "--quiet", "--facts", str(BROKEN), cwd=root)
    assert "hidden: driver-too-old" in quiet.stderr
    forms = ("sarif", "markdown", "html", "jsonl")
    outputs = [word for form in forms for word in ("--output", f"{form}:{form}.out")]
    run("check", "--no-smoke", "--facts", str(BROKEN), *outputs, cwd=root)
    for form in forms:
        text = (root / f"{form}.out").read_text()
        assert "hidden: driver-too-old" in text.replace("\\", ""), form


def test_a_day_that_is_over_hides_nothing(run: Run, project: Project) -> None:
    root = project(ignoring(RULE, OVER))
    report = report_of(run, root, "--facts", str(BROKEN))
    assert RULE in [each["rule_id"] for each in report["findings"]]
    assert any(
        f"shown again, because its date has passed: {RULE} until {OVER}" in n
        for n in report["notes"]
    )


def test_the_command_line_wins(run: Run, project: Project) -> None:
    root = project('fail-on = "never"\n')
    quiet = ("check", "--no-smoke", "--facts", str(BROKEN))
    assert run(*quiet, cwd=root).returncode == 0
    assert run(*quiet, "--fail-on", "error", cwd=root).returncode == 1
    assert run(*quiet, "--no-config-file", cwd=root).returncode == 1
    text = run(*quiet, cwd=root).stdout
    assert "exit code 1 from: never" in " ".join(text.split())


def test_pyproject_counts_where_it_has_the_table(run: Run, project: Project) -> None:
    root = project('[tool.fadoctor]\nfail-on = "never"\n', "pyproject.toml")
    # one that only speaks of it is passed over, and so is one of another tool
    (root / "src" / "pyproject.toml").write_text('[project]\nname = "x" # not tool.fadoctor\n')
    (root / "src" / "deep" / "pyproject.toml").write_text('[project]\nname = "y"\n')
    deep = root / "src" / "deep"
    report = report_of(run, deep, "--facts", str(BROKEN))
    assert "Settings: ../../pyproject.toml. exit code 1 from: never." in report["notes"]
    # a file of its own is nearer to the point than pyproject.toml in one folder
    project('fail-on = "error"\n')
    report = report_of(run, deep, "--facts", str(BROKEN))
    assert any("../../fadoctor.toml" in note for note in report["notes"])


def test_a_target_of_settings_is_read_and_never_run(run: Run, project: Project) -> None:
    """A cloned repository may bring a hostile environment, and settings that name it."""
    root = project('target = "envs/hostile"\n')
    site = make_environment(root / "envs" / "hostile")
    add_torch(site, "2.8.0", "12.8")
    ran = root / "it-ran"
    python = root / "envs" / "hostile" / "bin" / "python"
    python.unlink()
    python.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    python.chmod(0o755)
    report = report_of(run, root)
    assert report["target"]["label"] == str(root / "envs" / "hostile")
    assert report["target"]["reason"] == "settings: fadoctor.toml"
    assert report["environment"]["torch.version"]["value"].startswith("2.8.0")
    smoke = run("smoke", "--device", "cpu", cwd=root)
    assert smoke.returncode == 3
    assert "was found, but neither named" in " ".join(smoke.stdout.split())
    for command in (("fix", "--yes"), ("facts",), ("check",)):
        made = run(*command, cwd=root)
        assert made.returncode in (0, 1, 2), made.stderr
    assert not ran.exists()
    named = report_of(run, root, "--python", str(make_other(root)))
    assert named["target"]["reason"] == "--python"


def make_other(root: Path) -> Path:
    folder = root / "other"
    add_torch(make_environment(folder), "2.7.1", "12.6")
    return folder


def test_a_target_that_is_active_is_the_users_own(run: Run, project: Project) -> None:
    root = project('target = "env"\n')
    add_torch(make_environment(root / "env"), "2.8.0", "12.8")
    active = {"VIRTUAL_ENV": str(root / "env")}
    made = run("facts", cwd=root, env=active)
    assert json.loads(made.stdout)["target"]["may_run"] is True
    other = {"VIRTUAL_ENV": str(make_other(root))}
    target = json.loads(run("facts", cwd=root, env=other).stdout)["target"]
    assert target["label"] == str(root / "env")
    assert "may_run" not in target
    assert any("is active, but the settings name another" in note for note in target["notes"])


@pytest.mark.long
def test_gpus_that_are_meant_stand_in_where_none_is(run: Run, project: Project) -> None:
    root = project('gpu = ["V100", "A100"]\ndriver = "550.54.15"\n')
    (root / "requirements.txt").write_text("torch==2.7.1\nflash-attn==2.8.3\n")
    report = report_of(run, root, "--requirements", "requirements.txt")
    assert {each["gpu"].partition(" ")[2] for each in report["verdicts"]} == {"V100", "A100"}
    assert report["overlays"] == ["--gpu V100", "--gpu A100", "--driver 550.54.15"]
    typed = report_of(run, root, "--requirements", "requirements.txt", "--gpu", "H100")
    assert typed["overlays"] == ["--gpu H100"]
    # saved facts are of a machine of their own
    assert report_of(run, root, "--facts", str(T4))["overlays"] == []


def test_own_rules_are_data_beside_the_settings(run: Run, project: Project) -> None:
    root = project('rules = ["house"]\n')
    (root / "house").mkdir()
    write(root / "house", area__some_rule=rule_text())
    report = report_of(run, root, "--facts", str(BROKEN))
    assert any("own rules" in note for note in report["notes"])
    found = [each["rule_id"] for each in (*report["findings"], *report["unknown"])]
    assert "some-rule" in found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("target = 7\n", ":1 at `target`: should be text"),
        ('tarket = "x"\n', ":1 at `tarket`: no such key. Did you mean target"),
        ('fail-on = "loud"\n', ":1 at `fail-on`: should be one of error, warning, note, never"),
        ("fail-on\n", ":1: no TOML"),
        ('rules = ["../outside"]\n', ":1 at `rules[0]`: should be a folder next to"),
        ('rules = ["/etc"]\n', ":1 at `rules[0]`: should be a folder next to"),
        ('rules = ["missing"]\n', ":1 at `rules[0]`: is not a folder"),
        ("gpu = [1]\n", ":1 at `gpu[0]`: should be text"),
        ("ignore = 1\n", ":1 at `ignore`: should be a list"),
        ('ignore = ["driver-too-old"]\n', ":1 at `ignore[0]`: should be a table"),
        ('\n[[ignore]]\nrule = "driver-too-old"\n', ":2 at `ignore[0]`: reason is missing"),
        (ignoring("driver-too-old", "tomorrow"), ":4 at `ignore[0].until`: should be a day"),
        (ignoring("driver-too-old", "2026-02-30"), ":4 at `ignore[0].until`: should be a day"),
        (ignoring("x").replace("the driver comes in May", " "), "should not be empty"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(
    project: Project, text: str, says: str
) -> None:
    with pytest.raises(InputError) as error:
        find_settings(project(text))
    assert says in str(error.value)
    assert str(error.value).startswith("fadoctor.toml:")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('\ntarget = "nowhere"\n', "settings: fadoctor.toml: "),
        ('\ntarket = "x"\n', "fadoctor: fadoctor.toml:2 at `tarket`: no such key."),
        (
            ignoring("driver-to-old"),
            "fadoctor.toml:1 at `ignore`: there is no rule 'driver-to-old'",
        ),
    ],
)
def test_what_is_wrong_ends_a_command(run: Run, project: Project, text: str, says: str) -> None:
    root = project(text)
    target = () if "target" in text else ("--facts", str(BROKEN))
    made = run("check", "--no-smoke", *target, cwd=root)
    assert (made.returncode, made.stdout) == (2, "")
    assert says in made.stderr
    assert "Traceback" not in made.stderr


def test_a_date_of_toml_is_one(project: Project) -> None:
    settings = find_settings(project(ignoring("driver-too-old").replace(f'"{FAR}"', FAR)))
    assert [each.until for each in settings.ignored] == [FAR]


def test_other_commands_say_so_too(run: Run, project: Project) -> None:
    root = project(ignoring("gpu-too-old-fa2") + "")
    (root / "a.log").write_text("RuntimeError: FlashAttention only supports Ampere GPUs or newer.")
    explained = json.loads(run("explain", "a.log", "--format", "json", cwd=root).stdout)
    assert explained["findings"] == []
    assert any("hidden: gpu-too-old-fa2" in note for note in explained["notes"])
    plan = run("fix", "--dry-run", "--facts", str(BROKEN), "--format", "json", cwd=root)
    assert any("hidden: gpu-too-old-fa2" in note for note in json.loads(plan.stdout)["notes"])


def test_a_folder_or_a_pipe_of_that_name_is_passed_over(project: Project) -> None:
    root = project("", "other.toml")
    (root / "src" / "fadoctor.toml").mkdir()
    os.mkfifo(root / "fadoctor.toml")
    assert find_settings(root / "src").path == ""


def test_terminal_escapes_in_settings_reach_no_terminal(run: Run, project: Project) -> None:
    text = ignoring("driver-too-old").replace("the driver", "\\u001b[31m the driver")
    made = run("check", "--no-smoke", "--facts", str(BROKEN), cwd=project(text))
    assert "hidden: driver-too-old" in " ".join(made.stdout.split())
    assert "\x1b[31m" not in made.stdout
