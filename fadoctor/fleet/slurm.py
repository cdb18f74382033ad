"""Slurm: the line that asks every node of a job once, and what it must look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

_OUTPUT_LIMIT = 256 << 20
_OURS = ("--ntasks-per-node=1", "--kill-on-bad-exit=0")


def line_of(check: Sequence[str], arguments: Sequence[str], stragglers_s: int) -> tuple[str, ...]:
    """Return the command that asks every node once; `arguments` are the user's, for srun.

    One task a node; a node that fails ends no other one; a node that hangs is ended. Never
    unbuffered: that cuts lines anywhere.
    """
    return ("srun", *_OURS, f"--wait={stragglers_s}", *arguments, *check)


def ask(line: tuple[str, ...], timeout_s: float) -> Result:
    """Run the line; what nodes print is in its output, whatever becomes of some of them."""
    return run(Command(line, timeout_s, output_limit=_OUTPUT_LIMIT))


def problem_of(result: Result) -> str:
    """Return why there is nothing to read, "" where srun ran."""
    if result.ending is Ending.NOT_STARTED:
        return f"srun {result.describe()}: is this a node of a Slurm cluster?"
    if not result.stdout.strip():
        return f"srun {result.describe()}"
    return ""
