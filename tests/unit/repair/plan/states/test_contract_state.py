"""Names that are asked for in vain, after a choice; and plans that bring two packages together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, remove
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.repair.plan.states.contract_state import (
    contract_packages,
    contracts_after,
    open_contracts,
)
from fadoctor.sources.targets.incompatible_pairs import pair_facts
from fadoctor.sources.targets.missing_names import is_wanted, tabled
from tests.unit.judging.engine.builders import environment
from tests.unit.repair.plan.problems import golden, session

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

NAME = "MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES"
GONE = {
    "asker": "trl", "asker_version": "0.17.0", "provider": "transformers",
    "provider_version": "5.23.0", "module": "transformers.models.auto.modeling_auto",
    "wanted": NAME, "asked": f"transformers.models.auto.modeling_auto:{NAME}",
    "place": "trl/x.py:1", "at_import": True, "breaks": ("from trl import DPOTrainer",),
}  # fmt: skip


def with_contract(base: Environment | None = None, **pair: Any) -> Environment:
    values = {f"contract[0].{name}": value for name, value in {**GONE, **pair}.items()}
    made = environment({"contract.count": 1, **values})
    facts = {**made.facts, **tabled(made.facts, 1)}
    if base is None:
        return msgspec.structs.replace(made, facts=facts)
    return msgspec.structs.replace(base, facts={**base.facts, **facts})


def install(package: str, version: str) -> Choice:
    return Choice(package, ChoiceKind.INSTALL, version, version, f"{package}=={version}")


def after(choices: list[Choice], **pair: Any) -> dict[str, Any]:
    found = with_contract(**pair)
    for choice in choices:
        facts = found.facts | contracts_after(found.facts, choice, session().matrix)
        found = msgspec.structs.replace(found, facts=facts)
    return dict(found.facts)


@pytest.mark.parametrize(
    ("choices", "kind"),
    [
        ([install("trl", "1.16.0")], Absent),
        ([install("transformers", "4.57.6")], Absent),
        ([install("trl", "0.19.0")], Known),
        ([install("transformers", "5.10.1")], Known),
        ([install("trl", "999.0")], Unknown),
        ([install("trl", "")], Unknown),
        ([remove("trl")], Absent),
        ([remove("trl"), install("transformers", "5.10.1")], Absent),
        ([install("transformers", "4.57.6"), install("transformers", "5.10.1")], Known),
        ([install("trl", "999.0"), install("transformers", "4.57.6")], Absent),
    ],
)
def test_tables_say_whether_a_name_is_still_asked_for_in_vain(
    choices: list[Choice], kind: type
) -> None:
    assert isinstance(after(choices)["contract[0].wanted"], kind)


def test_others_change_nothing() -> None:
    found = with_contract()
    assert contracts_after(found.facts, install("peft", "0.21.2"), session().matrix) == {}
    assert contract_packages(found) == {"trl", "transformers"}
    assert list(open_contracts(found)) == []


def test_facts_of_a_time_without_the_name_leave_it_open() -> None:
    found = after([install("trl", "1.16.0")], asked="")
    assert isinstance(found["contract[0].wanted"], Unknown)


def test_nobody_has_read_a_name_that_code_makes() -> None:
    found = with_contract(asked="transformers:nobody_knows_this")
    assert is_wanted(found.facts, "contract[0]", session().matrix) is None
    assert isinstance(found.facts["contract[0].upgrade"], Absent)


def test_the_tables_say_which_version_has_it_and_what_to_install() -> None:
    facts = with_contract().facts
    told, upgrade, other = (facts[f"contract[0].{name}"] for name in ("told", "upgrade", "other"))
    assert isinstance(told, Known)
    assert str(told.value).startswith("transformers has it up to 4.57.6; 5.23.0 is installed.")
    assert isinstance(upgrade, Known)
    assert str(upgrade.value).startswith("trl>=0.23.0")
    assert isinstance(other, Known)
    assert str(other.value).endswith("<=4.57.6")


def test_a_plan_brings_both_together() -> None:
    there: dict[str, str | int] = {
        "trl.version": "0.17.0", "trl.distribution": "trl",
        "transformers.version": "5.23.0", "transformers.distribution": "transformers",
        "gpu.count": 0, "gpu.visible_count": 0,
    }  # fmt: skip
    base = golden("linux-5090-torch26")
    known = {name: Known(value, "test") for name, value in there.items()}
    installed = base.fact("packages.installed")
    assert isinstance(installed, Known)
    assert isinstance(installed.value, dict)
    packages = {**installed.value, "trl": "0.17.0", "transformers": "5.23.0"}
    known["packages.installed"] = Known(packages, "test")
    broken = with_contract(msgspec.structs.replace(base, facts={**base.facts, **known}))
    plan = make_plan(broken, session(), PlannerRequest())
    assert {change.distribution for change in plan.changes} & {"trl", "transformers"}
    assert "imported-name-missing" not in plan.proof.errors


@pytest.mark.long
def test_a_plan_repairs_a_pair_that_the_table_knows() -> None:
    base = golden("linux-5090-torch26")
    installed = base.fact("packages.installed")
    assert isinstance(installed, Known)
    assert isinstance(installed.value, dict)
    there = {"trl": "1.10.0", "vllm": "0.31.0", "transformers": "5.23.0"}
    packages = {**installed.value, **there}
    given: dict[str, Any] = {"packages.installed": packages}
    for name in there:
        given |= {f"{name}.version": packages[name], f"{name}.distribution": name}
    facts = {**base.facts, **{name: Known(value, "test") for name, value in given.items()}}
    facts |= pair_facts(facts, session().matrix, ("trl",))
    plan = make_plan(msgspec.structs.replace(base, facts=facts), session(), PlannerRequest())
    # vLLM 0.31 loads CUDA 13, which this driver lacks: with 0.19.1 trl 1.10 matches
    moved = {change.distribution: change.after for change in plan.changes}
    assert moved["vllm"] == "0.19.1"
    assert "trl" not in moved
    assert plan.proof.errors == ()
