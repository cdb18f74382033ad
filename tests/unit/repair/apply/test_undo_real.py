"""Undo in a git checkout that is the environment: the fix's doing goes, everybody else's stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.errors import ApplyError
from fadoctor.model.plan import Action, ActionKind, Change, Plan, PlanOutcome
from fadoctor.processes.run import run
from fadoctor.repair.apply.carry_out import Workshop, carry_out
from fadoctor.repair.apply.store import Store
from fadoctor.repair.apply.undo import Undone, undo
from tests.unit.judging.engine.builders import environment
from tests.unit.repair.apply.trees import manifest
from tests.unit.repair.apply.wheels import installed_names, pip_program, tiny_program
from tests.uv import UV

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.model.environment import Environment


pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.name != "posix", reason="the layout of POSIX"),
]


class Project:
    """A project's folder that is an environment as well, and a fix of it."""

    def __init__(self, template: Path, folder: Path, wheels: Path, *, real: bool) -> None:
        shutil.copytree(template, folder, symlinks=True)
        self.folder, self.wheels = folder, wheels
        self.program = (pip_program if real else tiny_program)(folder)
        self.site = next(folder.glob("lib/python*/site-packages"))
        self.store = Store(folder)
        self.after_step: Callable[[], None] = lambda: None

    def examine(self) -> Environment:
        self.after_step()
        return environment({"packages.installed": installed_names(self.site)})

    def action(self, kind: ActionKind, word: str, *items: str) -> Action:
        options = ("--yes",) if kind is ActionKind.UNINSTALL else (
            "--no-index", "--find-links", str(self.wheels)
        )  # fmt: skip
        argv = (*self.program, word, *options, *items)
        return Action(kind, f"{word} {items[0]}", argv, requirements=items)

    def plan(self, *more: Action) -> Plan:
        remove = self.action(ActionKind.UNINSTALL, "uninstall", "gone")
        install = self.action(ActionKind.INSTALL, "install", "moved==2", "fresh==1")
        changes = (
            Change("moved", "1", "2"), Change("gone", "1", ""), Change("fresh", "", "1")
        )  # fmt: skip
        target = Target("environment", "env", "test")
        return Plan(PlanOutcome.REPAIRS, target, "pip", (remove, install, *more), changes)

    def fix(self, *more: Action) -> None:
        with self.store.locked():
            carry_out(self.plan(*more), self.store, Workshop(run, self.examine, lambda _: None))

    def undo(self, *, force: bool = False) -> Undone:
        with self.store.locked():
            undone = undo(self.store, force=force)
        assert undone is not None
        return undone

    def by_hand(self, word: str, *items: str) -> None:
        """Do what a person does with the installer."""
        argv = self.action(ActionKind.INSTALL, word, *items).argv
        if word == "uninstall":
            argv = self.action(ActionKind.UNINSTALL, word, *items).argv
        subprocess.run(argv, check=True, capture_output=True)

    def write(self, path: str, text: str) -> None:
        """Write as editors do: another file, moved into place."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_name("temporary~").write_text(text)
        place.with_name("temporary~").replace(place)


@pytest.fixture
def project(tiny_project: Path, wheels: Path, tmp_path: Path) -> Project:
    return Project(tiny_project, tmp_path / "project", wheels, real=False)


@pytest.fixture
def real(pip_project: Path, wheels: Path, tmp_path: Path) -> Project:
    return Project(pip_project, tmp_path / "project", wheels, real=True)


def work_on(project: Project) -> None:
    """Do what a person does after a fix."""
    project.write("train.py", "print('second')\n")
    project.write("eval.py", "print('evaluation')\n")
    project.write("runs/one/checkpoint-1000.safetensors", "weights")
    project.write(".git/HEAD", "ref: refs/heads/other\n")
    project.write("lib/mine/model.py", "layers = 2\n")
    project.write("bin/start.sh", "#!/bin/sh\necho start\n")
    (project.folder / "notes.md").unlink()
    project.by_hand("install", "later==1")


WORK = {
    "train.py": "print('second')\n",
    "eval.py": "print('evaluation')\n",
    "runs/one/checkpoint-1000.safetensors": "weights",
    ".git/HEAD": "ref: refs/heads/other\n",
    "lib/mine/model.py": "layers = 2\n",
    "bin/start.sh": "#!/bin/sh\necho start\n",
}


def assert_kept(project: Project) -> None:
    for path, text in WORK.items():
        assert (project.folder / path).read_text() == text
    assert not (project.folder / "notes.md").exists()
    assert (project.site / "later" / "__init__.py").exists()
    assert (project.folder / "bin" / "later-tool").exists()


def test_without_other_hands_it_is_as_before_file_for_file(real: Project) -> None:
    before = manifest(real.folder)
    real.fix()
    assert installed_names(real.site)["moved"] == "2"
    assert (real.folder / "bin" / "fresh-tool").exists()
    assert real.undo() == Undone(restored=True)
    assert manifest(real.folder) == before
    assert not (real.folder / ".fadoctor").exists()


def test_what_others_did_is_listed_and_left(real: Project) -> None:
    """An undo that restored the whole folder deleted checkpoints and reverted train.py."""
    before = manifest(real.folder)
    real.fix()
    work_on(real)
    undone = real.undo()
    assert undone.others == (
        "later 1 (installed since)",
        ".git/HEAD (changed)",
        "bin/start.sh (changed)",
        "eval.py (new)",
        "lib/mine/model.py (changed)",
        "notes.md (removed)",
        "runs/ (new, 1 file)",
        "train.py (changed)",
    )
    assert (undone.spoiled, undone.aside) == ((), ())
    assert_kept(real)
    names = installed_names(real.site)
    assert (names["moved"], names["gone"], names["later"]) == ("1", "1", "1")
    assert "fresh" not in names
    after = manifest(real.folder)
    moved = [path for path in before if "moved" in path or "gone" in path]
    assert {path: after.get(path) for path in moved} == {path: before[path] for path in moved}
    assert not (real.folder / "bin" / "fresh-tool").exists()
    assert not (real.folder / "share" / "moved" / "2").exists()


def test_a_roll_back_leaves_it_too(real: Project) -> None:
    """A step fails; meanwhile somebody has worked on in the same folder."""
    bad = real.action(ActionKind.INSTALL, "install", "unknown==9")
    real.after_step = lambda: real.write("train.py", "print('second')\n")
    with pytest.raises(ApplyError, match="install unknown==9"):
        real.fix(bad)
    real.write("runs/one/checkpoint-1000.safetensors", "weights")
    assert "train.py (changed)" in real.undo().others
    assert (real.folder / "train.py").read_text() == "print('second')\n"
    assert (real.folder / "runs" / "one" / "checkpoint-1000.safetensors").exists()
    assert installed_names(real.site)["moved"] == "1"


def test_a_package_that_somebody_moved_since_is_left_whole(project: Project) -> None:
    """Half of one release and half of another would be neither."""
    project.fix()
    project.by_hand("install", "moved==1")
    project.by_hand("install", "moved==2")
    left = {p: t for p, t in manifest(project.folder).items() if "moved" in p}
    undone = project.undo()
    assert undone.others == ("moved 2 (installed since)",)
    now = {p: t for p, t in manifest(project.folder).items() if "moved" in p}
    assert now.keys() == left.keys()
    assert "gone" in installed_names(project.site)
    assert "fresh" not in installed_names(project.site)


def test_a_package_that_somebody_removed_since_stays_away(project: Project) -> None:
    project.fix()
    project.by_hand("uninstall", "moved")
    assert project.undo().others == ("moved 2 (removed since)",)
    assert "moved" not in installed_names(project.site)
    assert not list(project.site.glob("moved*"))


def test_an_edited_file_of_a_moved_package_is_set_aside(project: Project) -> None:
    """The release from before comes back whole, and nothing of the work is lost."""
    project.fix()
    place = f"{project.site.relative_to(project.folder)}/moved/__init__.py"
    with (project.folder / place).open("a") as file:
        file.write("patched = True\n")
    undone = project.undo()
    assert undone.aside == (f".fadoctor/kept/{place}",)
    assert (project.folder / place).read_text().startswith("version = 1\n")
    assert "patched" in (project.folder / undone.aside[0]).read_text()
    assert [path.name for path in (project.folder / ".fadoctor").iterdir()] == ["kept"]


def test_a_new_file_in_a_package_that_goes_is_left(project: Project) -> None:
    project.fix()
    project.write(f"{project.site.relative_to(project.folder)}/fresh/mine.py", "x = 1\n")
    [line] = project.undo().others
    assert line.endswith("fresh/ (new, 1 file)")
    assert [path.name for path in (project.site / "fresh").iterdir()] == ["mine.py"]


def test_what_python_compiled_meanwhile_goes_with_its_source(project: Project) -> None:
    before = manifest(project.folder)
    project.fix()
    for name in ("fresh", "moved"):
        (project.site / name / "__pycache__").mkdir()
    (project.site / "fresh" / "__pycache__" / "later.cpython-38.pyc").write_text("of no source")
    (project.site / "moved" / "__pycache__" / "only_2.cpython-38.pyc").write_text("compiled")
    assert project.undo().others == ()
    after = manifest(project.folder)
    assert {path for path in after if path not in before} <= {
        path for path in after if "fresh" in path
    }
    assert not (project.site / "moved" / "__pycache__" / "only_2.cpython-38.pyc").exists()


def test_rights_and_cut_off_files_of_moved_packages_come_back(project: Project) -> None:
    before = manifest(project.folder)
    project.fix()
    os.truncate(project.site / "moved" / "__init__.py", 0)
    os.truncate(project.site / "moved" / "big.bin", 5)
    (project.folder / "bin" / "moved-tool").chmod(0o600)
    undone = project.undo()
    assert undone.spoiled == ()
    assert manifest(project.folder) == before


def test_force_brings_the_rest_back_and_deletes_no_new_file(project: Project) -> None:
    before = manifest(project.folder)
    project.fix()
    work_on(project)
    undone = project.undo(force=True)
    assert undone.spoiled == ()
    after = manifest(project.folder)
    new = {path for path in after if path not in before}
    assert new == {"eval.py", "runs", "runs/one", "runs/one/checkpoint-1000.safetensors"}
    files = {path for path in before if before[path] != after[path]}
    assert files <= {".git", "bin", "lib/mine"}  # their times at most
    assert ".fadoctor/kept/train.py" in undone.aside  # and what it replaced is still there
    assert (project.folder / ".fadoctor/kept/train.py").read_text() == "print('second')\n"


def test_a_file_of_the_project_that_a_wheel_claims_is_still_the_projects(project: Project) -> None:
    """Somebody writes a README while a step runs; a package that stays says it is its own."""
    project.by_hand("install", "sloppy==1")
    project.after_step = lambda: project.write("README.md", "of the project\n")
    project.fix()
    assert project.undo().others == ("README.md (changed)",)
    assert (project.folder / "README.md").read_text() == "of the project\n"


def test_a_script_that_a_killed_installer_removed_comes_back(project: Project) -> None:
    """pip removes scripts first: the list that names them is still what it was."""
    bad = project.action(ActionKind.INSTALL, "install", "unknown==9")
    project.by_hand("install", "later==1")
    before = manifest(project.folder)

    def half_done() -> None:
        if project.store.manifest.exists():
            (project.folder / "bin" / "later-tool").unlink(missing_ok=True)

    project.after_step = half_done
    with pytest.raises(ApplyError, match="unknown"):
        project.fix(bad)
    assert project.undo().others == ()
    assert manifest(project.folder) == before


def test_a_link_that_leads_out_is_not_followed(project: Project, tmp_path: Path) -> None:
    project.fix()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "only_2.py").write_text("mine")
    shutil.rmtree(project.site / "moved")
    (project.site / "moved").symlink_to(tmp_path / "outside")
    undone = project.undo()
    assert undone.spoiled
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["only_2.py"]


@pytest.mark.skipif(not UV, reason="uv is not installed")
def test_what_uv_changes_is_taken_back_as_well(real: Project) -> None:
    """It links files from its cache, compiles nothing and writes other scripts."""
    before = manifest(real.folder)
    python = str(real.folder / "bin" / "python")
    uv = (UV, "pip", "install", "--python", python, "--no-index", "--find-links")
    items = ("moved==2", "fresh==1")
    install = Action(
        ActionKind.INSTALL, "install", (*uv, str(real.wheels), *items), requirements=items
    )
    changes = (Change("moved", "1", "2"), Change("fresh", "", "1"))
    target = Target("environment", "env", "test")
    plan = Plan(PlanOutcome.REPAIRS, target, "uv", (install,), changes)
    with real.store.locked():
        carry_out(plan, real.store, Workshop(run, real.examine, lambda _: None))
    real.write("train.py", "print('second')\n")
    assert real.undo().others == ("train.py (changed)",)
    after = manifest(real.folder)
    assert after.pop("train.py") != before.pop("train.py")
    assert after == before
