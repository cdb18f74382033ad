"""What ``check`` does, for the command line, for programs and for assistants. Imports late."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.interfaces.commands.examine import FOLLOWING, foreseen, ignoring_nothing, look
from fadoctor.interfaces.commands.observer import SILENT, Observer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.report import Report
    from fadoctor.model.rule import Knowledge
    from fadoctor.model.smoke import SmokeRun
    from fadoctor.sources.examine.request import Request


class CheckRequest(NamedTuple):
    """What is examined, by what, and how far."""

    examine: Request
    rules: tuple[Path, ...] = ()
    ignored: Callable[[Knowledge], tuple[str, ...]] = ignoring_nothing
    """Returns the rules whose findings are hidden; refuses ids that no rule has."""
    smoke: bool | None = False
    """None: where there is a GPU to prove it on, or where `thorough` asks for it."""
    thorough: bool = False
    needed: tuple[str, ...] = ()
    """Modules to load while facts are read."""


class Checked(NamedTuple):
    """What came of it."""

    report: Report
    run: SmokeRun | None
    """What ran; None where nothing was to run."""


def check(request: CheckRequest, observer: Observer = SILENT) -> Checked:
    """Read, judge, run and look for a repair."""
    with observer.doing("reading the environment") as say:
        with observer.ending():
            knowledge, environment = look(
                request.examine, request.rules, request.needed, lambda: say(FOLLOWING)
            )
        ignored = request.ignored(knowledge)
        say("judging")
        # Late: most of it was loaded while the facts were read.
        from fadoctor.interfaces.commands.plan import with_advice
        from fadoctor.judging.diagnose import conclude

        prognosis, planned = foreseen(environment, knowledge, ignored)
    observer.foreseen(prognosis)
    run = None
    # Only what is real, and is as it was read, can be run.
    may_run = request.examine.is_real and not environment.overlays
    if may_run and _is_proved(request, prognosis):
        run = proof_of(prognosis, observer, thorough=request.thorough)
    with observer.doing("looking for a repair"):
        report = with_advice(conclude(prognosis, run), request.examine, planned)
    return Checked(report, run)


def _is_proved(request: CheckRequest, prognosis: Prognosis) -> bool:
    """Return whether the answer is proved by a run: as asked, else where a GPU may be."""
    if request.smoke is not None:
        return request.smoke
    from fadoctor.interfaces.commands.measure import may_have_gpu

    return request.thorough or may_have_gpu(prognosis.environment)


def proof_of(
    prognosis: Prognosis, observer: Observer = SILENT, *, thorough: bool = False
) -> SmokeRun:
    """Run the default set; with `thorough` all of it, long, and with the proof by import."""
    from fadoctor.interfaces.commands.measure import choice_of_check, measured

    choice = choice_of_check(prognosis, thorough=thorough)
    return measured(prognosis, choice, observer, imports=thorough)
