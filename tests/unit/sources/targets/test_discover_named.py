"""Targets that are named: examined, or refused in one line; never another one instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fadoctor.model.errors import TargetError
from fadoctor.processes.command import Ending, Result
from fadoctor.sources.targets.discover import TargetRequest
from tests.unit.sources.targets.made_environments import (
    SILENT,
    answer,
    find,
    make_env,
    never,
    saying,
)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing", "does not exist"),
        ("loop", "symbolic links that go in circles"),
        ("dangling", "a broken symbolic link"),
        ("empty", "not an environment: no pyvenv.cfg, no conda-meta"),
        ("text", "not an interpreter: it is not executable"),
        ("gutted", "its interpreter cannot be reached"),
        ("\x1b[31mred", r"--python \?\[31mred: does not exist"),
    ],
)
def test_a_named_target_that_cannot_be_is_an_error_of_one_line(
    tmp_path: Path, path: str, words: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").touch()
    (make_env(tmp_path / "gutted") / "bin" / "python").unlink()
    active = make_env(tmp_path / "active")
    with pytest.raises(TargetError, match=words) as caught:
        find(tmp_path, TargetRequest(python=path), VIRTUAL_ENV=active)
    assert "\n" not in str(caught.value)


def test_the_variable_of_fadoctor_is_as_strict(tmp_path: Path) -> None:
    active = make_env(tmp_path / "active")
    with pytest.raises(TargetError, match=r"^FADOCTOR_PYTHON gone: does not exist$"):
        find(tmp_path, FADOCTOR_PYTHON="gone", VIRTUAL_ENV=active)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (SILENT, "exited with status 3: boom"),
        (Result(Ending.EXITED, 0, "usage: ls\n", "", 0.0), "printed no answer.*usage: ls"),
        (Result(Ending.TIMED_OUT, 0, "", "", 10.0), "gave no answer within 10 s"),
        (Result(Ending.SIGNALLED, 11, "", "", 0.1), "died of SIGSEGV"),
    ],
)
def test_a_named_program_must_answer(tmp_path: Path, result: Result, words: str) -> None:
    program = tmp_path / "python3"
    program.touch(mode=0o755)
    with pytest.raises(TargetError, match=f"not a Python interpreter that works: .*{words}"):
        find(tmp_path, TargetRequest(python="python3"), run=saying(result))


def test_the_prefix_of_a_system_interpreter_is_what_it_says(tmp_path: Path) -> None:
    program = tmp_path / "python3"
    program.touch(mode=0o755)
    packages = tmp_path / "dist-packages"
    packages.mkdir()
    told = answer(Path("/usr"), str(packages), "relative", str(tmp_path / "missing"))
    target = find(tmp_path, TargetRequest(python="python3"), run=saying(told))
    assert target.site == (str(packages),)
    assert target.roots["prefix"] == "/usr"


def test_an_interpreter_inside_an_environment_stands_for_it(tmp_path: Path) -> None:
    env = make_env(tmp_path / "env")
    target = find(tmp_path, TargetRequest(python="env/bin/python"))
    assert target.roots["prefix"] == str(env)
    assert target.label == str(env / "bin" / "python")


def test_a_broken_interpreter_of_a_named_environment_leaves_its_files(tmp_path: Path) -> None:
    env = make_env(tmp_path / "env")
    target = find(tmp_path, TargetRequest(python="env"))
    assert target.site == (str(env / "lib/python3.11/site-packages"),)
    assert "exited with status 3" in target.notes[0]


def test_a_tree_of_packages_has_no_interpreter(tmp_path: Path) -> None:
    site = make_env(tmp_path / "image") / "lib/python3.11/site-packages"
    target = find(tmp_path, TargetRequest(site_packages=str(site)), run=never)
    assert (target.kind, target.python, target.may_run) == ("site-packages", None, False)
    assert target.site == (str(site),)
    assert target.roots["prefix"] == str(tmp_path / "image")


def test_a_bare_tree_of_packages_has_no_prefix(tmp_path: Path) -> None:
    target = find(tmp_path, TargetRequest(site_packages="."), run=never)
    assert target.label == str(tmp_path)
    assert "prefix" not in target.roots


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing", "does not exist"),
        ("env", "an environment, not its packages; use --python"),
        ("file", "not a folder"),
    ],
)
def test_a_tree_that_cannot_be_is_an_error(tmp_path: Path, path: str, words: str) -> None:
    make_env(tmp_path / "env")
    (tmp_path / "file").touch()
    with pytest.raises(TargetError, match=words):
        find(tmp_path, TargetRequest(site_packages=path), run=never)


def test_two_targets_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="exclude each other"):
        find(tmp_path, TargetRequest(python="a", site_packages="b"), run=never)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_without_rights_is_told(tmp_path: Path) -> None:
    env = make_env(tmp_path / "env")
    env.chmod(0)
    try:
        with pytest.raises(TargetError, match="cannot be read"):
            find(tmp_path, TargetRequest(python="env"), run=never)
    finally:
        env.chmod(0o755)
