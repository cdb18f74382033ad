"""Asking a Ray cluster, with a module that stands for ray: who hangs, who is dead, what fails."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.fleet.gathered import Gathered
from fadoctor.fleet.ray import RayReplies, ask, note_problems
from tests.unit.fleet.samples import line

if TYPE_CHECKING:
    from pathlib import Path

RAY = '''
"""As much of ray as is asked."""
import os

KIND = os.environ["FAKE_RAY"]

def init(**_options):
    errors = {
        "version": RuntimeError("Version mismatch: The cluster was started with Ray 2.43.0"),
        "auth": RuntimeError("AuthenticationError: Unauthenticated"),
    }
    if KIND in errors:
        raise errors[KIND]

def nodes():
    return [
        {"NodeID": str(n) * 9, "NodeManagerHostname": "vm" if KIND == "same" else f"n{n}",
         "Alive": n != 3} for n in range(4)
    ]

class _Ref:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

class _Task:
    def __init__(self, function):
        self.function = function
    def options(self, **_options):
        return self
    def remote(self, *arguments):
        return _Ref(self.function, arguments)

def remote(**_options):
    return _Task

def wait(refs, num_returns, timeout):
    done = [ref for ref in refs if not (KIND == "hang" and ref.arguments[0] == "n1")]
    return done[:num_returns], refs

def get(ref, timeout):
    function, arguments = ref.function, ref.arguments
    if KIND == "crash" and arguments[0] == "n1":
        raise RuntimeError("WorkerCrashedError: it died\\nmore")
    return function(*arguments)

def cancel(ref, force):
    pass
'''


def asked(tmp_path: Path, kind: str, *command: str) -> RayReplies:
    package = tmp_path / "ray" / "util"
    package.mkdir(parents=True)
    (tmp_path / "ray" / "__init__.py").write_text(RAY)
    (package / "__init__.py").write_text("")
    (package / "scheduling_strategies.py").write_text(
        "def NodeAffinitySchedulingStrategy(node, soft):\n    return node\n"
    )
    (tmp_path / "record").write_bytes(line(1))
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "FAKE_RAY": kind}
    told = command or ("cat", str(tmp_path / "record"))
    return ask(sys.executable, "auto", told, 30.0, environ)


def test_records_come_back_and_the_dead_are_named(tmp_path: Path) -> None:
    found = asked(tmp_path, "fine")
    assert found.nodes == ("n0", "n1", "n2", "n3")
    assert found.lines == line(1) * 3
    assert found.problems == {"n3": "Ray reports it as dead"}
    gathered = Gathered()
    note_problems(found, gathered)
    assert gathered.spoke == {"n3": "Ray reports it as dead"}


def test_nodes_of_one_host_are_told_apart(tmp_path: Path) -> None:
    assert asked(tmp_path, "same").nodes == tuple(f"vm-{str(n) * 8}" for n in range(4))


@pytest.mark.parametrize(
    ("kind", "problem"),
    [("hang", "no answer within 30 s"), ("crash", "RuntimeError: WorkerCrashedError: it died")],
)
def test_who_does_not_answer_is_named(tmp_path: Path, kind: str, problem: str) -> None:
    assert asked(tmp_path, kind).problems["n1"] == problem


def test_a_check_that_fails_on_a_node_is_told(tmp_path: Path) -> None:
    found = asked(tmp_path, "fine", "{python}", "-c", "raise SystemExit('no fadoctor')")
    assert found.problems["n0"] == "the check ended with 1: no fadoctor"
    missing = tmp_path / "again"
    missing.mkdir()
    assert "could not be started" in asked(missing, "fine", "/none").problems["n0"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [("version", "--python must name an interpreter"), ("auth", "RAY_AUTH_MODE=token")],
)
def test_a_cluster_that_refuses_is_explained(tmp_path: Path, kind: str, words: str) -> None:
    found = asked(tmp_path, kind)
    assert words in found.failed
    assert found.nodes == ()


def test_an_interpreter_without_ray_is_explained() -> None:
    found = ask(sys.executable, "auto", ("true",), 30.0, {"PATH": os.environ["PATH"]})
    assert "there is no ray in" in found.failed
