"""Nothing is said to be as before that was not compared; otherwise it is listed, and can be had."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

import pytest

from fadoctor.interfaces.cli.undo import tell
from fadoctor.model.errors import ApplyError
from fadoctor.model.plan import Action, ActionKind
from fadoctor.processes.run import run
from fadoctor.repair.apply.carry_out import Workshop, carry_out
from fadoctor.repair.apply.undo import undo
from tests.unit.processes.test_guard import is_gone
from tests.unit.repair.apply.test_undo_real import Project
from tests.unit.repair.apply.trees import manifest
from tests.unit.repair.apply.wheels import make_wheel, tiny

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the layout of POSIX")


@pytest.fixture
def project(tiny_project: Path, wheels: Path, tmp_path: Path) -> Project:
    return Project(tiny_project, tmp_path / "project", wheels, real=False)


def lead_away(path: Path, target: Path) -> None:
    path.rename(target)
    path.symlink_to(target)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_undo_says_what_is_not_as_before(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str], level: int
) -> None:
    """`carry_out` refuses no links, so this is what a link shows that nobody foresaw."""
    folder = (project.site, *project.site.parents)[level]
    lead_away(folder, tmp_path / "elsewhere")
    project.fix()
    undone = project.undo()
    said = "\n".join(undone.unlike)
    assert "moved is 2, not 1" in said
    assert "gone 1 is not installed" in said
    assert "fresh is 1 (new)" in said
    assert "moved/__init__.py (changed)" in said
    assert "moved/only_2.py (left over)" in said
    assert tell(undone, project.store) == 1
    words = capsys.readouterr().err
    assert "is NOT as it was before" in words
    assert f"the snapshot stays in {project.store.folder}" in words
    assert project.store.snapshot.is_dir()
    assert project.store.journal.is_file()


def test_a_repaired_cause_lets_undo_end(project: Project, tmp_path: Path) -> None:
    """A file that cannot be brought back while something is in its way; then the way is free."""
    before = manifest(project.folder)
    project.fix()
    other = project.site / "moved"
    other.rename(tmp_path / "theirs")
    other.symlink_to(tmp_path / "theirs")
    first = project.undo()
    assert not first.is_proved
    assert project.store.snapshot.is_dir()
    other.unlink()
    second = project.undo()
    assert second.is_proved
    after = manifest(project.folder)
    assert {path for path in before if before[path] != after.get(path)} <= {
        str(other.parent.relative_to(project.folder)), str(other.relative_to(project.folder))
    }  # fmt: skip
    assert not (project.folder / ".fadoctor").exists()


def test_content_is_read_not_only_times(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the same length and time, and of another content, is not as before."""
    place = project.site / "moved" / "big.bin"
    time = place.stat().st_mtime_ns
    project.fix()

    def forged(*_: object) -> None:
        place.write_bytes(place.read_bytes()[:-1] + b"x")
        os.utime(place, ns=(time, time))

    monkeypatch.setattr("fadoctor.repair.apply.restore._Work.set_folder_times", forged)
    [line] = project.undo().unlike
    assert line.endswith("moved/big.bin (changed)")


def test_a_snapshot_without_its_likeness_proves_nothing(project: Project) -> None:
    project.fix()
    project.store.likeness.unlink()
    with pytest.raises(ApplyError, match=r"before\.json cannot be read"):
        project.undo()
    assert project.store.snapshot.is_dir()


def test_what_somebody_elses_installer_did_during_a_step_stays(project: Project) -> None:
    """It was counted as the fix's doing, and undo removed it."""
    theirs: list[str] = []

    def at_the_same_time() -> None:
        if project.store.manifest.exists() and not theirs:
            theirs.append("later")
            tiny(project.folder, project.wheels, "install", "later==1")

    project.after_step = at_the_same_time
    # The examination after the first step comes too late: the second step's record has to tell.
    project.fix()
    undone = project.undo()
    assert undone.others == ("later 1 (installed since)",)
    assert undone.is_proved
    assert (project.site / "later" / "__init__.py").exists()
    assert (project.folder / "bin" / "later-tool").exists()
    assert not (project.site / "fresh").exists()


def test_an_installer_that_runs_while_undo_does_is_told_of_and_left(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undo had looked at the environment before; what came since is nobody's to remove."""
    project.fix()

    def at_the_same_time(*_: object) -> None:
        tiny(project.folder, project.wheels, "install", "later==1")

    monkeypatch.setattr("fadoctor.repair.apply.restore._Work.set_folder_times", at_the_same_time)
    undone = project.undo()
    assert undone.others == ("later is 1 (new)",)
    assert undone.is_proved
    assert (project.site / "later" / "__init__.py").exists()


def test_one_that_touches_the_same_package_is_found_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = manifest(project.folder)
    project.fix()

    def at_the_same_time(*_: object) -> None:
        tiny(project.folder, project.wheels, "install", "moved==2")

    with monkeypatch.context() as patched:
        patched.setattr("fadoctor.repair.apply.restore._Work.set_folder_times", at_the_same_time)
        undone = project.undo()
    assert "moved is 2, not 1" in undone.unlike
    assert project.undo().is_proved
    after = manifest(project.folder)
    assert {path for path in before if before[path] != after.get(path)} <= {"bin", "lib", "share"}


@pytest.mark.skipif(not Path("/proc/1").exists(), reason="needs a process table")
def test_what_a_step_left_running_writes_no_more(project: Project, tmp_path: Path) -> None:
    """One that had left the group of the step wrote on, while all was compared and brought back."""
    note = tmp_path / "pid"
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(note)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(100)\n"
        f"while not os.path.exists({str(note)!r}) or not open({str(note)!r}).read():\n"
        "    time.sleep(0.01)\n"
        "sys.exit(1)\n"
    )
    argv = (sys.executable, "-I", "-S", "-c", code)
    with pytest.raises(ApplyError):
        project.fix(Action(ActionKind.INSTALL, "install", argv, requirements=("x==1",)))
    assert is_gone(int(note.read_text()))
    assert project.undo().is_proved


def test_what_is_set_aside_may_go_to_another_disk(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount in the environment: nothing can be renamed from it into `.fadoctor`."""
    project.fix()
    place = project.site / "moved" / "__init__.py"
    with place.open("a") as file:
        file.write("patched = True\n")

    def other_disk(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr("os.rename", other_disk)
    monkeypatch.setattr("os.link", other_disk)
    undone = project.undo()
    [kept] = undone.aside
    assert "patched" in (project.folder / kept).read_text()
    assert place.read_text().startswith("version = 1\n")


def test_what_a_planned_package_requires_is_the_fixs_doing(
    project: Project, tmp_path: Path
) -> None:
    before = manifest(project.folder)
    text = "Metadata-Version: 2.1\nName: fresh\nVersion: 1\nRequires-Dist: later (>=1)\n"

    def required() -> None:
        if project.store.manifest.exists() and (project.site / "fresh").exists():
            (project.site / "fresh-1.dist-info" / "METADATA").write_text(text)

    wheels = tmp_path / "wheels"
    shutil.copytree(project.wheels, wheels)
    files = {"fresh/__init__.py": "def main(): pass\n"}
    make_wheel(wheels, "fresh", "1", files)
    project.wheels = wheels
    plan = project.plan()
    *others, install = plan.actions
    both = type(install)(
        install.kind, install.text, (*install.argv, "later==1"), requirements=install.requirements
    )

    def examine() -> object:
        required()
        return Project.examine(project)

    def run_and_require(command: object, announce: object) -> object:
        result = run(command, announce)  # type: ignore[arg-type]
        required()
        return result

    workshop = Workshop(run_and_require, examine, lambda _: None)  # type: ignore[arg-type]
    with project.store.locked():
        carry_out(
            type(plan)(plan.outcome, plan.target, plan.installer, (*others, both), plan.changes),
            project.store, workshop,
        )  # fmt: skip
        undone = undo(project.store)
    assert undone is not None
    assert undone.others == ()
    assert undone.is_proved
    assert manifest(project.folder) == before
