"""What comes along because others require it is one exact release, and all of it fits together."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.plan import PlanOutcome
from fadoctor.repair.plan.choices.helpers import Helpers
from fadoctor.repair.plan.choices.offers import offer
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, session

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15")


def newest(name: str, *specifiers: str, python: str = "3.12", **there: str) -> str:
    """Return the newest release of a helper."""
    environment = start("empty", A100, python)
    found = Helpers(session().matrix).fitting(
        name, environment, specifiers, {key.replace("_", "-"): there[key] for key in there}
    )
    return found[0].version if found else ""


def test_the_newest_that_everything_takes() -> None:
    assert newest("einops") == "0.8.2"
    assert newest("einops", "<0.8.2", ">=0.6") == "0.8.1"
    assert newest("einops", ">=99") == ""
    assert newest("nothing-that-is-known") == ""


def test_a_release_is_for_some_pythons() -> None:
    assert newest("trl", "<=1.15.0") == "1.15.0"
    assert newest("trl", "<=1.15.0", python="3.10") == "1.14.2"


def test_a_release_takes_what_is_there() -> None:
    """quack-kernels pins nvidia-cutlass-dsl, each release another one."""
    assert newest("quack-kernels", ">=0.5.3", nvidia_cutlass_dsl="4.6.0.dev0") == "0.5.3"
    assert newest("quack-kernels", nvidia_cutlass_dsl="4.6.2") == "0.6.4"


def test_transformers_does_not_set_an_old_torch_aside() -> None:
    """Its metadata says nothing of torch: an installer left alone takes one that disables torch."""
    assert newest("transformers", torch="2.4.1+cu121") == "5.14.1"
    assert version_part(newest("transformers", torch="2.0.1"), "major") == "4"


def test_the_torch_of_transformers_is_the_one_of_its_own_table() -> None:
    tables = session().matrix.tables
    rows = [row for row in tables["helper-releases"].rows if row["package"] == "transformers"]
    named = {
        version: cell_words(row.get("requires"))
        for row in rows
        for version in cell_words(row["version"])
    }  # fmt: skip
    for row in tables["transformers-releases"].rows:
        asked = [f"torch>={row['torch']}"] if isinstance(row.get("torch"), str) else []
        those = SpecifierSet(str(row["version"]))
        wrong = [each for each in named if each in those and list(named[each]) != asked]
        assert wrong == [], row


@pytest.mark.parametrize("want", ["flash-attn", "unsloth", "fa3", "fa4", "vllm"])
def test_plans_name_everything_exactly(want: str) -> None:
    gpu = ("NVIDIA H100 80GB HBM3", "9.0", "580.65.06")
    found = plan(start("empty", gpu), want=(want,))
    items = [item for action in found.actions for item in action.requirements]
    assert len(items) > 2
    assert [item for item in items if "==" not in item and " @ " not in item] == []
    pins = {each.name: str(each.specifier) for each in map(Requirement, items) if not each.url}
    assert not {"torch", "triton"} - pins.keys()


def test_a_release_that_a_rule_warns_of_is_left() -> None:
    """Each trl names the releases of vLLM that it works with, and no metadata says so."""
    found = plan(start("vLLM", ("NVIDIA H100 80GB HBM3", "9.0", "580.65.06")), want=("unsloth",))
    assert found.outcome is PlanOutcome.REPAIRS
    assert any(change.distribution == "trl" for change in found.changes)
    assert [action.text for action in found.actions if not action.argv] == []


def test_a_release_that_no_declared_range_takes() -> None:
    helpers = Helpers(session().matrix)
    assert helpers.refuses("ms-swift", "4.0.2", "trl", "1.10.0")
    assert not helpers.refuses("ms-swift", "4.0.2", "trl", "0.29.1")
    assert not helpers.refuses("ms-swift", "4.0.2", "torch", "2.10.0")
    assert not helpers.refuses("an-unread-package", "1.0", "trl", "1.10.0")


@pytest.mark.parametrize(("python", "is_elsewhere"), [("3.9", True), ("3.10", False)])
def test_a_release_that_a_fix_names_may_be_for_other_pythons(
    python: str, *, is_elsewhere: bool
) -> None:
    """bitsandbytes 0.50.2, which the fix of a rule names, is for Python 3.10 and newer."""
    choice = offer("bitsandbytes==0.50.2")
    assert choice is not None
    there = start("empty", A100, python)
    assert Helpers(session().matrix).is_elsewhere(choice, there) is is_elsewhere
