"""What `fix` does between parsing and printing. Imports late, as the commands do."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from fadoctor.cli_options import PlanFormat
from fadoctor.cli_support import (
    EXIT_FINDINGS,
    EXIT_INTERNAL,
    environment_of,
    refuse_unknown_ids,
)
from fadoctor.model.plan import Plan

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.examine import Request
    from fadoctor.model.environment import Environment
    from fadoctor.plan.planner import Question
    from fadoctor.report.style import Style


class Wanted(msgspec.Struct, frozen=True):
    """What the options of `fix` say."""

    want: tuple[str, ...]
    keep: tuple[str, ...]
    allow_build: bool
    installer: str
    ignore: tuple[str, ...]
    verify: bool


class Planned(msgspec.Struct, frozen=True):
    """A plan, and the exit code that goes with it."""

    plan: Plan
    exit_code: int


def refuse_unclear(*, dry_run: bool, yes: bool, undo: bool) -> None:
    """Refuse options that say two things, and a change that nobody could be asked about."""
    from fadoctor.model.errors import UsageError

    if dry_run + yes + undo > 1:
        raise UsageError("--dry-run, --yes and --undo exclude each other")
    if not (dry_run or yes or undo or sys.stdin.isatty()):
        raise UsageError("nobody can be asked here: say --dry-run or --yes")


def plan_for(request: Request, rules: list[Path], wanted: Wanted) -> Planned:
    """Read the environment and plan; UsageError and others as `check` has them."""
    knowledge, environment = environment_of(request, rules, "fadoctor.plan.planner")
    refuse_unknown_ids(list(wanted.ignore), knowledge)
    from fadoctor.model.plan import PlanOutcome
    from fadoctor.plan.planner import make_plan, session_of

    session = session_of(knowledge)
    question = question_of(request, environment, wanted)
    plan = make_plan(environment, session, question)
    if wanted.verify:
        plan = _verified(request, plan, environment, question)
    nothing = plan.outcome is PlanOutcome.NOTHING
    code = EXIT_INTERNAL if plan.rule_errors else 0 if nothing else EXIT_FINDINGS
    return Planned(plan, code)


def _verified(request: Request, plan: Plan, environment: Environment, question: Question) -> Plan:
    """Return the plan with what the installer says of it."""
    from fadoctor.apply.verify import verify
    from fadoctor.model.errors import UsageError
    from fadoctor.plan.requirements import requirements_of
    from fadoctor.probes.run import run

    if not request.is_real or not environment.target.may_run:
        raise UsageError("--verify asks the installer of a real environment: name it by --python")
    needs = requirements_of(environment, question.requirements)
    return msgspec.structs.replace(plan, verification=verify(plan, environment, needs, run))


def question_of(request: Request, environment: Environment, wanted: Wanted) -> Question:
    """Return what is asked; of a real environment with what its files say beside the facts."""
    from fadoctor.plan.planner import Question

    question = Question(
        wanted.want, wanted.keep, wanted.allow_build, wanted.installer, ignore=wanted.ignore
    )
    if request.facts or not environment.target.site:
        return question
    from fadoctor.probes.all_requirements import read_all_requirements
    from fadoctor.targets.project import must_stay, project_tool

    target = environment.target
    return msgspec.structs.replace(
        question,
        project=project_tool(target),
        fresh=".venv-fadoctor" if must_stay(environment) else "",
        requirements=read_all_requirements(target, os.environ, environment.facts),
    )


def render(plan: Plan, format_: PlanFormat, style: Style) -> str:
    """Return the plan in a format."""
    match format_:
        case PlanFormat.JSON:
            from fadoctor.report.json_ import render as render_json

            return render_json(plan)
        case PlanFormat.SCRIPT:
            from fadoctor.report.plan_script import render as render_script

            return render_script(plan)
        case PlanFormat.REQUIREMENTS:
            from fadoctor.report.plan_requirements import render as render_requirements

            return render_requirements(plan)
        case PlanFormat.TEXT:
            from fadoctor.report.plan_text import render as render_text

            return render_text(plan, style)
