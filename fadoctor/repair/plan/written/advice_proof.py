"""Prove fixes as plans are proved: judge the facts as they would be afterwards, with every rule.

A fix that the facts refute is not shown. What nobody can judge, since it is prose or since what it
brings is not known, is advice.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.judge import judge
from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Kernels, visible_gpus
from fadoctor.model.fact import Absent
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.verdict import Backend, Predicted
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.repair.plan.hub.hub_route import must_not_ask
from fadoctor.repair.plan.search.wishes import HALF, PAIR
from fadoctor.repair.plan.states.fix_state import FixState
from fadoctor.repair.plan.states.requirements import (
    requirements_of,
    told_by_facts,
    violations,
    with_pairs,
)
from fadoctor.repair.plan.written.torch_fit import is_for_what_cannot_run, misfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Effect, Fix
    from fadoctor.model.verdict import Verdict
    from fadoctor.repair.plan.search.problem import Session
    from fadoctor.repair.plan.states.fix_state import After
    from fadoctor.repair.plan.states.requirements import Violation


class Standing(enum.Enum):
    """What is known of a fix on some facts."""

    PROVED = "proved"
    """The finding is gone, no error is new, and what worked works."""
    OPEN = "open"
    """Nobody can judge it."""
    PROSE = "prose"
    """It says only what to do: no fact is known to change."""
    REFUTED = "refuted"


class Proved(msgspec.Struct, frozen=True):
    """How a fix came out, and why."""

    standing: Standing
    reason: str = ""


class FixProver:
    """Proves the fixes of one environment."""

    def __init__(
        self,
        before: Prognosis,
        session: Session,
        requirements: Mapping[str, dict[str, str]] | None = None,
    ) -> None:
        """Take what the facts say now, and what all distributions require where that was read."""
        self.before = before
        self.session = session
        self.state = FixState(session)
        self.requirements = {**told_by_facts(before.environment), **(requirements or {})}
        self.failed = _errors(before.assessment.judgements)
        self.worked = _working(before.verdicts)
        self.unmet = self._unmet(before.environment)

    def holds(self, finding: Finding, fix: Fix) -> bool:
        """Return whether nothing refutes a fix of a finding."""
        return self.prove(finding, fix).standing is not Standing.REFUTED

    def prove(self, finding: Finding, fix: Fix) -> Proved:
        """Return how a fix of a finding comes out."""
        before = self.before.environment
        if is_for_what_cannot_run(before, finding):
            return Proved(Standing.REFUTED, f"{finding.subject} cannot run here")
        after = self.state.after(before, fix)
        if after.says_nothing:
            return Proved(Standing.PROSE)
        problem = after.cannot or self._breaks(after.environment)
        indexes = self.session.candidates.indexes
        problem = problem or misfit(before, after.environment, fix, indexes)
        if problem:
            return Proved(Standing.REFUTED, problem)
        session = self.session
        assessment = judge(after.environment, session.knowledge, session.matrix)
        verdicts = predict(Kernels(after.environment, session.matrix), assessment)
        instead = self._instead(fix, finding, verdicts)
        problem = self._harms(after.environment, assessment, verdicts)
        problem = problem or self._of_no_use(after.environment, verdicts)
        problem = problem or self._vetoed(finding, assessment.judgements)
        if instead == {Predicted.FAILS}:
            problem = "the attention that it asks for does not run here either"
        if problem:
            return Proved(Standing.REFUTED, problem)
        return self._gone(finding, assessment.judgements, after, instead)

    def _breaks(self, after: Environment) -> str:
        """Return what packages would lack."""
        if _has_torch(self.before.environment) and not _has_torch(after):
            return "torch would be gone"
        unmet = self._unmet(after)
        new = {
            each.text
            for key, each in unmet.items()
            if key not in self.unmet or _is_third(self.unmet[key], each)
        }
        return "; ".join(sorted(new))

    def _harms(
        self, environment: Environment, after: Assessment, verdicts: Iterable[Verdict]
    ) -> str:
        """Return what would be wrong that is not wrong now."""
        found = tuple(verdicts)
        if new := _errors(after.judgements) - self.failed:
            return f"then {', '.join(sorted({each[0] for each in new}))}"
        lost = self.worked - _working(found) - _open(found) - _hidden(self.worked, environment)
        return f"{', '.join(sorted(lost))} would be lost" if lost else ""

    def _of_no_use(self, after: Environment, verdicts: Iterable[Verdict]) -> str:
        """Return why kernels, where it is new, brings no attention from the Hub."""
        before, name = self.before.environment, PAIR[1]
        if is_there(before, name) or not is_there(after, name):
            return ""
        found = [v for v in verdicts if v.backend is Backend.HUB_FA2 and v.dtype in HALF]
        if found and all(each.predicted is Predicted.FAILS for each in found):
            return "no Hub kernel runs on a GPU that is here"
        if must_not_ask(after) and not self.session.hub.kernels(before):
            return "HF_HUB_OFFLINE is set, and the cache has no kernel"
        return ""

    def _vetoed(self, finding: Finding, after: Iterable[Judgement]) -> str:
        """Return which new warning keeps all from working that a fix is for.

        A newer driver that triton wants is none for a GPU that it no longer supports.
        """
        judgements = self.before.assessment.judgements
        purpose = {b for j in judgements if j.rule.id == finding.rule_id for b in _affected(j)}
        before = {(each.rule.id, each.subject) for each in judgements if _fails(each)}
        new = [
            each.rule.id
            for each in after
            if purpose
            and _fails(each)
            and (each.rule.id, each.subject) not in before
            and purpose <= _affected(each)
        ]
        return f"then {', '.join(sorted(set(new)))}" if new else ""

    def _instead(self, fix: Fix, finding: Finding, verdicts: Iterable[Verdict]) -> set[Predicted]:
        """Return what is predicted for the attention that a fix asks for, if it asks for one."""
        asked = str(_effects(fix).get("config.attention", ""))
        backends = {
            word
            for row in self.session.matrix.tables["setting-lines"].rows
            if asked and row.get("value") == asked
            for word in str(row.get("backends") or "").split()
        }
        where = finding.subject if finding.subject.startswith("gpu[") else ""
        return {
            each.predicted
            for each in verdicts
            if each.backend.value in backends and where in ("", each.gpu.partition(" ")[0])
        }

    def _gone(
        self,
        finding: Finding,
        judgements: Iterable[Judgement],
        after: After,
        instead: set[Predicted],
    ) -> Proved:
        """Return whether a finding is gone, or gone around by a setting.

        What is left may be what the prose is about.
        """
        mine = [
            each.outcome
            for each in judgements
            if each.rule.id == finding.rule_id and each.subject == finding.subject
        ]
        if Outcome.FAIL in mine and after.is_setting:
            works = Predicted.WORKS in instead
            return Proved(
                Standing.PROVED if works else Standing.OPEN,
                "it hides the problem and does not repair it",
            )
        if Outcome.FAIL in mine:
            standing = Standing.OPEN if after.has_prose else Standing.REFUTED
            return Proved(standing, "the finding stays")
        if Outcome.UNKNOWN in mine or Outcome.ERROR in mine:
            return Proved(Standing.OPEN, "whether the finding remains is not known")
        return Proved(Standing.PROVED)

    def _unmet(self, environment: Environment) -> dict[tuple[str, str, str], Violation]:
        """Return the requirements of packages that do not hold."""
        needs = requirements_of(environment, self.requirements)
        needs = with_pairs(needs, environment, self.session.matrix, self.session.bounds)
        found = violations(environment, needs)
        return {(each.distribution, each.needs, each.specifier): each for each in found}


def _is_third(before: Violation, after: Violation) -> bool:
    """Return whether a release comes in place of another that an exact pin refuses, and is too."""
    return after.is_exact and bool(after.found) and after.found != before.found


def _fails(judgement: Judgement) -> bool:
    is_told = judgement.severity in (Severity.ERROR, Severity.WARNING)
    return judgement.outcome is Outcome.FAIL and is_told


def _affected(judgement: Judgement) -> set[str]:
    """Return the backends that a rule keeps from working."""
    affects = judgement.rule.affects
    return {str(backend) for backend in affects.backends} if affects is not None else set()


def _effects(fix: Fix) -> dict[str, Effect]:
    return {name: value for step in fix.steps for name, value in step.effects.items()}


def _has_torch(environment: Environment) -> bool:
    return not isinstance(environment.fact("torch.version"), Absent)


def _errors(judgements: Iterable[Judgement]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (each.rule.id, each.subject)
        for each in judgements
        if each.outcome is Outcome.FAIL and each.severity is Severity.ERROR
    )


def _working(verdicts: Iterable[Verdict]) -> frozenset[str]:
    return _cells(verdicts, Predicted.WORKS)


def _hidden(cells: Iterable[str], environment: Environment) -> frozenset[str]:
    """Return the cells of GPUs that programs do not see: to leave those alone is what is meant."""
    there = {gpu.subject for gpu in visible_gpus(environment)}
    return frozenset(cell for cell in cells if cell.rpartition(" on ")[2] not in there)


def _open(verdicts: Iterable[Verdict]) -> frozenset[str]:
    return _cells(verdicts, Predicted.UNKNOWN)


def _cells(verdicts: Iterable[Verdict], predicted: Predicted) -> frozenset[str]:
    return frozenset(
        f"{each.backend.value} {each.dtype.value} on {each.gpu.partition(' ')[0]}"
        for each in verdicts
        if each.predicted is predicted
    )
