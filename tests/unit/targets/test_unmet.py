"""What an installed package requires and is not met."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.matrix.load import load_knowledge
from fadoctor.matrix.query import Matrix
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.targets.unmet import unmet_requirements
from tests.unit.engine.builders import ABSENT, UNREAD, environment

FA4 = {
    "flash_attn_4.version": "4.0.0b36",
    "flash_attn_4.requires": {"nvidia-cutlass-dsl": ">=4.6.2", "einops": "", "torch": ""},
    "torch.build": "pypi",
}


def unmet(facts: dict[str, Any], package: str = "flash_attn_4") -> dict[str, Fact]:
    matrix = Matrix(load_knowledge().tables)
    found = unmet_requirements(environment(facts).facts, matrix, (package,))
    return {name.removeprefix(f"{package}."): fact for name, fact in found.items()}


def values(found: dict[str, Fact]) -> dict[str, object]:
    return {name: fact.value for name, fact in found.items() if isinstance(fact, Known)}


def test_what_is_missing_and_what_is_too_old() -> None:
    found = unmet({**FA4, "packages.installed": {"nvidia-cutlass-dsl": "4.2.0", "torch": "2.14.0"}})
    assert values(found) == {
        "unmet": {
            "nvidia-cutlass-dsl": "(>=4.6.2, 4.2.0 is installed)",
            "einops": "(not installed)",
        },
        "unmet_alone": ("nvidia-cutlass-dsl>=4.6.2", "einops"),
        "missing": ("einops",),
    }


def test_what_another_rule_speaks_of_is_not_said_twice() -> None:
    facts = {"vllm.version": "0.33.0", "vllm.requires": {"transformers": ">=5.5"}}
    found = unmet({**facts, "packages.installed": {"transformers": "4.57.1"}}, "vllm")
    assert values(found) == {"unmet": {"transformers": "(>=5.5, 4.57.1 is installed)"}}
    found = unmet({**facts, "packages.installed": {}}, "vllm")
    assert values(found)["unmet_alone"] == ("transformers>=5.5",)


@pytest.mark.parametrize(
    "there",
    [
        {"nvidia-cutlass-dsl": "4.6.2", "einops": "0.8", "torch": "2.14.0"},
        {"nvidia-cutlass-dsl": "an own build", "einops": "0.8", "torch": "2.14.0"},
    ],
)
def test_all_is_met(there: dict[str, str]) -> None:
    found = unmet({**FA4, "packages.installed": there})
    assert {type(fact) for fact in found.values()} == {Absent}


def test_another_distribution_can_stand_in() -> None:
    facts = {"torch.version": "2.8.0", "torch.requires": {"triton": "==3.4.0"}}
    found = unmet({**facts, "packages.installed": {"pytorch-triton": "3.4.0+git"}}, "torch")
    assert values(found) == {}


def test_an_own_torch_is_newer_than_its_name() -> None:
    facts = {"xformers.version": "0.0.29", "xformers.requires": {"torch": "==2.6.0"}}
    there = {"packages.installed": {"torch": "2.6.0a0+nv24"}, "torch.build": "other"}
    assert values(unmet({**facts, **there}, "xformers")) == {}


def test_conda_has_names_of_its_own() -> None:
    conda = {"flash_attn_4.installer": "conda", "packages.installed": {}}
    assert values(unmet({**FA4, **conda})) == {}


@pytest.mark.parametrize("lost", ["packages.installed", "flash_attn_4.requires"])
def test_what_nobody_could_read_is_unknown(lost: str) -> None:
    found = unmet({**FA4, "packages.installed": {}, lost: UNREAD})
    assert {type(fact) for fact in found.values()} == {Unknown}


def test_a_package_that_is_not_there_requires_nothing() -> None:
    assert unmet({"packages.installed": {}, "flash_attn_4.version": ABSENT}) == {}
    assert unmet(FA4) == {}  # facts of an older release, without the list
