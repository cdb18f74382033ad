"""Plan: diagnose, wish, solve, prove, write. What is printed has been proved."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.judging.diagnose import Prognosis, foresee
from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.whole import new_matrix
from fadoctor.model.finding import Severity
from fadoctor.model.packages import EXTENSIONS
from fadoctor.model.plan import Plan, PlanOutcome, Proof
from fadoctor.repair.plan.choices.rocm_flash_attn import triton_backend
from fadoctor.repair.plan.choices.rocm_torch import first_installs, libraries, rocm_choices
from fadoctor.repair.plan.choices.text_builds import with_abi_of_build
from fadoctor.repair.plan.hub.hub_ways import hub_instead, is_costly
from fadoctor.repair.plan.proof import prove
from fadoctor.repair.plan.search.cost import Cost
from fadoctor.repair.plan.search.hopes import hoping
from fadoctor.repair.plan.search.lessons import Lessons
from fadoctor.repair.plan.search.problem import Base, Problem, Session
from fadoctor.repair.plan.search.shortfall import FAILS, answer_for, best_answers
from fadoctor.repair.plan.search.solution import Solution
from fadoctor.repair.plan.search.solve import ALL_STEPS, NODE_LIMIT, solve
from fadoctor.repair.plan.search.wishes import WishRequest, describe, wishes_of
from fadoctor.repair.plan.states.after_unset import without_folders
from fadoctor.repair.plan.states.compiled import ASSUMED
from fadoctor.repair.plan.states.requirements import with_extras
from fadoctor.repair.plan.states.variables import with_variables
from fadoctor.repair.plan.written.actions import Writer
from fadoctor.repair.plan.written.advice import advice_for, variable_actions
from fadoctor.repair.plan.written.advice_proof import FixProver
from fadoctor.repair.plan.written.complaints import (
    complaint_notes,
    doubt_notes,
    never_ended,
    undecided_complaints,
)
from fadoctor.repair.plan.written.contradictions import contradicting
from fadoctor.repair.plan.written.dialect import choose_dialect
from fadoctor.repair.plan.written.judged_ranges import JudgedRanges
from fadoctor.repair.plan.written.keeping import keeping_notes, unchanged_notes
from fadoctor.repair.plan.written.notes import is_advice_only, notes_of, unseen_notes
from fadoctor.repair.plan.written.told_once import told_once
from fadoctor.repair.plan.written.worth import worthwhile
from fadoctor.sources.manifests.formats.project_lists import Listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix
    from fadoctor.model.plan import Action, Conflict
    from fadoctor.model.recipe import Recipe
    from fadoctor.model.rule import Knowledge
    from fadoctor.repair.plan.choices.choice import Choice


QUICK_LIMIT = 600
"""Partial states that a report looks at for the planner's answer; real plans need a few hundred."""


class PlannerRequest(msgspec.Struct, frozen=True):
    """What is asked of a planner, beside the environment."""

    want: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    allow_build: bool = False
    no_hub: bool = False
    installer: str = "auto"
    project: str = ""
    """Tool whose project the environment belongs to, "" for none."""
    lists: Mapping[str, tuple[Listed, ...]] = {}
    """Which lists of the project have each package."""
    fresh: str = ""
    """Folder for a new environment, where the one that is examined must not be changed."""
    requirements: Mapping[str, dict[str, str]] = {}
    """What all installed distributions require, where that was read."""
    lessons: Lessons = Lessons()
    """What an installer has refused of earlier plans."""


def session_of(knowledge: Knowledge) -> Session:
    """Return what plans for any environment share; reads the tables that are compiled apart."""
    return Session(knowledge, new_matrix(knowledge))


def make_plan(environment: Environment, session: Session, question: PlannerRequest) -> Plan:
    """Return the plan for an environment. Pure: the same facts and wishes give the same plan."""
    return make_plan_on(foresee(environment, session.knowledge), session, question)


def make_plan_on(before: Prognosis, session: Session, question: PlannerRequest) -> Plan:
    """Return the plan for an environment that is judged already."""
    return _Planning(before, session, question).plan()


class PlanWithProblem(NamedTuple):
    """A plan, with what it was made from: to judge another result by the same measure."""

    plan: Plan
    problem: Problem
    after: Environment
    """The facts as the plan foresees them."""


def make_planned(
    environment: Environment, session: Session, question: PlannerRequest
) -> PlanWithProblem:
    """Return the plan that `make_plan` makes, and what it was made from."""
    planning = _Planning(foresee(environment, session.knowledge), session, question)
    solution = planning.solved()
    after = planning.problem.post.after(planning.problem.environment, solution.changes)
    return PlanWithProblem(planning.written(solution, explains=True), planning.problem, after)


def plan_quickly(before: Prognosis, session: Session, question: PlannerRequest) -> Plan | None:
    """Return the plan that `make_plan` makes, without conflicts; None where that takes long.

    Facts that nobody knows leave thousands of states open: a report does not wait for those.
    """
    planning = _Planning(before, session, question)
    solution = planning.solved(QUICK_LIMIT, gives_up=True)
    return planning.written(solution, explains=False) if solution.complete else None


def make_recipe(
    environment: Environment, session: Session, question: PlannerRequest
) -> tuple[Plan, Recipe]:
    """Return the plan that `make_plan` makes, and what it ends in, made from nothing."""
    from fadoctor.repair.plan.written.recipe import recipe_of  # noqa: PLC0415 -- few take a plan along

    planning = _Planning(foresee(environment, session.knowledge), session, question)
    solution = planning.solved()
    plan = planning.written(solution, explains=True)
    return plan, recipe_of(planning.problem, solution.changes, plan)


class _Planning:
    """The making of one plan."""

    def __init__(self, before: Prognosis, session: Session, question: PlannerRequest) -> None:
        self.question = question
        self.session = session
        self.target = before.environment.target
        self.assumed = before.environment.overlays
        found = before.assessment.findings
        # what nobody knows to be missing is not repaired unasked: something named may bring it
        self.unsure = frozenset() if question.want else _assumed_ids(found)
        self.findings = tuple(each for each in found if each.rule_id not in self.unsure)
        self.undecided = before.open
        self.complaints, self.remarks = undecided_complaints(before)
        self.broken_rules = tuple(error.rule_id for error in before.assessment.errors)
        self.variables = tuple(variable_actions(before.environment, self.findings))
        left_out = frozenset(self.broken_rules) | self.unsure
        self.base = Base(self.findings, before.verdicts, left_out, question.lessons)
        # variables are repaired first: the search judges the environment as it is without them
        values = {n: v for each in self.variables for n, v in each.env.items()}
        environment = with_variables(before.environment, values)
        environment = with_extras(environment, question.requirements)
        environment = with_abi_of_build(environment, session.matrix)
        self.wishes = wishes_of(
            Kernels(environment, session.matrix),
            before.verdicts,
            found_ids(f for f in self.findings if f.severity is not Severity.NOTE),
            WishRequest(question.want, question.keep, question.allow_build, question.no_hub),
        )
        self.wishes = hoping(self.wishes, Kernels(environment, session.matrix))
        self.problem = Problem(session, environment, self.wishes, self.base, question.requirements)
        self.is_unasked = not question.want and not self.problem.is_from_nothing
        """Whether only what is wrong is a reason for a step: others may break what works."""
        names = frozenset(name for action in self.variables for name in action.env)
        shown = without_folders(before.environment.facts, names)
        # what is compiled, is imported once a variable is changed, and was not read
        self.unread = not {name.partition(".")[0] for name in shown}.isdisjoint(EXTENSIONS)

    def plan(self) -> Plan:
        """Solve, prove, write."""
        return self.written(self.solved(), explains=True)

    def solved(self, limit: int = NODE_LIMIT, *, gives_up: bool = False) -> Solution:
        """Return the state to reach; where the packages themselves were not read, as it is."""
        is_idle = self.is_unasked and not self.findings and not self.complaints
        if self.unread or is_idle:
            return Solution((), Cost())
        if self.problem.has_amd:
            chosen = self._for_rocm(rocm_choices(self.problem, self.findings))
            chosen = (*chosen, *libraries(self.problem, chosen))
            return Solution((*chosen, *triton_backend(self.problem, chosen)), Cost())
        return worthwhile(self.problem, solve(self.problem, limit, gives_up=gives_up))

    def _for_rocm(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Return choices with what repairs the errors that only come to light beside them."""
        if not choices:
            return ()
        before = {each.rule_id for each in self.findings}

        def errors(chosen: tuple[Choice, ...]) -> list[Finding]:
            after = self.problem.post.after(self.problem.environment, chosen)
            found = prove(self.problem, after)[1].findings
            return [each for each in found if each.severity is Severity.ERROR]

        left = errors(choices)
        new = (each for each in left if each.rule_id not in before)
        more = (*choices, *first_installs(self.problem, new, {each.package for each in choices}))
        return more if len(more) > len(choices) and len(errors(more)) < len(left) else choices

    def written(self, solution: Solution, *, explains: bool) -> Plan:
        """Prove a solution and write it out; `explains` says whether conflicts are looked for."""
        after = self.problem.post.after(self.problem.environment, solution.changes)
        proof, assessment = prove(self.problem, after)
        gone = self._solved(assessment)
        is_in_vain = not self._repaired(assessment) and not self.complaints
        if solution.changes and self.is_unasked and is_in_vain:
            return self.written(Solution((), Cost()), explains=explains)
        errors = tuple(name for name in proof.errors if name not in self.unsure)
        # beside steps a complaint is a note: they may end it
        complaints, changes = self.complaints, solution.changes
        if changes:
            complaints = never_ended(complaints, changes, self.problem)
        notes = [each for each in self.complaints if each not in complaints]
        shown = {*errors, *(each.rule_id for each in complaints)}
        proof = msgspec.structs.replace(proof, errors=tuple(sorted(shown)))
        if self.unread:  # what works then was not read: it is not lost
            proof = msgspec.structs.replace(proof, lost=())
        dialect = choose_dialect(
            self.question.installer,
            self.problem.environment,
            self.question.project,
            self.question.lists,
        )
        writer = Writer(self.problem, dialect, gone)
        left = tuple(each for each in assessment.findings if each.rule_id not in self.unsure)
        ranges = JudgedRanges(self.problem, after)
        holds = self._holds(after, assessment, ranges)
        told = complaints if changes else (*complaints, *self.remarks)
        written = (
            writer.fresh_actions(changes, self.question.fresh)
            if changes and self.question.fresh
            else writer.package_actions(changes)
        )
        advice = advice_for(
            self.findings,
            map(ranges.written, left),
            changes,
            holds,
            commands=is_advice_only(self.problem),
        )
        remarks = advice_for((), told, (), holds, commands=True)
        actions = told_once((*written, *self.variables, *advice, *remarks))
        explains = explains and not self.unread
        conflicts = tuple(self._conflicts(proof, after, assessment)) if explains else ()
        outcome = outcome_of(actions, proof, conflicts)
        by_hub = explains and not conflicts and not self.wishes.no_hub and is_costly(solution)
        alternatives = tuple(hub_instead(self.problem, self.base)) if by_hub else ()
        return Plan(
            outcome=outcome,
            target=self.target,
            installer=dialect.name,
            actions=actions,
            changes=tuple(writer.changes(solution.changes)),
            proof=proof,
            conflicts=conflicts,
            alternatives=alternatives,
            wishes=describe(self.wishes),
            notes=(
                *(self._keeping(solution) if explains else ()),
                *unchanged_notes(left, changes),
                *notes_of(self.problem, solution, proof, unread=self.unread),
                *complaint_notes(notes, solution.changes),
                *doubt_notes(left),
                *unseen_notes(self.problem, actions, outcome, self.undecided),
            ),
            assumed=self.assumed,
            rule_errors=self.broken_rules,
            windows=self.problem.environment.is_windows,
        )

    def _keeping(self, solution: Solution) -> Iterable[str]:
        """Return what keeps the releases that a solution takes back."""

        def reach(environment: Environment) -> Environment | None:
            before = foresee(environment, self.session.knowledge)
            other = _Planning(before, self.session, self.question)
            left = max(ALL_STEPS - self.problem.steps, 1)
            found = other.solved(min(QUICK_LIMIT, left), gives_up=True)
            after = other.problem.post.after(other.problem.environment, found.changes)
            is_proved = found.complete and prove(other.problem, after)[0].clean
            return after if is_proved else None

        return keeping_notes(self.problem, solution, self.base.verdicts, reach)

    def _holds(
        self, after: Environment, assessment: Assessment, ranges: JudgedRanges
    ) -> Callable[[Finding, Fix], bool]:
        """Return what tells whether a fix of what is left holds on the facts as they will be."""

        @cache
        def prover() -> FixProver:
            kernels = Kernels(after, self.session.matrix)
            verdicts = predict(kernels, assessment)
            knowledge = self.session.knowledge
            then = Prognosis(after, knowledge, (), assessment, kernels, verdicts)
            return FixProver(then, self.session, self.question.requirements)

        bad = contradicting(self.wishes.kept, self.problem.environment, after)
        return lambda of, fix: not bad(fix) and ranges.holds(fix) and prover().holds(of, fix)

    def _solved(self, after: Assessment) -> frozenset[str]:
        """Return the ids of the rules that found something before, and nothing afterwards."""
        return found_ids(self.findings) - found_ids(after.findings)

    def _repaired(self, after: Assessment) -> set[tuple[str, str]]:
        """Return which rules found something of a package before, and nothing of it afterwards."""
        before, then = (
            {(each.rule_id, each.subject) for each in found if each.severity is not Severity.NOTE}
            for found in (self.findings, after.findings)
        )
        return before - then

    def _conflicts(
        self, proof: Proof, after: Environment, assessment: Assessment
    ) -> Iterable[Conflict]:
        # Late: `check` asks for no conflicts.
        from fadoctor.repair.plan.search.conflict import (  # noqa: PLC0415
            explain_conflicts,
            kept_conflicts,
        )

        yield from kept_conflicts(self.problem, after)
        if not proof.missed:
            return
        kernels = Kernels(after, self.session.matrix)
        verdicts = predict(kernels, assessment)
        best = best_answers(verdicts, assessment.judgements, after)
        wished = (*self.wishes.cells, *self.wishes.hopeless)
        missed = [cell for cell in wished if answer_for(self.wishes, cell, best) == FAILS]
        yield from explain_conflicts(self.problem, self.base, missed, verdicts)


def outcome_of(
    actions: tuple[Action, ...], proof: Proof, conflicts: tuple[Conflict, ...]
) -> PlanOutcome:
    """Return what a plan of these actions comes to."""
    if proof.errors or proof.missed or proof.lost or proof.requirements or conflicts:
        return PlanOutcome.PARTIAL if actions else PlanOutcome.IMPOSSIBLE
    undecided = bool(proof.unknown) and not any(action.is_step for action in actions)
    if undecided:
        return PlanOutcome.PARTIAL
    if proof.by_setting or not any(action.is_step for action in actions):
        return PlanOutcome.PARTIAL if actions else PlanOutcome.NOTHING
    return PlanOutcome.REPAIRS


def hiding(plan: Plan, ignored: tuple[str, ...]) -> Plan:
    """Return a plan that does the same, and says nothing of rules whose findings are hidden.

    What is left to a person to do for nothing but these is left out.
    """
    if not ignored:
        return plan
    hidden = frozenset(ignored)
    proof = msgspec.structs.replace(
        plan.proof,
        errors=tuple(name for name in plan.proof.errors if name not in hidden),
        by_setting=tuple(name for name in plan.proof.by_setting if name not in hidden),
    )
    actions = tuple(
        action
        for action in plan.actions
        if action.is_step or not action.findings or not hidden.issuperset(action.findings)
    )
    outcome = outcome_of(actions, proof, plan.conflicts)
    return msgspec.structs.replace(plan, proof=proof, actions=actions, outcome=outcome)


def found_ids(findings: Iterable[Finding]) -> frozenset[str]:
    """Return the ids of rules that found something, consequences included."""
    return frozenset(
        rule_id for finding in findings for rule_id in (finding.rule_id, *finding.consequences)
    )


def _assumed_ids(findings: Iterable[Finding]) -> frozenset[str]:
    """Return the ids of rules that find something only as no file names a package."""
    return frozenset(
        finding.rule_id
        for finding in findings
        if any(evidence.source == ASSUMED for evidence in finding.evidence)
    )
