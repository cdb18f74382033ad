"""What a report advises: the planner's answer where it has one, and no fix that facts refute."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.fixes import begun, command
from fadoctor.model.finding import Severity
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.packages import PACKAGES
from fadoctor.model.plan import ActionKind
from fadoctor.model.rule import INSTALL_OPTIONS
from fadoctor.repair.plan.planner import plan_quickly
from fadoctor.repair.plan.written.advice_proof import FixProver, Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.finding import Finding
    from fadoctor.model.plan import Action, Plan
    from fadoctor.repair.plan.planner import PlannerRequest
    from fadoctor.repair.plan.search.problem import Session

ANSWER = "as-fadoctor-fix-does"
"""The id of the fix that is the planner's answer."""

# flash-attn==2.8.3, flash-attn @ https://...
_NAME = re.compile(r"[^A-Za-z0-9._-].*")
_PACKAGES = (StepKind.INSTALL, StepKind.UNINSTALL)
_BY_HAND = (StepKind.ADVICE, StepKind.SYSTEM)


def advise(
    findings: Iterable[Finding],
    before: Prognosis,
    session: Session,
    question: PlannerRequest,
    plan: Plan | None = None,
) -> tuple[Finding, ...]:
    """Return the findings of an environment with the fixes that hold; plans where no plan is given.

    `fix` makes the same plan of the same question, and writes it for its installer. Where that
    takes long there is no answer of the planner here.
    """
    plan = plan or plan_quickly(before, session, question)
    return advised(findings, FixProver(before, session, question.requirements), plan)


def advised(
    findings: Iterable[Finding], prover: FixProver, plan: Plan | None
) -> tuple[Finding, ...]:
    """Return the findings with the fixes that hold.

    The planner's answer takes the place of the first fix that changes packages, or that nobody can
    prove; others that change packages stay behind it where they are proved on these facts.
    """
    found = []
    for each in findings:
        answer = answer_of(plan) if plan is not None and solves(plan, each) else None
        found.append(msgspec.structs.replace(each, fixes=begun(_fixes(each, prover, answer))))
    return tuple(found)


def _fixes(finding: Finding, prover: FixProver, answer: Fix | None) -> Iterator[Fix]:
    """Yield the fixes that hold; the answer stands before what nobody has proved.

    A proved fix that is a part of the answer stands for it: the rest is for other findings.
    """
    standings = [(fix, prover.prove(finding, fix).standing) for fix in finding.fixes]
    proved = [fix for fix, standing in standings if standing is Standing.PROVED]
    stands_in = answer and next((fix for fix in proved if _is_part(fix, answer)), answer)
    left = stands_in
    for fix, standing in standings:
        is_about_packages = any(step.kind in _PACKAGES for step in fix.steps)
        waits = is_about_packages or fix not in proved or _is_looked_for(fix)
        if left is not None and waits:
            yield left
            left = None
        if answer is not None and is_about_packages and _is_same(fix, answer):
            continue
        if fix is stands_in:
            continue  # it stands in its place already
        may_be = standing in (Standing.OPEN, Standing.PROSE)
        if fix in proved or (may_be and not (answer and is_about_packages)):
            yield fix
    if left is not None:
        yield left


def _is_looked_for(fix: Fix) -> bool:
    """Return whether a person has to find a package first: a command of the planner goes before."""
    heads = {name.partition(".")[0] for step in fix.steps for name in step.effects}
    return not heads.isdisjoint(PACKAGES) and all(step.kind in _BY_HAND for step in fix.steps)


def _is_part(fix: Fix, answer: Fix) -> bool:
    """Return whether a fix does a part of the answer; where torch moves all of it is one thing.

    To remove what the answer puts back, in another file, is no part of it.
    """
    items = _items(fix)
    moves_torch = any(_NAME.sub("", item) == "torch" for item in items)
    is_within = items <= _items(answer) and _removed(fix) <= _removed(answer)
    return bool(items) and not moves_torch and is_within


def _removed(fix: Fix) -> set[str]:
    """Return what is gone afterwards."""
    gone, back = (
        {_NAME.sub("", item).lower() for step in fix.steps if step.kind is kind
         for item in step.items}
        for kind in (StepKind.UNINSTALL, StepKind.INSTALL)
    )  # fmt: skip
    return gone - back


def _items(fix: Fix) -> set[str]:
    return {item for step in fix.steps if step.kind in _PACKAGES for item in step.items}


def solves(plan: Plan, finding: Finding) -> bool:
    """Return whether a plan changes packages so that a finding is gone."""
    runs = [action for action in plan.actions if action.kind.is_run]
    if not runs or finding.severity is Severity.NOTE:
        return False
    if any(finding.rule_id in action.findings for action in runs):
        return True
    left = {*plan.proof.errors, *plan.proof.by_setting}
    by_hand = {rule_id for action in plan.actions for rule_id in action.findings}
    return finding.severity is Severity.ERROR and finding.rule_id not in left | by_hand


def answer_of(plan: Plan) -> Fix:
    """Return a plan as a fix: the commands that `fadoctor fix` would run, in their order."""
    runs = [action for action in plan.actions if action.kind.is_run]
    titles = [action.text for action in runs]
    effects = dict.fromkeys(effect for action in runs for effect in action.side_effects)
    removes = any(action.kind is ActionKind.UNINSTALL for action in runs)
    loses = removes or bool(plan.proof.lost or plan.proof.requirements)
    title = "; then ".join(titles)
    return Fix(
        ANSWER,
        title[:1].upper() + title[1:],
        Safety.UNSAFE if loses else Safety.SAFE,
        tuple(_step(action, windows=plan.windows) for action in runs),
        "; ".join(effects),
    )


def _step(action: Action, *, windows: bool) -> Step:
    kind = StepKind.UNINSTALL if action.kind is ActionKind.UNINSTALL else StepKind.INSTALL
    options = tuple(word for word in action.argv if word in INSTALL_OPTIONS)
    index, beside = action.index, options
    if index and "--index-url" not in action.argv:  # what is configured stays in use beside it
        index, beside = "", ("--extra-index-url", index, *options)
    text = command(kind, action.requirements, beside, index, windows=windows)
    before = "".join(f"{name}={value} " for name, value in action.env.items())
    return Step(kind, before + text, action.requirements, action.index, options)


def _is_same(fix: Fix, answer: Fix) -> bool:
    """Return whether a fix replaces nothing that the answer does not replace too."""
    mine, theirs = (
        {_NAME.sub("", item).lower() for step in each.steps if step.kind in _PACKAGES
         for item in step.items}
        for each in (fix, answer)
    )  # fmt: skip
    installs = any(step.kind is StepKind.INSTALL for step in fix.steps)
    return mine <= theirs and (
        installs or not any(s.kind is StepKind.INSTALL for s in answer.steps)
    )
