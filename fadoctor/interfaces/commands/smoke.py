"""What ``smoke`` does, for the command line and for programs. Imports late."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.interfaces.commands.examine import FOLLOWING, look
from fadoctor.interfaces.commands.observer import SILENT, Observer

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.smoke import SmokeReport, SmokeRun
    from fadoctor.proof.smoke.choice import CellsRequest
    from fadoctor.sources.examine.request import Request


class Smoked(NamedTuple):
    """What came of it."""

    report: SmokeReport
    run: SmokeRun


def foresee_cells(
    examine: Request, rules: tuple[Path, ...] = (), observer: Observer = SILENT
) -> Prognosis:
    """Read the environment, and say what its facts let expect of cells."""
    with observer.doing("reading the environment") as say, observer.ending():
        knowledge, environment = look(
            examine, rules, ("fadoctor.judging.diagnose",), lambda: say(FOLLOWING)
        )
    from fadoctor.judging.diagnose import foresee

    return foresee(environment, knowledge)


def smoke(
    prognosis: Prognosis,
    wanted: CellsRequest,
    observer: Observer = SILENT,
    *,
    imports: bool = False,
) -> Smoked:
    """Run the cells that are wanted and exist there; with `imports`, import each package too."""
    from fadoctor.interfaces.commands.measure import measured
    from fadoctor.judging.diagnose import conclude_smoke
    from fadoctor.proof.smoke.choice import choose

    choice = choose(wanted, prognosis.kernels)
    run = measured(prognosis, choice, observer, imports=imports)
    return Smoked(conclude_smoke(prognosis, run), run)
