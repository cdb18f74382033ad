"""A rule is judged once for each combination of what it can read."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.finding import Outcome
from fadoctor.model.packages import PACKAGES
from fadoctor.repair.plan.states.relations import Judge, Relation, relations_of
from fadoctor.repair.plan.states.rule_inputs import (
    EVERYTHING,
    FactReading,
    can_be_about,
    can_change,
    facts_read,
    packages_read,
    values_of,
)
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment, rule
from tests.unit.repair.plan.problems import golden, problem, session

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

PAIR = rule("pair", when={"torch.version": {"not": "$triton.version"}})
EACH = rule(
    "each", for_each=["package"], when={"package.requires.torch": {"violates": "$torch.version"}}
)
WHOLE = rule("whole", when={"packages.installed.tokenizers": {"present": False}})
LOADS = rule("loads", when={"flash_attn.loads": False})
NOTE = rule("note", severity="note", when={"torch.version": "2"})


def test_what_a_rule_can_read() -> None:
    assert packages_read(PAIR) == {"torch", "triton"}
    assert packages_read(EACH, "peft") == {"torch", "peft"}
    assert packages_read(WHOLE) == {EVERYTHING}
    assert packages_read(LOADS) == {"flash_attn", "torch"}  # whether it loads depends on torch
    assert relations_of((NOTE,)) == ()


def test_what_names_of_the_rule_stand_for_is_read() -> None:
    made = rule(
        "rows", rows={"row": {"table": "t", "version": "vllm.version", "word": "=x"}},
        let={"first": ["row.pin", "xformers.requires.torch"]},
        when={"any": [{"torch.version": {"violates": "$first"}}]},
    )  # fmt: skip
    assert packages_read(made) == {"torch", "xformers", "vllm"}


def test_branches_about_another_package_are_not_read() -> None:
    about_flash = {"package.distribution": "flash-attn", "flash_attn.wheel.torch": "2.8"}
    made = rule(
        "ext", for_each=["extension"], when={"any": [{"extension.failure": "x"}, about_flash]}
    )
    assert packages_read(made, "triton") == {"torch", "triton"}
    assert packages_read(made, "flash_attn") == {"torch", "flash_attn"}
    whole = rule("some", for_each=["package"], when={"package.distribution": {"in": ["vllm"]}})
    assert [p for p in ("vllm", "torch") if can_be_about(whole, p)] == ["vllm"]
    assert [each.package for each in relations_of((whole,))] == ["vllm"]


def test_rules_for_each_package_are_one_relation_for_each() -> None:
    found = {each.package: set(each.mentions) for each in relations_of((EACH,))}
    assert set(found) == set(PACKAGES)
    assert (found["torch"], found["peft"]) == ({"torch"}, {"torch", "peft"})


def test_judged_once_for_each_thing_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    [relation] = relations_of((PAIR,))
    judge = Judge(Matrix({}))
    asked = []
    whole = judge._evaluate

    def counted(*arguments: Any) -> Any:
        asked.append(arguments)
        return whole(*arguments)

    monkeypatch.setattr(judge, "_evaluate", counted)
    facts = {"torch.version": "2", "triton.version": "3", "xformers.version": "1"}
    within = judge.within(environment(facts))
    first = within.judge(relation, environment(facts))
    assert within.judge(relation, environment({**facts, "xformers.version": ABSENT})) is first
    assert len(asked) == 1
    assert within.judge(relation, environment({**facts, "triton.version": "2"})) == ()  # it passes
    within.judge(relation, environment({**facts, "triton.version": UNREAD}))
    within.judge(relation, environment({**facts, "triton.version": ABSENT}))
    assert len(asked) == 4


def test_what_no_package_decides_is_told_apart_between_environments() -> None:
    [relation] = relations_of((rule("cc", when={"gpu[0].name": "x", "torch.version": "2"}),))
    judge = Judge(Matrix({}))
    found = []
    for name in ("x", "y", "x"):
        facts = environment({"torch.version": "2", "gpu[0].name": name})
        found.append([each.outcome for each in judge.within(facts).judge(relation, facts)])
    assert found == [[Outcome.FAIL], [], [Outcome.FAIL]]


@pytest.mark.parametrize("name", ["linux-4090-wheel-mismatch", "linux-5090-torch26"])
def test_a_choice_changes_no_fact_of_the_machine(name: str) -> None:
    """Judgements are remembered by the facts that a choice can change, and by no others."""
    made = problem(golden(name), want=("vllm", "unsloth", "fa3", "fa4"))
    for package in made.packages:
        for choice in made.domain(package, made.environment)[:40]:
            after = made.session.post.apply(made.environment, choice).facts
            changed = {fact for fact in after if after[fact] != made.environment.facts.get(fact)}
            assert all(map(can_change, changed)), (package, choice.key)


def test_what_is_read_for_each_subject() -> None:
    made = rule(
        "each", for_each=["gpu", "extension"],
        when={"gpu.name": "x", "extension.failure": "y", "xformers.requires.torch": "==2",
              "torch.cuda.major": "$env.X"},
    )  # fmt: skip
    found = facts_read(made, "vllm", {"gpu": 2, "toolkit": 0})
    names = {reading.name for reading in found}
    assert {"gpu[0].name", "gpu[1].name", "vllm.binary.failure", "vllm.fa3.failure"} <= names
    assert {"torch.cuda", "gpu.count", "vllm.version", "vllm.fa2.optional"} <= names
    assert FactReading("xformers.requires", "torch") in found


@pytest.mark.parametrize(
    "pair", [(True, 1), ("Absent", ABSENT), (ABSENT, UNREAD), ({"a": "1"}, {"a": "2"}), ("1", 1)]
)
def test_values_that_conditions_tell_apart_are_told_apart(pair: tuple[Any, Any]) -> None:
    one, other = (environment({"torch.version": value}).facts for value in pair)
    read = [FactReading("torch.version")]
    assert values_of(read, one) != values_of(read, other)
    hash(tuple(values_of(read, one)))


@pytest.mark.property
@pytest.mark.parametrize("name", ["linux-4090-wheel-mismatch", "linux-5090-torch26"])
def test_a_fact_that_is_not_among_them_decides_nothing(name: str) -> None:
    """Every fact is made Unknown in turn: a relation that does not read it stays as it was."""
    facts = golden(name)
    before = {r.key: outcomes(r, facts) for r in session().relations}
    counts = {"gpu": 1, "toolkit": 0, "contract": 0}
    read = {
        r.key: {reading.name for reading in facts_read(r.rule, r.package, counts)}
        for r in session().relations
    }
    chance = random.Random(3)  # noqa: S311 -- a sample
    # a distribution is known wherever a package is: that is how branches about others are left out
    names = sorted(name for name in facts.facts if not name.endswith(".distribution"))
    for fact in chance.sample(names, 60):
        changed = msgspec.structs.replace(facts, facts={**facts.facts, fact: UNREAD})
        for relation in session().relations:
            if fact not in read[relation.key]:
                assert outcomes(relation, changed) == before[relation.key], (relation.key, fact)


def outcomes(relation: Relation, facts: Environment) -> list[tuple[str, Outcome]]:
    """Return how a relation comes out, judged afresh."""
    judge = Judge(session().matrix)
    return [(each.subject, each.outcome) for each in judge._evaluate(relation, facts)]
