"""Packages that do not go together, though no requirement says so."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.repair.plan.choices.name_bounds import NameBounds
from fadoctor.repair.plan.states.requirements import violations, with_pairs
from fadoctor.sources.targets.incompatible_pairs import pair_facts, paired_with
from tests.unit.judging.engine.builders import UNREAD, environment

MATRIX = Matrix(load_knowledge().tables)
BOUNDS = NameBounds(MATRIX)


def told(trl: Any, installed: Any) -> Fact:
    facts = {"trl.version": trl, "trl.distribution": "trl", "packages.installed": installed}
    return pair_facts(environment(facts).facts, MATRIX, ("trl",))["trl.pair_told"]


def test_a_version_outside_of_what_a_package_names() -> None:
    found = told("1.16.0", {"trl": "1.16.0", "vllm": "0.33.0"})
    assert isinstance(found, Known)
    assert found.value == {"vllm": "(it supports >=0.22.0,<=0.31.0, but 0.33.0 is installed)"}


def test_what_fits_what_is_not_there_and_what_does_not_look() -> None:
    assert isinstance(told("1.16.0", {"vllm": "0.31.0"}), Absent)
    assert isinstance(told("1.16.0", {}), Absent)
    assert isinstance(told("0.23.1", {"vllm": "0.11.2"}), Absent)
    assert isinstance(told("0.13.0", {"vllm": "0.33.0"}), Absent)


@pytest.mark.parametrize(
    ("trl", "vllm", "warned"),
    [
        ("0.24.0", "0.11.0", True),
        ("0.24.0", "0.12.0", False),
        ("0.23.1", "0.12.0", False),
        ("1.16.0", "0.33.0", True),
        ("1.16.0", "0.9.2", False),
    ],
)
def test_who_only_warns_is_told_apart(trl: str, vllm: str, *, warned: bool) -> None:
    facts = {"trl.version": trl, "trl.distribution": "trl", "packages.installed": {"vllm": vllm}}
    found = pair_facts(environment(facts).facts, MATRIX, ("trl",))
    assert isinstance(found["trl.pair_told"], Known)
    assert isinstance(found["trl.pair_warned"], Known) is warned


def test_a_name_that_is_asked_of_vllm_bounds_a_trl_that_looks_for_no_version() -> None:
    known = told("0.23.1", {"vllm": "0.33.0"})
    assert isinstance(known, Known)
    assert known.value == {"vllm": "(it supports <0.12.0, but 0.33.0 is installed)"}


def test_what_nobody_has_read_is_not_known() -> None:
    assert isinstance(told("1.17.0", {"vllm": "0.33.0"}), Unknown)
    assert isinstance(told("1.17.0", {}), Absent)
    assert isinstance(told("1.16.0", UNREAD), Unknown)
    assert isinstance(told(UNREAD, {"vllm": "0.33.0"}), Unknown)


def test_a_plan_makes_no_such_pair() -> None:
    """Without it a plan could bring a vLLM that the trl which is there does not know."""
    bad = environment({"packages.installed": {"trl": "1.16.0", "vllm": "0.33.0"}})
    both = with_pairs({"trl": {"accelerate": ""}}, bad, MATRIX, BOUNDS)
    assert both["trl"] == {"accelerate": "", "vllm": ">=0.22.0,<=0.31.0"}
    assert "vllm" in [each.needs for each in violations(bad, both)]
    fine = environment({"packages.installed": {"trl": "1.16.0", "vllm": "0.31.0"}})
    needs = [each.needs for each in violations(fine, with_pairs({}, fine, MATRIX, BOUNDS))]
    assert needs == []


def other(trl: str, vllm: str) -> object:
    facts = {"trl.version": trl, "trl.distribution": "trl", "packages.installed": {"vllm": vllm}}
    found = pair_facts(environment(facts).facts, MATRIX, ("trl",))["trl.pair_other"]
    return found.value if isinstance(found, Known) else None


def test_the_newest_release_that_goes_with_what_is_there() -> None:
    assert other("0.24.0", "0.11.0") == "trl>=0.27.0,<1.0.0rc1"
    assert other("0.26.2", "0.25.1") == "trl>=1.16.0,<1.17.0.dev0"
    assert other("1.16.0", "0.12.0") == "trl>=1.6.0,<1.7.0"
    assert other("1.16.0", "0.33.0") is None
    assert other("1.16.0", "0.31.0") is None


def test_who_is_asked_again_when_vllm_moves() -> None:
    assert paired_with({"vllm"}, MATRIX) == ("unsloth", "trl", "sglang")


@pytest.mark.parametrize(
    ("deepspeed", "torch", "is_unfit"),
    [("0.14.0", "2.4.0", True), ("0.14.3", "2.6.0+cu124", True), ("0.14.3", "2.3.1+cu121", False),
     ("0.14.4", "2.4.0", False), ("0.19.8", "1.13.1", False)],
)  # fmt: skip
def test_a_deepspeed_that_imports_what_a_newer_torch_lacks(
    deepspeed: str, torch: str, *, is_unfit: bool
) -> None:
    """Its import fails, and nothing was said; a newer release goes with every torch."""
    facts = {"deepspeed.version": deepspeed, "deepspeed.distribution": "deepspeed",
             "packages.installed": {"deepspeed": deepspeed, "torch": torch}}  # fmt: skip
    found = pair_facts(environment(facts).facts, MATRIX, ("deepspeed",))
    assert isinstance(found["deepspeed.pair_told"], Known) is is_unfit
    newer = found["deepspeed.pair_other"]
    assert (isinstance(newer, Known) and newer.value == "deepspeed>=0.14.4") is is_unfit


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"packages.installed": {"transformers": "4.52.3"}}, "trl>=0.18.0,<0.29.0"),
        (
            {"packages.installed": UNREAD, "packages.named": {"transformers": "4.52.3"}},
            "trl>=0.18.0,<0.29.0",
        ),
        ({"packages.installed": {"transformers": "4.38.0"}}, None),
        # the imports of installed sources were followed: they tell more than a table
        ({"packages.installed": {"transformers": "4.52.3"}, "contract.count": 0}, None),
    ],
)
def test_a_release_that_imports_what_another_no_longer_has(
    facts: dict[str, Any], expected: str | None
) -> None:
    trl = {"trl.version": "0.7.11", "trl.distribution": "trl"}
    found = pair_facts(environment({**trl, **facts}).facts, MATRIX, ("trl",))
    other = found["trl.pair_other"]
    assert (other.value if isinstance(other, Known) else None) == expected
    assert "trl" in paired_with(("transformers",), MATRIX)


def test_in_a_plan_a_missing_name_breaks_a_requirement_and_is_no_pair() -> None:
    """With what had to follow still to come, each state looked unfit, and the search was lost."""
    facts = {"peft.version": "0.17.1", "peft.distribution": "peft",
             "packages.installed": {"transformers": "5.17.0"}}  # fmt: skip
    before = environment(facts).facts
    assert isinstance(pair_facts(before, MATRIX, ("peft",))["peft.pair_told"], Known)
    state = pair_facts(before, MATRIX, ("peft",), is_state=True)
    assert isinstance(state["peft.pair_told"], Absent)
    told = {**before, "peft.pair_told": Known({"transformers": "(5.16.0)"}, "before")}
    assert isinstance(pair_facts(told, MATRIX, ("peft",), is_state=True)["peft.pair_told"], Known)
