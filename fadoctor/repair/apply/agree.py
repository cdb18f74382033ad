"""Plan until the installer agrees: ask it, judge its result, and learn from what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.model.plan import Answer
from fadoctor.repair.plan.outcome import OutcomeDifference, difference, learned
from fadoctor.repair.plan.planner import make_planned
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan, Verification
    from fadoctor.repair.plan.planner import PlannerRequest, PlanWithProblem
    from fadoctor.repair.plan.search.lessons import Lessons
    from fadoctor.repair.plan.search.problem import Session

ROUNDS = 5
"""Plans that are made at most: each answer of an installer can take seconds."""


class Agreed(NamedTuple):
    """A plan with what the installer says of it, and what it had refused before."""

    plan: Plan
    lessons: Lessons


def agreed_plan(
    environment: Environment,
    session: Session,
    question: PlannerRequest,
    ask: Callable[[Plan], Verification],
) -> Agreed:
    """Return the first plan that the installer carries out as planned, else the last one.

    `ask` runs the installer dry: it downloads metadata, and changes nothing.
    """
    refusals: list[str] = []
    for _ in range(ROUNDS):
        planned = make_planned(environment, session, question)
        verification, found = _asked(planned, ask)
        plan = _with(planned.plan, verification, refusals)
        lessons = learned(question.lessons, planned.plan, verification, found)
        if verification.answer in (Answer.RESOLVES, Answer.UNREACHABLE):
            break
        if lessons == question.lessons:
            break
        refusals.append(verification.detail)
        question = msgspec.structs.replace(question, lessons=lessons)
    return Agreed(plan, question.lessons)


def _asked(
    planned: PlanWithProblem, ask: Callable[[Plan], Verification]
) -> tuple[Verification, OutcomeDifference]:
    """Return what the installer says, and in what its result is worse than the plan."""
    verification = ask(planned.plan)
    if verification.answer is not Answer.RESOLVES:
        return verification, OutcomeDifference()
    items = (item.rpartition(" ") for item in verification.would_install)
    installs = {normalise_name(name): version for name, _, version in items}
    found = difference(planned.problem, planned.after, planned.plan, installs)
    if found.is_worse:
        verification = msgspec.structs.replace(
            verification, answer=Answer.DIFFERS, detail=found.text
        )
    return verification, found


def _with(plan: Plan, verification: Verification, refusals: list[str]) -> Plan:
    notes = plan.notes
    if refusals:
        times = "once" if len(refusals) == 1 else f"{len(refusals)} times"
        notes = (*notes, f"planned again {times}: {verification.by} had refused: {refusals[-1]}")
    return msgspec.structs.replace(plan, verification=verification, notes=notes)
