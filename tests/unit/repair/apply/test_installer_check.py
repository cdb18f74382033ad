"""What an installer cannot do is found out before anything is touched, with the real pip."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.errors import UsageError
from fadoctor.model.plan import Action, ActionKind, Change, Plan, PlanOutcome
from fadoctor.processes.run import run
from fadoctor.repair.apply.installer_check import refuse_unready
from tests.unit.repair.apply.wheels import pip
from tests.uv import UV

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the layout of POSIX")


@pytest.fixture
def template(pip_project: Path, wheels: Path) -> tuple[Path, Path]:
    """Return an environment with a small package, and the folder of wheels."""
    return pip_project, wheels


def judge(prefix: Path, program: tuple[str, ...] = (), **variables: str) -> None:
    program = program or (str(prefix / "bin" / "python"), "-m", "pip")
    install = Action(ActionKind.INSTALL, "install moved==2", (*program, "install", "moved==2"))
    target = Target("environment", "env", "test", str(prefix / "bin" / "python"))
    changes = (Change("moved", "1", "2"),)
    plan = Plan(PlanOutcome.REPAIRS, target, program[0], (install,), changes)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    refuse_unready(plan, prefix, {**clean, **variables}, run)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER"])
def test_variables_that_send_packages_elsewhere(template: tuple[Path, Path], name: str) -> None:
    value = "1" if name == "PIP_USER" else "/nowhere"
    with pytest.raises(UsageError, match=f"{name} is set, so .*unset it first"):
        judge(template[0], (), **{name: value})


def test_a_setting_in_a_file_counts_and_one_that_is_off_does_not(
    template: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "pip.conf").write_text("[install]\nuser = true\n")
    with pytest.raises(UsageError, match="user in pip's configuration is set"):
        judge(template[0], PIP_CONFIG_FILE=str(tmp_path / "pip.conf"))
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://example.org/simple\n")
    judge(template[0], PIP_CONFIG_FILE=str(tmp_path / "pip.conf"), PIP_USER="0")


@pytest.mark.long
def test_an_installer_that_is_missing(template: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match=r"uv is not installed.*--installer pip"):
        judge(template[0], ("uv",), PATH="/nowhere")


def test_an_environment_without_pip(template: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(template[0], tmp_path / "env", symlinks=True)
    shutil.rmtree(next((tmp_path / "env").glob("lib/*/site-packages/pip")))
    with pytest.raises(UsageError, match=r"No module named pip.*nothing was changed.*ensurepip"):
        judge(tmp_path / "env")


@pytest.mark.long
def test_a_missing_record_and_what_brings_it_back(
    template: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "env"
    shutil.copytree(template[0], folder, symlinks=True)
    record = next(folder.glob("lib/*/site-packages/moved-1.dist-info")) / "RECORD"
    record.unlink()
    with pytest.raises(UsageError, match=r"moved 1 has no RECORD") as refused:
        judge(folder)
    words = str(refused.value).partition(" -m pip ")[2].split()
    assert words[:3] == ["install", "--ignore-installed", "--no-deps"]
    pip(folder, template[1], *words)
    assert record.exists()
    judge(folder)


@pytest.mark.long
@pytest.mark.skipif(not UV, reason="uv is not installed")
def test_a_setting_of_uv_and_its_way_out_of_a_missing_record(
    template: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, path = tmp_path / "env", str(Path(UV).parent)
    shutil.copytree(template[0], folder, symlinks=True)
    judge(folder, ("uv",), PATH=path)
    (folder / "uv.toml").write_text('[pip]\ntarget = "/nowhere"\n')
    with pytest.raises(UsageError, match="target is set in uv's configuration"):
        judge(folder, ("uv",), PATH=path)
    (folder / "uv.toml").unlink()
    record = next(folder.glob("lib/*/site-packages/moved-1.dist-info")) / "RECORD"
    record.unlink()
    with pytest.raises(UsageError, match="moved 1 has no RECORD") as refused:
        judge(folder, ("uv",), PATH=path)
    words = shlex.split(str(refused.value).partition("This writes a new one: ")[2])
    assert words[:3] == ["uv", "pip", "install"]
    offline = ("--no-index", "--find-links", str(template[1]))
    subprocess.run([UV, *words[1:], *offline], check=True, capture_output=True)
    assert record.exists()


@pytest.mark.long
def test_what_is_right_is_let_through(template: tuple[Path, Path]) -> None:
    judge(template[0])
