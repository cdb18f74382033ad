"""What our own interpreter says of itself without a child is what a child would have said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fadoctor.processes.own_interpreter import path_of_start

ROOT = Path(__file__).resolve().parents[3]
ASK = """
import os, sys
from fadoctor.processes import own_interpreter, run
from fadoctor.sources.probes.interpreter import ask_interpreter
own_interpreter.note_start()
sys.path.insert(0, "/added/later")
asked = []
def counted(command):
    asked.append(command)
    return run.run(command)
python, environ = sys.argv[1], os.environ if len(sys.argv) < 3 else dict(os.environ)
answer = ask_interpreter(python, counted, environ)
import msgspec
print(msgspec.json.encode([len(asked), answer]).decode())
"""


def asked(tmp_path: Path, *flags: str, python: str = sys.executable, copied: bool = False,
          **more: str) -> tuple[int, dict[str, object]]:  # fmt: skip
    """Return how many children were run, and what the interpreter answered."""
    script = tmp_path / "ask.py"
    script.write_text(ASK)
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    argv = [sys.executable, *flags, str(script), python, *(["copied"] if copied else [])]
    run = subprocess.run(argv, env=environ, capture_output=True, check=True, timeout=60)
    children, answer = msgspec.json.decode(run.stdout, type=tuple[int, dict[str, object]])
    return children, answer


def test_our_own_interpreter_answers_without_a_child_what_a_child_would(tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    path = f"{extra}{os.pathsep}{ROOT}{os.pathsep}/not/there"
    here = asked(tmp_path, PYTHONPATH=path)
    child = asked(tmp_path, PYTHONPATH=path, copied=True)
    assert (here[0], child[0]) == (0, 1)
    assert here[1] == child[1]
    folders = here[1]["sys_path"]
    assert isinstance(folders, list)
    assert folders[:2] == [str(extra), str(ROOT)]
    assert str(tmp_path) not in folders


@pytest.mark.parametrize("flag", ["-s", "-E"])
def test_one_that_was_started_otherwise_is_asked_by_a_child(tmp_path: Path, flag: str) -> None:
    code = f"import sys; sys.path[0] = {str(ROOT)!r}\n"
    script = tmp_path / "ask.py"
    script.write_text(code + ASK)
    run = subprocess.run(
        [sys.executable, flag, str(script), sys.executable],
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert msgspec.json.decode(run.stdout)[0] == 1


def test_another_environment_with_the_same_interpreter_is_asked(tmp_path: Path) -> None:
    other = tmp_path / "env" / "bin"
    other.mkdir(parents=True)
    (other / "python").symlink_to(Path(sys.executable).resolve())
    (tmp_path / "env" / "pyvenv.cfg").write_text(
        f"home = {Path(sys.executable).resolve().parent}\n"
    )
    children, answer = asked(tmp_path, python=str(other / "python"))
    assert children == 1
    assert answer["prefix"] == str(tmp_path / "env")


def test_who_uses_fadoctor_as_a_library_has_taken_no_note() -> None:
    assert path_of_start(sys.executable, os.environ) is None
