"""Interpreters that are too old, and shims that stand for another: said in words, or followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fadoctor.model.errors import TargetError
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.run import run
from fadoctor.sources.targets.discover import TargetRequest
from tests.unit.sources.targets.made_environments import answer, find, make_env, never

PYENV = Path.home() / ".pyenv"
OLD = ("2.7", "3.6", "3.7")


def real(version: str) -> Path:
    """Return the newest interpreter of a version that pyenv has."""
    found = sorted(PYENV.glob(f"versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"pyenv has no Python {version} here")
    return found[-1]


def refusal(tmp_path: Path, python: str, home: str = "", chosen: str = "") -> str:
    with pytest.raises(TargetError) as caught:
        find(tmp_path, TargetRequest(python=python), run=run, PATH="/usr/bin:/bin", HOME=home,
             PYENV_VERSION=chosen)  # fmt: skip
    return str(caught.value)


@pytest.mark.parametrize("version", OLD)
def test_a_real_old_interpreter_is_named_by_its_version(tmp_path: Path, version: str) -> None:
    """It was "SyntaxError: invalid syntax", and Python 3.7 passed without a word."""
    words = refusal(tmp_path, str(real(version)))
    assert f"Python {version}." in words
    assert words.endswith("fadoctor examines Python 3.8 and newer")


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_a_real_newer_one_is_examined(tmp_path: Path, version: str) -> None:
    request = TargetRequest(python=str(real(version)))
    assert find(tmp_path, request, run=run, PATH="/usr/bin:/bin").site


def old_python(path: Path, version: str = "3.6.15") -> None:
    path.write_text(
        f'#!/bin/sh\ncase "$2" in -c) printf "noise\\nPython {version}\\n";; '
        "*) echo 'SyntaxError: future feature annotations is not defined' >&2; exit 1;; esac\n"
    )
    path.chmod(0o755)


def test_an_old_environment_is_refused_however_it_was_chosen(tmp_path: Path) -> None:
    env = make_env(tmp_path / "env", "version = 3.6.15\n")
    old_python(env / "bin" / "python")
    assert "Python 3.6.15; fadoctor examines" in refusal(tmp_path, str(env))
    assert "Python 3.6.15; fadoctor examines" in refusal(tmp_path, str(env / "bin" / "python"))
    with pytest.raises(TargetError, match=r"\$VIRTUAL_ENV.*Python 3\.6\.15"):
        find(tmp_path, run=run, VIRTUAL_ENV=env, PATH="/usr/bin:/bin")
    (tmp_path / "env").rename(tmp_path / ".venv")
    with pytest.raises(TargetError, match=r"\.venv found in.*Python 3\.6; fadoctor"):
        find(tmp_path, run=never)


def test_what_answers_neither_question_is_not_called_old(tmp_path: Path) -> None:
    program = tmp_path / "python3"
    program.write_text("#!/bin/sh\necho oops >&2; exit 3\n")
    program.chmod(0o755)
    assert "not a Python interpreter that works: exited with status 3: oops" in refusal(
        tmp_path, "./python3"
    )


def make_shim(root: Path, text: str) -> Path:
    shim = root / "shims" / "python3.12"
    real_one = root / "versions" / "3.12.1" / "bin" / "python3.12"
    for path in (shim, real_one):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    (root / "versions" / "3.9.18").mkdir()
    return shim


def test_a_shim_that_starts_nothing_is_explained(tmp_path: Path) -> None:
    shim = make_shim(tmp_path, "#!/bin/sh\necho 'at the same time.' >&2; exit 127\n")
    words = refusal(tmp_path, str(shim))
    assert "a shim of pyenv" in words
    assert f"{tmp_path}/versions/3.12.1/bin/python3.12" in words
    assert words.endswith("PYENV_VERSION=3.12.1")


def test_a_shim_is_followed_to_what_it_stands_for(tmp_path: Path) -> None:
    shim = make_shim(tmp_path, "#!/bin/sh\n")
    stands_for = tmp_path / "versions" / "3.12.1" / "bin" / "python3.12"

    def started(command: Command) -> Result:
        told = answer(tmp_path / "versions" / "3.12.1").stdout
        text = told.replace('"executable": ""', f'"executable": "{stands_for}"')
        return Result(Ending.EXITED, 0, text, "", 0.0)

    target = find(tmp_path, TargetRequest(python=str(shim)), run=started)
    assert (target.python, target.label) == (str(stands_for), str(stands_for))
    assert "the real interpreter is" in target.notes[0]


def test_a_real_shim_is_followed_by_variable_and_by_folder(tmp_path: Path) -> None:
    python, shim = real("3.12"), PYENV / "shims" / "python3.12"
    if not shim.exists():
        pytest.skip("pyenv has no shims here")
    version = python.parts[-3]
    path, home = f"{shim.parent}:{os.environ['PATH']}", str(Path.home())
    words = refusal(tmp_path, str(shim), home, "system")
    assert "PYENV_VERSION=3.12" in words
    target = find(tmp_path, TargetRequest(python="python3.12"), run=run, PATH=path, HOME=home,
                  PYENV_VERSION=version)  # fmt: skip
    assert target.python is not None
    assert target.python.startswith(str(python.parent))


def test_a_bare_name_is_looked_up_on_path(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    old_python(folder / "python-of-mine")
    with pytest.raises(TargetError, match=r"--python python-of-mine: Python 3\.6\.15"):
        find(tmp_path, TargetRequest(python="python-of-mine"), run=run, PATH=f"{folder}:/bin")
    with pytest.raises(TargetError, match="does not exist"):
        find(tmp_path, TargetRequest(python="python-of-mine"), run=run, PATH="/bin")
