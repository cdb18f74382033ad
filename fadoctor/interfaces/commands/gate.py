"""The gate of a node, ``check --strict``: a GPU is there, and the answer for it is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.smoke import CPU
from fadoctor.report.answer import State, left_out, state_on, worst_of

if TYPE_CHECKING:
    from fadoctor.model.report import Report


def gate_of(report: Report) -> State:
    """Return whether jobs may start: attention works on each GPU, fails on one, or is not known.

    A GPU that the recommendation leaves out, such as a display's, decides nothing.
    """
    gpus = dict.fromkeys(each.gpu for each in report.verdicts if each.gpu != CPU)
    if report.not_looked or not gpus:
        return State.UNKNOWN
    if worst_of(report) is not None:
        return State.FAILS
    states = {state_on(report, gpu) for gpu in gpus if gpu not in left_out(report)}
    if State.FAILS in states:
        return State.FAILS
    is_open = State.UNKNOWN in states or report.summary.unknown
    return State.UNKNOWN if is_open else State.WORKS
