"""A rule about all packages is judged once those are decided that tables name."""

from __future__ import annotations

import pytest

from fadoctor.repair.plan.choices.choice import keep
from fadoctor.repair.plan.states.follow_ups import aftermath
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING
from tests.unit.repair.plan.problems import golden, problem


def test_a_pair_is_decided_by_the_two_that_a_table_names() -> None:
    made = problem(golden("linux-a100-healthy"), want=("vllm",))
    [pair] = [
        each
        for each in made.session.relations
        if each.rule.id == "pair-unfit" and each.package == "trl"
    ]
    assert EVERYTHING in pair.mentions
    decided = {each.key: each.decided_by for each in made.relations}
    for key, found in decided.items():
        if key == pair.key:
            assert "vllm" in found
            assert EVERYTHING not in found


@pytest.mark.parametrize("name", ["linux-5090-torch26", "linux-a100-healthy"])
def test_what_is_told_early_is_told_at_the_end(name: str) -> None:
    """No choice of another package changes what a rule told once those were decided."""
    made = problem(golden(name), want=("vllm", "unsloth"))
    early = [each for each in made.relations if EVERYTHING in each.mentions - each.decided_by]
    assert early
    for package in made.order:
        for choice in made.domain(package, made.environment)[:12]:
            after = made.post.apply(made.environment, choice)
            for relation in early:
                if package not in relation.decided_by:
                    told = made.judge(relation, made.environment)
                    assert made.judge(relation, after) == told, (relation.key, choice.key)


def test_a_part_of_the_choices_breaks_no_more_than_all_of_them() -> None:
    made = problem(golden("linux-5090-torch26"), want=("vllm",))
    state = {name: keep(name) for name in made.order}
    whole = aftermath(made, state, made.environment)
    for depth in range(len(state)):
        some = dict(list(state.items())[:depth])
        left = made.packages_after(some)
        found = aftermath(made, some, made.environment, undecided=left)
        assert len(found.broken) <= len(whole.broken)
        assert not any(each.is_about(left) for each in found.broken)
