"""A rule is judged once for each combination of what it can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.matrix.query import Matrix
from fadoctor.plan.choice import Choice, Kind, keep
from fadoctor.plan.relations import EVERYTHING, Relations, heads_of, relations_of
from tests.unit.engine.builders import environment, rule

if TYPE_CHECKING:
    import pytest

PAIR = rule("pair", when={"torch.version": {"not": "$triton.version"}})
EACH = rule(
    "each", for_each=["package"], when={"package.requires.torch": {"violates": "$torch.version"}}
)
WHOLE = rule("whole", when={"packages.installed.tokenizers": {"present": False}})
LOADS = rule("loads", when={"flash_attn.loads": False})
NOTE = rule("note", severity="note", when={"torch.version": "2"})


def test_what_a_rule_can_read() -> None:
    heads = heads_of((PAIR, EACH, WHOLE, LOADS, NOTE))
    assert heads["pair"] == {"torch", "triton"}
    assert heads["each"] == {"torch"}
    assert heads["whole"] == {EVERYTHING}
    assert heads["loads"] == {"flash_attn", "torch"}  # whether it loads depends on torch
    assert "note" not in heads


def test_rules_for_each_package_are_one_relation_for_each() -> None:
    found = relations_of((EACH,), heads_of((EACH,)), ("torch", "peft"))
    assert {each.package: set(each.mentions) for each in found} == {
        "torch": {"torch"},
        "peft": {"torch", "peft"},
    }


def test_judged_once_for_each_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    [relation] = relations_of((PAIR,), heads_of((PAIR,)), ())
    relations = Relations((relation,), Matrix({}))
    facts = environment({"torch.version": "2", "triton.version": "3"})
    asked = []
    whole = relations._evaluate

    def counted(*arguments: object) -> object:
        asked.append(arguments)
        return whole(*arguments)  # type: ignore[arg-type] # passed through

    monkeypatch.setattr(relations, "_evaluate", counted)
    state = {"torch": keep("torch"), "triton": keep("triton"), "xformers": keep("xformers")}
    relations.judge(relation, facts, state)
    other = Choice("xformers", Kind.REMOVE, "remove")
    relations.judge(relation, facts, {**state, "xformers": other})
    assert len(asked) == 1
    relations.judge(relation, facts, {**state, "triton": Choice("triton", Kind.INSTALL, "3.4")})
    assert len(asked) == 2
