"""Which environment is examined, in every situation a person can be in."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import TargetError
from fadoctor.processes.run import remember, run
from fadoctor.sources.targets.default_environment import Own, own_interpreter
from fadoctor.sources.targets.discover import TargetRequest, discover
from tests.unit.sources.targets.made_environments import (
    SYSTEM,
    answer,
    find,
    make_conda,
    make_env,
    never,
    saying,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.processes.command import Command, Result


def test_the_option_comes_before_everything(tmp_path: Path) -> None:
    named, active = make_env(tmp_path / "named"), make_env(tmp_path / "active")
    make_env(tmp_path / ".venv")
    request = TargetRequest(python=str(named))
    target = find(tmp_path, request, VIRTUAL_ENV=active, FADOCTOR_PYTHON=active)
    assert (target.label, target.reason, target.may_run) == (str(named), "--python", True)
    assert target.python == str(named / "bin" / "python")


def test_then_the_variable_of_fadoctor(tmp_path: Path) -> None:
    named, active = make_env(tmp_path / "named"), make_env(tmp_path / "active")
    target = find(tmp_path, FADOCTOR_PYTHON=named, VIRTUAL_ENV=active)
    assert (target.label, target.reason) == (str(named), "FADOCTOR_PYTHON")


def test_then_the_active_environment(tmp_path: Path) -> None:
    active, conda = make_env(tmp_path / "active"), make_conda(tmp_path / "conda")
    target = find(tmp_path, VIRTUAL_ENV=active, CONDA_PREFIX=conda)
    assert (target.label, target.reason, target.may_run) == (str(active), "$VIRTUAL_ENV", True)


def test_then_conda(tmp_path: Path) -> None:
    conda = make_conda(tmp_path / "conda")
    make_env(tmp_path / ".venv")
    target = find(tmp_path, CONDA_PREFIX=conda)
    assert (target.label, target.reason, target.may_run) == (str(conda), "$CONDA_PREFIX", True)
    assert target.site == (str(conda / "lib/python3.11/site-packages"),)


@pytest.mark.parametrize("folder", ["condabin", "envs"])
def test_but_not_the_base_of_conda(tmp_path: Path, folder: str) -> None:
    base = make_conda(tmp_path / "conda", folder)
    found = make_env(tmp_path / ".venv")
    assert find(tmp_path, CONDA_PREFIX=base).label == str(found)


def test_an_environment_that_was_only_found_is_not_run(tmp_path: Path) -> None:
    found = make_env(tmp_path / ".venv")
    inner = tmp_path / "src" / "package"
    inner.mkdir(parents=True)
    target = find(inner, run=never)
    assert (target.label, target.may_run) == (str(found), False)
    assert target.reason == f".venv found in {tmp_path}"
    assert target.python == str(found / "bin" / "python")
    assert target.site == (str(found / "lib/python3.11/site-packages"),)


def test_but_pythonpath_comes_first_in_it_too(tmp_path: Path) -> None:
    site = make_env(tmp_path / ".venv") / "lib/python3.11/site-packages"
    more = tmp_path / "modules" / "site-packages"
    more.mkdir(parents=True)
    path = os.pathsep.join((str(more), "relative", str(tmp_path / "gone"), str(site)))
    target = find(tmp_path, run=never, PYTHONPATH=path)
    assert target.site == (str(more), str(site))
    assert target.roots["site"] == str(site)


def test_the_nearest_one_counts(tmp_path: Path) -> None:
    make_env(tmp_path / ".venv")
    (tmp_path / "a").mkdir()
    near = make_env(tmp_path / "a" / ".venv")
    assert find(tmp_path / "a", run=never).label == str(near)


def test_the_one_that_runs_fadoctor_may_be_run_though_it_was_found(tmp_path: Path) -> None:
    found = make_env(tmp_path / ".venv")
    own = Own(str(found / "bin" / "python"), str(found), "/usr", "3.11.7")
    target = find(tmp_path, own=own)
    assert (target.reason, target.may_run) == (f".venv found in {tmp_path}", True)


def test_last_the_interpreter_that_runs_fadoctor(tmp_path: Path) -> None:
    home = make_env(tmp_path / "home")
    (home / "lib/python3.11/site-packages/flash_attn-2.8.3.dist-info").mkdir()
    own = Own(str(home / "bin" / "python"), str(home), "/usr", "3.11.7")
    (tmp_path / "empty").mkdir()
    target = find(tmp_path / "empty", own=own)
    assert (target.label, target.may_run) == (str(home), True)
    assert target.reason == "the interpreter that runs fadoctor"


def test_an_own_environment_without_the_stack_is_not_worth_a_look(tmp_path: Path) -> None:
    """`fadoctor check --strict` in CI must not be green about fadoctor's own environment."""
    home = make_env(tmp_path / "home")
    for name in ("numpy-2.2.0.dist-info", "torchlike-1.0.dist-info", "torch"):
        (home / "lib/python3.11/site-packages" / name).mkdir()
    own = Own(str(home / "bin" / "python"), str(home), "/usr", "3.11.7")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TargetError, match="own environment has no package of the stack"):
        find(tmp_path / "empty", own=own)
    assert find(tmp_path, TargetRequest(python=str(home)), own=own).label == str(home)


def test_the_python_on_path_comes_before_fadoctors_own(tmp_path: Path) -> None:
    env = make_env(tmp_path / "env")
    (tmp_path / "empty").mkdir()
    path = f"{tmp_path / 'empty'}:{env / 'bin'}"
    target = find(tmp_path / "empty", run=saying(answer(env)), PATH=path)
    assert (target.label, target.may_run) == (str(env / "bin" / "python"), True)
    assert target.reason == "python on PATH"


def test_a_program_on_path_is_asked_where_it_lives(tmp_path: Path) -> None:
    """The shim of a version manager lies in no environment; what it starts does."""
    env, shims = make_env(tmp_path / "env"), tmp_path / "shims"
    shims.mkdir()
    (shims / "python3").symlink_to("/bin/true")
    target = find(tmp_path, run=saying(answer(env)), PATH=shims)
    assert (target.label, target.reason) == (str(shims / "python3"), "python3 on PATH")
    assert target.roots["prefix"] == str(env)


def test_a_python_on_path_that_does_not_answer_is_passed_over_and_told(tmp_path: Path) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "python").symlink_to("/bin/true")
    with pytest.raises(TargetError, match=f"{shims / 'python'} on PATH was skipped"):
        find(tmp_path, PATH=shims)


def test_relative_folders_of_path_do_not_count(tmp_path: Path) -> None:
    make_env(tmp_path / "env")
    with pytest.raises(TargetError):
        find(tmp_path, run=never, PATH=f"env/bin:.:{os.pathsep}")


def test_fadoctors_own_python_on_path_is_its_own(tmp_path: Path) -> None:
    home = make_env(tmp_path / "home")
    own = Own(str(home / "bin" / "python"), str(home), "/usr", "3.11.7")
    with pytest.raises(TargetError):
        find(tmp_path, own=own, PATH=home / "bin")


def test_an_isolated_tools_python_on_path_is_passed_over(tmp_path: Path) -> None:
    """`uvx` puts the folder of its own environment first."""
    tool, env = make_env(tmp_path / "archive-v0" / "x"), make_env(tmp_path / "env")
    own = Own(str(tool / "bin" / "python"), str(tool), "/usr", "3.11.7")
    path = f"{tool / 'bin'}:{env / 'bin'}"
    target = find(tmp_path, own=own, run=saying(answer(env)), PATH=path)
    assert target.label == str(env / "bin" / "python")


def test_fadoctors_own_python_first_on_path_hides_no_other(tmp_path: Path) -> None:
    home, env = make_env(tmp_path / "home"), make_env(tmp_path / "env")
    own = Own(str(home / "bin" / "python"), str(home), "/usr", "3.11.7")
    path = f"{home / 'bin'}:{env / 'bin'}"
    found = find(tmp_path, own=own, run=saying(answer(env)), PATH=path)
    assert found.label == str(env / "bin" / "python")
    (home / "lib/python3.11/site-packages/torch-2.8.0.dist-info").mkdir()
    assert find(tmp_path, own=own, PATH=path).label == str(home)


@pytest.mark.parametrize("receipt", ["uv-receipt.toml", "pipx_metadata.json"])
def test_a_tool_without_an_environment_to_look_at_says_what_to_do(
    tmp_path: Path, receipt: str
) -> None:
    tool = make_env(tmp_path / "tool")
    (tool / receipt).touch()
    own = Own(str(tool / "bin" / "python"), str(tool), "/usr", "3.11.7")
    with pytest.raises(TargetError, match=r"no environment to examine.*--python PATH") as caught:
        find(tmp_path, own=own, VIRTUAL_ENV=tool)
    assert caught.value.exit_code == 2


def test_a_tool_looks_at_the_active_environment(tmp_path: Path) -> None:
    tool = make_env(tmp_path / "archive-v0" / "e6xnn1oF")
    active = make_env(tmp_path / "active")
    own = Own(str(tool / "bin" / "python"), str(tool), "/usr", "3.11.7")
    assert find(tmp_path, own=own, VIRTUAL_ENV=active).label == str(active)


def test_the_overlay_of_uv_run_is_passed_over(tmp_path: Path) -> None:
    """`uv run --with` makes its own overlay the active environment; the project's is beneath."""
    overlay = make_env(tmp_path / "cache" / "builds-v0" / ".tmpz4P6d4")
    project = make_env(tmp_path / "project" / ".venv")
    own = Own(str(overlay / "bin" / "python"), str(overlay), "/usr", "3.11.7")
    target = find(tmp_path / "project", own=own, VIRTUAL_ENV=overlay)
    assert (target.label, target.notes) == (str(project), ())


def test_a_tool_that_is_named_is_examined(tmp_path: Path) -> None:
    tool = make_env(tmp_path / "tool")
    (tool / "uv-receipt.toml").touch()
    assert find(tmp_path, TargetRequest(python=str(tool))).label == str(tool)


def test_two_candidates_that_differ_are_told(tmp_path: Path) -> None:
    active, near = make_env(tmp_path / "active"), make_env(tmp_path / ".venv")
    (note,) = (n for n in find(tmp_path, VIRTUAL_ENV=active).notes if "nearest" in n)
    assert str(active) in note
    assert str(near) in note


def test_one_candidate_by_two_names_is_not(tmp_path: Path) -> None:
    active = make_env(tmp_path / "active")
    (tmp_path / ".venv").symlink_to(active)
    target = find(tmp_path, run=saying(answer(active)), VIRTUAL_ENV=active)
    assert target.notes == ()


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_a_stale_variable_is_passed_over_and_told(tmp_path: Path, variable: str) -> None:
    found = make_env(tmp_path / ".venv")
    environ = {variable: str(tmp_path / "gone")}
    target = discover(TargetRequest(), environ, tmp_path, SYSTEM, never)
    assert target.label == str(found)
    assert f"${variable} names {tmp_path / 'gone'}, which does not exist" in target.notes[0]


def test_a_variable_that_names_another_folder_is_told(tmp_path: Path) -> None:
    make_env(tmp_path / ".venv")
    target = find(tmp_path, run=never, VIRTUAL_ENV=tmp_path)
    assert "which is not an environment" in target.notes[0]


def test_an_active_environment_whose_interpreter_is_gone_is_read(tmp_path: Path) -> None:
    active = make_env(tmp_path / "active")
    (active / "bin" / "python").unlink()
    (active / "bin" / "python").symlink_to("/nonexistent/python3.11")
    target = find(tmp_path, run=never, VIRTUAL_ENV=active)
    assert (target.label, target.python, target.may_run) == (str(active), None, False)
    assert "is gone" in target.notes[0]
    assert target.site == (str(active / "lib/python3.11/site-packages"),)


def test_the_notes_of_a_vain_search_are_in_the_error(tmp_path: Path) -> None:
    own = Own("", str(tmp_path / "archive-v0" / "x"), "/usr", "3.11.7")
    with pytest.raises(TargetError, match="/gone, which does not exist"):
        find(tmp_path, own=own, VIRTUAL_ENV="/gone")


def test_the_folders_that_the_interpreter_states_win(tmp_path: Path) -> None:
    env, extra = make_env(tmp_path / "env"), tmp_path / "extra"
    extra.mkdir()
    site = str(env / "lib/python3.11/site-packages")
    target = find(tmp_path, run=saying(answer(env, str(extra), site)), VIRTUAL_ENV=env)
    assert target.site == (str(extra), site)
    assert target.roots["site"] == site
    assert target.notes == ()


def test_an_interpreter_of_another_prefix_is_told(tmp_path: Path) -> None:
    env = make_env(tmp_path / "env")
    target = find(tmp_path, run=saying(answer(tmp_path / "other")), VIRTUAL_ENV=env)
    assert "belongs to another prefix" in target.notes[0]


def test_an_environment_without_packages_is_told(tmp_path: Path) -> None:
    env = make_env(tmp_path / "env")
    (env / "lib/python3.11/site-packages").rmdir()
    target = find(tmp_path, VIRTUAL_ENV=env)
    assert target.site == ()
    assert "no folder with packages was found in it" in target.notes


def test_home_is_a_root_unless_it_is_everything(tmp_path: Path) -> None:
    make_env(tmp_path / ".venv")
    assert find(tmp_path, run=never, HOME=tmp_path).roots["home"] == str(tmp_path)
    assert "home" not in find(tmp_path, run=never, HOME="/").roots


def test_this_very_interpreter_answers_once(tmp_path: Path) -> None:
    asked = []

    def counted(command: Command) -> Result:
        asked.append(command.argv)
        return run(command)

    once = remember(counted)
    own = own_interpreter()
    environ = {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    named = TargetRequest(python=sys.executable)
    target = discover(named, environ, tmp_path, own, once)
    again = discover(named, environ, tmp_path, own, once)
    assert target == again
    assert len(asked) == 1
    assert str(tmp_path) in target.site
    assert target.roots["prefix"] == sys.prefix
    assert not any(folder.endswith("lib-dynload") for folder in target.site)


@pytest.mark.slow
def test_a_real_virtual_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], cwd=tmp_path, check=True)
    target = discover(TargetRequest(python="env"), {}, tmp_path, own_interpreter())
    (site,) = target.site
    assert site.startswith(str(tmp_path / "env"))
    assert site.endswith("site-packages")
    assert target.notes == ()
