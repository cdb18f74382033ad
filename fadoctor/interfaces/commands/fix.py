"""What ``fix`` plans, for the command line, for programs and for assistants. Imports late."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.interfaces.commands.examine import FOLLOWING, ignoring_nothing, look
from fadoctor.interfaces.commands.observer import SILENT, Observer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.interfaces.commands.plan import Made, PlanRequest
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.examine.request import Request

_PLANNER = "fadoctor.repair.plan.planner"


class FixRequest(NamedTuple):
    """What is repaired, by what, and what must hold afterwards."""

    examine: Request
    wanted: PlanRequest
    rules: tuple[Path, ...] = ()
    ignored: Callable[[Knowledge], tuple[str, ...]] = ignoring_nothing
    """Returns the rules whose findings are hidden; refuses ids that no rule has."""


def make_plan(request: FixRequest, observer: Observer = SILENT) -> Made:
    """Read the environment, or what manifests describe, and plan; nothing is carried out."""
    with observer.doing("reading and planning") as say:
        with observer.ending():
            knowledge, environment = look(
                request.examine, request.rules, (_PLANNER,), lambda: say(FOLLOWING)
            )
        ignored = request.ignored(knowledge)
        # Late: most of it was loaded while the facts were read.
        from fadoctor.interfaces.commands.plan import planned_for

        wanted = msgspec.structs.replace(request.wanted, ignore=ignored)
        return planned_for(request.examine, knowledge, environment, wanted)
