"""What `fix` does between parsing and printing. Imports late, as the commands do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from fadoctor.cli_options import PlanFormat
from fadoctor.cli_plan import Wanted, plan_of
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
    from fadoctor.report.style import Style


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

    plan = plan_of(request, knowledge, environment, wanted)
    nothing = plan.outcome is PlanOutcome.NOTHING
    code = EXIT_INTERNAL if plan.rule_errors else 0 if nothing else EXIT_FINDINGS
    return Planned(plan, code)


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
