"""What has to hold of the shipped rules on every environment.

`losing a fact` means that a probe could not look: the fact becomes Unknown, everything else stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fadoctor.judging.diagnose import diagnose
from fadoctor.judging.engine.evaluate import Judgement, evaluate
from fadoctor.judging.engine.judge import judge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent
from fadoctor.model.finding import Outcome
from fadoctor.model.verdict import Predicted
from tests.history.environments import ATTENTION, environment, stacks
from tests.properties.worlds import (
    ANYTHING,
    FEW,
    LOST,
    cases,
    knowledge,
    of_case,
    read_facts,
    unrelated,
    with_fact,
    without,
    worlds,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.engine.cases import Case
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.report import Report
    from fadoctor.model.rule import Rule

Key = tuple[str, tuple[tuple[str, str], ...]]
"""Rule and what it is judged for: ``gpu`` is ``gpu[0]``."""
Predictions = dict[tuple[str, str, str], Predicted]
"""GPU, backend and dtype -> prediction."""

_HARMLESS = (Outcome.PASS, Outcome.NOT_APPLICABLE)


def by_subject(judgements: Iterable[Judgement]) -> dict[Key, Judgement]:
    return {(each.rule.id, tuple(each.scope.bindings.items())): each for each in judgements}


def is_overruled(judgement: Judgement) -> bool:
    return judgement.outcome is Outcome.PASS and judgement.reason != ""


def allowed(before: Judgement) -> set[Outcome]:
    """Return what may become of an outcome when a fact is lost."""
    match before.outcome:
        case Outcome.FAIL:
            return {Outcome.FAIL, Outcome.UNKNOWN}
        case Outcome.PASS if is_overruled(before):
            return {*_HARMLESS, Outcome.UNKNOWN, Outcome.FAIL}
        case Outcome.PASS | Outcome.NOT_APPLICABLE:
            return {*_HARMLESS, Outcome.UNKNOWN}
        case _:
            return {before.outcome}


def compare(before: Iterable[Judgement], after: Iterable[Judgement]) -> list[str]:
    """Return every outcome that losing a fact may not bring."""
    then, now = by_subject(before), by_subject(after)
    open_rules = {each.rule.id for each in now.values() if each.outcome is Outcome.UNKNOWN}
    wrong = [
        f"{key}: {then[key].outcome.value} became {now[key].outcome.value}"
        for key in then.keys() & now.keys()
        if now[key].outcome not in allowed(then[key])
    ]
    return wrong + [
        f"{key}: {then[key].outcome.value} is gone, and nothing is open"
        for key in then.keys() - now.keys()
        if then[key].outcome not in _HARMLESS and key[0] not in open_rules
    ]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("rule_id", sorted({rule.id for rule, _ in cases()}))
def test_losing_any_fact_of_a_case_only_opens_the_outcome(rule_id: str) -> None:
    """In each case of a rule, for each fact that the rule reads there.

    A failure stays one or becomes unknown; what is unknown stays so; a pass (not applicable counts
    as one) stays one or becomes unknown, and becomes a failure only if evidence had overruled one.
    """
    matrix = Matrix(knowledge().tables)
    for rule, case in cases():
        if rule.id == rule_id:
            before = evaluate(rule, of_case(case), matrix)
            for name in _names(case, before):
                after = evaluate(rule, with_fact(of_case(case), name, LOST), matrix)
                assert compare(before, after) == [], f"{case.name}: without {name}"


def _names(case: Case, judgements: Iterable[Judgement]) -> list[str]:
    """Return the facts that a case names or its rule reads; cells of tables are no facts."""
    tables = knowledge().tables
    read = {name for each in judgements for name in each.scope.read}
    facts = {name for name in read if name.partition(".")[0] not in tables}
    return sorted({*case.facts, *facts})


@FEW
@given(worlds(), st.data())
def test_losing_any_fact_only_opens_outcomes(world: Environment, data: st.DataObject) -> None:
    """The same for all rules together, on environments as people have them."""
    before = judge(world, knowledge())
    name = data.draw(st.sampled_from(read_facts(world, before.judgements)))
    after = judge(without(world, name, unread=data.draw(st.booleans())), knowledge())
    assert (before.errors, after.errors) == ((), ())
    assert compare(before.judgements, after.judgements) == [], f"without {name}"


@FEW
@given(worlds(), st.data())
def test_losing_any_fact_never_makes_a_verdict_better(
    world: Environment, data: st.DataObject
) -> None:
    """What fails or is unknown never becomes works, by losing a fact.

    What works stays, becomes unknown, or fails where evidence had overruled a rule. A cell may
    vanish (nobody can count the GPUs) or appear (a GPU may be visible after all).
    """
    judgements = judge(world, knowledge()).judgements
    name = data.draw(st.sampled_from(read_facts(world, judgements)))
    overruled = any(is_overruled(each) for each in judgements)
    poorer = without(world, name, unread=data.draw(st.booleans()))
    found = steps(predictions(world), predictions(poorer))
    assert found <= allowed_steps(overruled=overruled), f"without {name}"


OTHERS = ["", *(each for each in ATTENTION if each != "flash_attn")]


@pytest.mark.sampled
@pytest.mark.parametrize("gone", ["", "triton.version"])
@pytest.mark.parametrize(
    "package", ["flash_attn", *(pytest.param(each, marks=pytest.mark.long) for each in OTHERS)]
)
def test_losing_each_fact_of_one_machine_never_makes_a_verdict_better(
    package: str, gone: str
) -> None:
    """The same, fact by fact, on a machine that works and on one without triton."""
    world = environment(stacks()["2.13.0"], package, ("A100", "T4"), knowledge())
    world = with_fact(world, gone, Absent("gone")) if gone else world
    before = predictions(world)
    for name in read_facts(world, judge(world, knowledge()).judgements):
        found = steps(before, predictions(with_fact(world, name, LOST)))
        assert found <= allowed_steps(overruled=False), f"without {name}"


def steps(before: Predictions, after: Predictions) -> set[tuple[Predicted, Predicted]]:
    """Return what became of which predictions."""
    return {(before[key], after[key]) for key in before.keys() & after.keys()}


def allowed_steps(*, overruled: bool) -> set[tuple[Predicted, Predicted]]:
    worse = {(each, each) for each in Predicted} | {(each, Predicted.UNKNOWN) for each in Predicted}
    lost = {(Predicted.WORKS, Predicted.FAILS), (Predicted.UNKNOWN, Predicted.FAILS)}
    return worse | lost if overruled else worse


def predictions(world: Environment) -> Predictions:
    return {
        (each.gpu.partition(" ")[0], each.backend.value, each.dtype.value): each.predicted
        for each in diagnose(world, knowledge()).verdicts
    }


@pytest.mark.long
@FEW
@given(worlds(), st.data(), ANYTHING)
def test_an_unrelated_fact_changes_nothing(
    world: Environment, data: st.DataObject, fact: Fact
) -> None:
    """A fact that no rule reads changes no finding, no verdict and no recommendation."""
    name = data.draw(st.sampled_from(unrelated()))
    before = diagnose(world, knowledge())
    after = diagnose(with_fact(world, name, fact), knowledge())
    assert said(after) == said(before), f"with {name}"


def said(report: Report) -> tuple[object, ...]:
    return (report.findings, report.unknown, report.verdicts, report.recommendation)


@FEW
@given(worlds(), st.data())
def test_ignoring_a_rule_removes_only_its_findings(world: Environment, data: st.DataObject) -> None:
    """Every other finding stays, word for word; what the ignored rule explained stands on its own.

    Its undecided entries go too. No verdict changes, and no recommendation.
    """
    before = diagnose(world, knowledge())
    named = {finding.rule_id for finding in before.findings} | failing(before)
    named |= {each.rule_id for each in before.unknown}
    ignored = data.draw(st.sampled_from(sorted(named) or [rule.id for rule in rules()]))
    after = diagnose(world, knowledge(), ignore=(ignored,))
    hidden = {finding.fingerprint for finding in before.findings if finding.rule_id == ignored}
    others = [finding for finding in before.findings if finding.fingerprint not in hidden]
    assert [each for each in after.findings if each in others] == others
    assert {each.rule_id for each in after.findings} <= failing(before) - {ignored}
    assert failing(after) | {ignored} == failing(before) | {ignored}
    assert after.unknown == tuple(each for each in before.unknown if each.rule_id != ignored)
    assert after.verdicts == before.verdicts
    assert after.recommendation == before.recommendation


def rules() -> tuple[Rule, ...]:
    return knowledge().rules


def failing(report: Report) -> set[str]:
    """Return the rules that failed: as findings or as consequences of others."""
    own = {finding.rule_id for finding in report.findings}
    return own | {rule_id for finding in report.findings for rule_id in finding.consequences}


@pytest.mark.long
def test_the_environments_are_of_many_kinds() -> None:
    """A generator that makes only healthy environments would prove nothing."""
    failed = {rule.id for rule, case in cases() if case.expect.outcome is Outcome.FAIL}
    assert len(failed) >= 30
    assert len(unrelated()) >= 20
