"""Ray: one task a node, run by the cluster's own interpreter; fadoctor does not depend on ray."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.fleet.identity import UNREADABLE
from fadoctor.model.typed import decode
from fadoctor.processes.command import Command, Ending
from fadoctor.processes.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.fleet.gathered import Gathered

PYTHON = "{python}"
"""In a command for the nodes: the interpreter that runs the task."""
_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_ray.py"
_START_S = 45.0
"""How long it may take to reach the cluster, beside the deadline of its nodes."""
_OUTPUT_LIMIT = 64 << 20
_WANTS_PROOF = (
    "the cluster needs a token: RAY_AUTH_MODE=token with RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
)
_HINTS = (
    ("Version mismatch", "--python must name an interpreter with the cluster's Python and ray"),
    ("AuthenticationError", _WANTS_PROOF),
    ("token", _WANTS_PROOF),
    ("Could not find any running Ray", "no cluster runs here: give its address, --ray HOST:PORT"),
)  # fmt: skip


class _Said(msgspec.Struct):
    """One line of the script."""

    nodes: tuple[str, ...] | None = None
    node: str = ""
    text: str = ""
    problem: str = ""
    failed: str = ""
    done: bool = False


class RayReplies(NamedTuple):
    """What came of asking."""

    lines: bytes
    """Records as they came."""
    nodes: tuple[str, ...]
    problems: dict[str, str]
    failed: str = ""


def ask(
    python: str, address: str, command: Sequence[str], timeout_s: float, environ: dict[str, str]
) -> RayReplies:
    """Ask every node of a cluster; a node that does not answer in time is named."""
    argv = (python, str(_SCRIPT), address, str(timeout_s), *command)
    result = run(Command(argv, timeout_s + _START_S, environ, _OUTPUT_LIMIT))
    texts: list[str] = []
    nodes: tuple[str, ...] | None = None
    problems: dict[str, str] = {}
    failed, done = "", False
    for row in result.stdout.splitlines():
        said = _said(row)
        nodes = said.nodes if said.nodes is not None else nodes
        failed = said.failed or failed
        done = done or said.done
        texts += [said.text] if said.text else []
        if said.node and said.problem:
            problems[said.node] = said.problem
    if nodes is None:
        why = result.describe() if result.ending is not Ending.EXITED or not failed else failed
        return RayReplies(b"", (), {}, _explained(failed or why))
    if not done:
        problems |= {name: result.describe() for name in nodes if name not in problems}
    return RayReplies("".join(texts).encode("ascii", "replace"), nodes, problems)


def note_problems(asked: RayReplies, gathered: Gathered) -> None:
    """Say of the nodes that sent no record why."""
    for name, problem in asked.problems.items():
        if name not in gathered.nodes:
            gathered.spoken(name, problem)


def _said(row: str) -> _Said:
    try:
        return decode(row, _Said)
    except UNREADABLE:
        return _Said()


def _explained(failed: str) -> str:
    hint = next((text for word, text in _HINTS if word in failed), "")
    first = " ".join(failed.split())[:400]
    return f"{first} ({hint})" if hint else first
