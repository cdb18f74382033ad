"""Plans, and the advice that agrees with them. Imports late: most runs plan nothing."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.interfaces.commands.examine import is_planned, is_unresolved
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import TORCH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.interfaces.commands.written import Writing, Written
    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Step
    from fadoctor.model.plan import Plan
    from fadoctor.model.recipe import Recipe
    from fadoctor.model.report import Report
    from fadoctor.model.rule import Knowledge
    from fadoctor.repair.apply.agree import Agreed
    from fadoctor.repair.plan.planner import PlannerRequest
    from fadoctor.repair.plan.search.problem import Session
    from fadoctor.repair.resolution.lines import Rewrite
    from fadoctor.sources.examine.request import Request


# advice that names a build of torch: the index cu126
_BUILD = re.compile(r"\bcu1\d\d\b")
FRESH = ".venv-fadoctor"
"""Folder of a new environment."""


class PlanRequest(msgspec.Struct, frozen=True):
    """What options say about a plan; without any, that what is installed works."""

    want: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    allow_build: bool = False
    installer: str = "auto"
    ignore: tuple[str, ...] = ()
    verify: bool = False
    """Whether the installer is asked; an error where it cannot be."""
    no_hub: bool = False
    recipe: bool = False
    """Whether it is taken along: as what an environment made anew holds."""
    carried_out: bool = False
    """Whether it is carried out now: the installer is asked first, wherever it can be."""


class Made(NamedTuple):
    """A plan, with what belongs to some."""

    plan: Plan
    rewrites: tuple[Rewrite, ...] = ()
    """The manifests as they would be, where those were examined."""
    recipe: Recipe | None = None
    """Where it was asked for."""
    is_unresolved: bool = False
    """Whether --resolve was given, and no resolver answered."""


def plan_of(
    request: Request, knowledge: Knowledge, environment: Environment, wanted: PlanRequest
) -> Plan:
    """Return the plan for an environment; UsageError for names that nobody knows."""
    from fadoctor.judging.diagnose import foresee
    from fadoctor.repair.plan.planner import hiding
    from fadoctor.repair.plan.sessions import shared_session
    from fadoctor.repair.plan.written.spoken import by_hand_in_own_words

    if wanted.verify or (wanted.carried_out and _can_be_asked(request, environment)):
        question = _question_of(request, environment, wanted)
        plan = _verified(request, environment, shared_session(knowledge), question)
        plan = by_hand_in_own_words(plan, environment, is_here=not request.facts)
        return hiding(plan, knowledge.current(wanted.ignore))
    return plan_on(request, foresee(environment, knowledge), environment, wanted)


def plan_on(
    request: Request, before: Prognosis, environment: Environment, wanted: PlanRequest
) -> Plan:
    """Return the plan for an environment that is judged already; no installer is asked.

    `environment` is as it was read.
    """
    from fadoctor.repair.plan.planner import hiding, make_plan_on
    from fadoctor.repair.plan.sessions import shared_session
    from fadoctor.repair.plan.written.spoken import by_hand_in_own_words

    knowledge = before.knowledge
    question = _question_of(request, environment, wanted)
    plan = make_plan_on(before, shared_session(knowledge), question)
    plan = _saying_who_was_asked(plan) if _can_be_asked(request, environment) else plan
    plan = by_hand_in_own_words(plan, environment, is_here=not request.facts)
    return hiding(plan, knowledge.current(wanted.ignore))


def planned_for(
    request: Request, knowledge: Knowledge, environment: Environment, wanted: PlanRequest
) -> Made:
    """Return the plan for an environment that is there, or that manifests describe."""
    as_read = environment
    if is_planned(environment):
        from fadoctor.repair.resolution.judge import plan_base

        environment = plan_base(environment, knowledge)
    if not request.requirements:
        plan, recipe = _plan_and_recipe(request, knowledge, environment, wanted)
        return Made(plan, recipe=recipe)
    made, after = _written_for(request, knowledge, (as_read, environment), wanted)
    if after is not environment:
        made, _ = _written_for(request, knowledge, (as_read, after), wanted, last=True)
    return made


def _plan_and_recipe(
    request: Request, knowledge: Knowledge, environment: Environment, wanted: PlanRequest
) -> tuple[Plan, Recipe | None]:
    if wanted.recipe:
        return _with_recipe(request, knowledge, environment, wanted)
    return plan_of(request, knowledge, environment, wanted), None


def _written_for(
    request: Request,
    knowledge: Knowledge,
    environments: tuple[Environment, Environment],
    wanted: PlanRequest,
    *,
    last: bool = False,
) -> tuple[Made, Environment]:
    """Return the plan with the manifests as it writes them, and what the next one starts from.

    `environments`: as the files say it, and as it comes. The second one comes back changed where
    the new texts have errors of releases that only they decide. `last`: whether that is so already,
    so that a second plan, or a part of this one, is tried instead.
    """
    from fadoctor.interfaces.commands.written import Writing, refused
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.repair.resolution.held_open import held_notes, with_ready_made
    from fadoctor.repair.resolution.if_new import new_notes
    from fadoctor.repair.resolution.label_indexes import with_label_indexes
    from fadoctor.repair.resolution.left_open import open_notes, with_open_bounds
    from fadoctor.repair.resolution.other_image import other_image
    from fadoctor.repair.resolution.rewritten import written_changes
    from fadoctor.repair.resolution.sources_alone import with_compiled
    from fadoctor.sources.manifests.planned import speaks_of_moved_torch, speaks_of_unasked

    as_read, environment = environments
    plan, recipe = _plan_and_recipe(request, knowledge, environment, wanted)
    plan = with_label_indexes(plan, environment, knowledge)
    writing = Writing(request, knowledge, as_read, environment)
    written = writing.lines_for(plan)
    if written.lines.held and TORCH not in wanted.keep:
        kept = msgspec.structs.replace(wanted, keep=(*wanted.keep, TORCH))
        made, after = _written_for(request, knowledge, environments, kept, last=last)
        return made._replace(plan=_held(made.plan, written.lines.held)), after
    # what stays open is bounded as the files are by then
    bounded_plan, bounded = with_open_bounds(plan, written.given(as_read), knowledge)
    more = with_ready_made(bounded_plan, written.given(as_read), knowledge)
    if more is not plan:
        again = writing.lines_for(more)
        if not again.is_worse:
            plan, written = more, again
        else:
            bounded = frozenset()
    if written.is_worse and (last or written.next_start(environment) is environment):
        plan, written = _otherwise(writing, plan, written, wanted)
    lines, found = written.lines, written.found
    given = written.given(as_read)  # of what a plan repairs nothing is told
    notes = given.target.notes[len(as_read.target.notes) :] or as_read.target.notes
    told = [each for each in notes if speaks_of_unasked(each) or speaks_of_moved_torch(each)]
    files = (request.requirements, lines.rewrites, writing.opener())
    new = new_notes(given, knowledge, files, partial(_question_of, request, wanted=wanted))
    open_ = (*open_notes(given, knowledge, bounded), *held_notes(given, knowledge, plan), *new)
    other = other_image(plan, as_read, Matrix(knowledge.tables))
    beside = () if written.is_worse else writing.beside(plan, written)
    notes = (*plan.notes, *lines.notes, *other, *open_, *told, *beside)
    plan = msgspec.structs.replace(plan, edits=lines.edits, notes=notes)
    comes = environment if found is None else found.environment
    plan = with_compiled(plan, comes, Matrix(knowledge.tables))
    is_open = is_unresolved(as_read.facts)
    if not written.is_worse:
        changes = plan.changes if found is None else tuple(written_changes(plan.changes, found))
        plan = msgspec.structs.replace(plan, changes=changes)
        return Made(plan, lines.rewrites, recipe, is_open), environment
    made = Made(refused(plan, written), (), recipe, is_open)
    return made, written.next_start(environment)


def _otherwise(
    writing: Writing, plan: Plan, written: Written, wanted: PlanRequest
) -> tuple[Plan, Written]:
    """Return another way to write a plan whose lines have an error of their own, or this one."""

    def plans(environment: Environment) -> Plan:
        return plan_of(writing.request, writing.knowledge, environment, wanted)

    others = writing.again(plan, written, plans)
    return next((each for each in others if not each[1].is_worse), (plan, written))


def _held(plan: Plan, text: str) -> Plan:
    """Return a plan for an image whose torch stays: to let it change is no way out."""
    from fadoctor.model.plan import Edit

    conflicts = tuple(
        msgspec.structs.replace(
            each,
            alternatives=tuple(
                other
                for other in each.alternatives
                if all(change.distribution != TORCH for change in other.changes)
            ),
        )
        for each in plan.conflicts
    )
    actions = tuple(each for each in plan.actions if each.argv or not _BUILD.search(each.text))
    edits = (*plan.edits, Edit(text.partition(":")[0], text=text))
    return msgspec.structs.replace(plan, actions=actions, conflicts=conflicts, edits=edits)


def _with_recipe(
    request: Request, knowledge: Knowledge, environment: Environment, wanted: PlanRequest
) -> tuple[Plan, Recipe]:
    from fadoctor.repair.plan.planner import hiding, make_recipe
    from fadoctor.repair.plan.sessions import shared_session

    question = _question_of(request, environment, wanted)
    # whatever project or folder is here: a recipe is for an environment of its own
    question = msgspec.structs.replace(question, project="", fresh="")
    session = shared_session(knowledge)
    if wanted.verify:
        lessons = _agreed(request, environment, session, question).lessons
        question = msgspec.structs.replace(question, lessons=lessons)
    plan, recipe = make_recipe(environment, session, question)
    return hiding(plan, knowledge.current(wanted.ignore)), recipe


_BY_HAND = (StepKind.SETTING, StepKind.SYSTEM, StepKind.ADVICE)


def advised_findings(
    request: Request, before: Prognosis, findings: tuple[Finding, ...], plan: Plan | None = None
) -> tuple[Finding, ...]:
    """Return the findings with the planner's answer, and without the fixes that facts refute.

    Where nothing but prose and notes is there nothing is planned, and no planner is loaded.
    """
    from fadoctor.repair.plan.written.spoken import in_own_words

    if not any(map(_has_something_to_prove, findings)):
        return in_own_words(findings, before.environment, is_here=not request.facts)
    from fadoctor.repair.plan.sessions import shared_session
    from fadoctor.repair.plan.written.advise import advise

    # in whatever project or folder it will be carried out: the packages are the same
    question = _question_of(request, before.environment, PlanRequest())
    question = msgspec.structs.replace(question, project="", fresh="")
    found = advise(findings, before, shared_session(before.knowledge), question, plan)
    return in_own_words(found, before.environment, is_here=not request.facts)


def with_advice(report: Report, request: Request, prognosis: Prognosis) -> Report:
    """Return the report with the fixes that hold, and that `fix` agrees with."""
    if not report.findings:
        return report
    findings = advised_findings(request, prognosis, report.findings)
    return msgspec.structs.replace(report, findings=findings)


def _has_something_to_prove(finding: Finding) -> bool:
    steps: Iterable[Step] = (step for fix in finding.fixes for step in fix.steps)
    return finding.severity is not Severity.NOTE and any(
        step.kind not in _BY_HAND or step.effects for step in steps
    )


def _verified(
    request: Request, environment: Environment, session: Session, question: PlannerRequest
) -> Plan:
    """Return the plan that the installer agrees to, or the last one with why not."""
    return _agreed(request, environment, session, question).plan


def _saying_who_was_asked(plan: Plan) -> Plan:
    """Return a plan that says that its commands were not put to the installer."""
    if not any(action.kind.is_run for action in plan.actions):
        return plan
    note = f"not asked of {plan.installer}: `fadoctor fix --dry-run --verify` asks it"
    return msgspec.structs.replace(plan, notes=(*plan.notes, note))


def _can_be_asked(request: Request, environment: Environment) -> bool:
    return request.is_real and environment.target.may_run and bool(environment.target.python)


def _agreed(
    request: Request, environment: Environment, session: Session, question: PlannerRequest
) -> Agreed:
    from fadoctor.interfaces.commands.environment_name import how_to_name
    from fadoctor.model.errors import UsageError
    from fadoctor.processes.run import run
    from fadoctor.repair.apply.agree import agreed_plan
    from fadoctor.repair.apply.verify import verify

    if not request.is_real:
        raise UsageError("--verify needs a real environment: name it with --python")
    if not environment.target.may_run:
        raise UsageError(how_to_name(environment.target, "--dry-run", "--verify"))
    return agreed_plan(environment, session, question, lambda plan: verify(plan, environment, run))


def _question_of(request: Request, environment: Environment, wanted: PlanRequest) -> PlannerRequest:
    """Return what is asked; of a real environment with what its files say beside the facts."""
    from fadoctor.repair.plan.planner import PlannerRequest

    question = PlannerRequest(
        wanted.want, wanted.keep, wanted.allow_build, wanted.no_hub, wanted.installer
    )
    if request.new or (request.new_if_none and is_planned(environment)):
        return msgspec.structs.replace(question, fresh=FRESH)
    if request.facts or not environment.target.site:
        return question
    from fadoctor.sources.manifests.formats.project_lists import project_lists
    from fadoctor.sources.probes.all_requirements import read_all_requirements
    from fadoctor.sources.targets.project import must_stay, project_folder, project_tool

    target = environment.target
    tool = project_tool(target)
    return msgspec.structs.replace(
        question,
        project=tool,
        lists=project_lists(project_folder(target), tool),
        fresh=FRESH if must_stay(environment) else "",
        requirements=read_all_requirements(target, os.environ, environment.facts),
    )
