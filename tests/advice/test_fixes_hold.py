"""Every fix of every rule, carried out on facts: it removes the finding, and harms nothing.

By default one state of each rule is tried, in a step of CI four, and once a week twenty. Then it is
also counted which fixes no state has proved.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fadoctor.judging.diagnose import Prognosis, foresee
from fadoctor.knowledge.matrix.kernels import visible_gpus
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.verdict import Predicted
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.repair.plan.states.fix_state import FixState
from fadoctor.repair.plan.written.advice_proof import FixProver, Proved, Standing
from fadoctor.repair.plan.written.advise import advised, answer_of, solves
from tests.advice.states import WHOLE, by_effort, foreseen_whole, of_rule
from tests.properties.worlds import knowledge
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import FixTemplate, Rule

STATES = by_effort(1, 4, 20)
LISTED = Path(__file__).with_name("unproved.txt")
RULES = [rule for rule in knowledge().rules if rule.fixes]
FIRING = [rule for rule in RULES if rule.when]


class Trial(NamedTuple):
    """One fix of one finding in one state."""

    before: Prognosis
    finding: Finding
    fix: Fix
    proved: Proved


def trials(rule: Rule) -> Iterator[Trial]:
    """Yield the fixes of a rule in the first states where it fires."""
    left = STATES
    for before in states(rule):
        mine = [each for each in before.assessment.findings if each.rule_id == rule.id]
        if not mine:
            continue
        prover = FixProver(before, session())
        for fix in mine[0].fixes:
            yield Trial(before, mine[0], fix, prover.prove(mine[0], fix))
        left -= 1
        if not left:
            return


def states(rule: Rule) -> Iterator[Prognosis]:
    """Yield the states of a rule, its own ones and whole machines in turn."""
    own = (foresee(each, session().knowledge) for each in of_rule(rule.id))
    whole = (
        each
        for each in foreseen_whole()
        if any(finding.rule_id == rule.id for finding in each.assessment.findings)
    )
    for _ in range(STATES):
        yield from (each for each in (next(own, None), next(whole, None)) if each is not None)
    yield from own


def harm(trial: Trial) -> str:
    """Return what a fix that is shown does not do, or does beside: judged all anew."""
    after = FixState(session()).after(trial.before.environment, trial.fix)
    now = foresee(after.environment, knowledge())
    errors = {f.fingerprint: f.rule_id for f in _errors(now)}
    was = {f.fingerprint for f in _errors(trial.before)}
    hidden = {i for f in trial.before.assessment.findings for i in f.consequences}
    new = {rule_id for mark, rule_id in errors.items() if mark not in was} - hidden
    seen = tuple(gpu.label for gpu in visible_gpus(now.environment))
    lost = _cells(trial.before, Predicted.WORKS) - _cells(now, Predicted.WORKS)
    lost = {cell for cell in lost - _cells(now, Predicted.UNKNOWN) if cell.startswith(seen)}
    stays = any(f.fingerprint == trial.finding.fingerprint for f in now.assessment.findings)
    goes_around = after.is_setting or after.has_prose
    return "; ".join(
        (
            *(f"then {rule_id}" for rule_id in sorted(new)),
            *(f"{cell} is lost" for cell in sorted(lost)),
            *(["the finding stays"] if stays and not goes_around else []),
        )
    )


def _errors(prognosis: Prognosis) -> list[Finding]:
    return [f for f in prognosis.assessment.findings if f.severity is Severity.ERROR]


def _cells(prognosis: Prognosis, predicted: Predicted) -> set[str]:
    return {
        f"{v.gpu} {v.backend.value} {v.dtype.value}"
        for v in prognosis.verdicts
        if v.predicted is predicted
    }


class Tried(NamedTuple):
    """How the fixes of one rule came out."""

    standings: dict[str, set[Standing]]
    "fix -> how it came out in the states"
    wrong: dict[str, str]
    "fix that is shown -> what it does not do, or does beside"


@functools.cache
def tried(rule_id: str) -> Tried:
    """Try the fixes of a rule, once for all tests that ask, in whatever order they run."""
    found = Tried({}, {})
    for trial in trials(next(rule for rule in FIRING if rule.id == rule_id)):
        found.standings.setdefault(trial.fix.id, set()).add(trial.proved.standing)
        if trial.proved.standing is Standing.REFUTED:
            continue  # not shown there
        if problem := harm(trial):
            found.wrong[trial.fix.id] = problem
    return found


@pytest.mark.sampled(every=12)
@pytest.mark.property
@pytest.mark.parametrize("rule_id", [rule.id for rule in FIRING])
def test_what_is_shown_holds(rule_id: str) -> None:
    assert tried(rule_id).wrong == {}


@pytest.mark.long
def test_check_shows_what_fix_does() -> None:
    """The first commands of a finding that a plan repairs are those of the plan, or of it."""
    packages = (StepKind.INSTALL, StepKind.UNINSTALL)
    for before in foreseen_whole()[:: by_effort(16, 8, 4)]:
        plan = make_plan(before.environment, session(), PlannerRequest())
        answer = answer_of(plan)
        planned = {item for step in answer.steps for item in step.items}
        found = advised(before.assessment.findings, FixProver(before, session()), plan)
        for finding in found:
            commands = [f for f in finding.fixes if any(s.kind in packages for s in f.steps)]
            if solves(plan, finding):
                items = {i for s in commands[0].steps if s.kind in packages for i in s.items}
                assert items <= planned, (finding.rule_id, commands[0])


def listed() -> dict[str, str]:
    """Return ``rule fix`` -> why it is not proved, as it is written down."""
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    found = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {key: why for key, _, why in found}


def why_unproved(found: set[Standing]) -> str:
    """Return why a fix is not proved anywhere, "" where it is."""
    if Standing.PROVED in found:
        return ""
    if Standing.OPEN in found:
        return "open"
    return "prose" if Standing.PROSE in found else "never shown"


def provable(rule: Rule) -> Iterator[FixTemplate]:
    """Yield the fixes of a rule that facts show; that a fix for a log helps, no facts can prove."""
    for fix in rule.fixes:
        if not fix.logged and "'log." not in str(fix.when):
            yield fix


@pytest.mark.skipif(not WHOLE, reason="needs every state; set FADOCTOR_TESTS_REQUIRE=whole-fixes")
def test_no_fix_more_is_unproved() -> None:
    found = {
        f"{rule.id} {fix.id}": why
        for rule in FIRING
        for fix in provable(rule)
        if (why := why_unproved(tried(rule.id).standings.get(fix.id, set())))
    }
    if os.environ.get("FADOCTOR_UPDATE_GOLDEN"):
        count = {why: list(found.values()).count(why) for why in sorted(set(found.values()))}
        head = "# Fixes that no state proves: " + ", ".join(f"{n} {w}" for w, n in count.items())
        lines = [f"{key}: {why}" for key, why in sorted(found.items())]
        LISTED.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    known = listed()
    assert {key: why for key, why in found.items() if key not in known} == {}, "prove them"
    assert sorted(known.keys() - found.keys()) == [], "proved by now: take them off the list"
