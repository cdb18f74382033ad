"""Which GPUs extensions have code for, from what was read and what the matrix says."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.matrix.load import load_knowledge
from fadoctor.matrix.query import Matrix
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.targets.derived import derive
from tests.unit.engine.builders import ABSENT, UNREAD, environment

CODE = {"8.0 9.0 9.0+PTX@8.4": "70"}


def lists(code: Any, *capabilities: Any, extension: str = "vllm.binary") -> dict[str, Any]:
    """Return the derived facts of an extension; those that are not Known as they are."""
    facts = {f"{extension}.code": code, "gpu.count": len(capabilities)}
    facts |= {f"gpu[{i}].compute_capability": cc for i, cc in enumerate(capabilities)}
    found = derive(environment(facts), Matrix(load_knowledge().tables)).facts
    names = ("runs_on", "no_code_for", "jit_for", "jit_isa")
    given = {name: found.get(f"{extension}.{name}") for name in names}
    return {n: fact.value if isinstance(fact, Known) else fact for n, fact in given.items()}


@pytest.mark.parametrize(
    ("capability", "runs", "none", "jit"),
    [
        ("8.0", True, False, False),
        ("8.6", True, False, False),
        ("7.5", False, True, False),
        ("9.0", True, False, False),
        ("12.0", True, False, True),
        ("8.7", False, False, False),  # a Tegra: code for 8.0 may run there
    ],
)
def test_one_gpu(capability: str, runs: object, none: object, jit: object) -> None:
    found = lists(CODE, capability)
    assert found["runs_on"] == ((capability,) if runs else ())
    assert found["no_code_for"] == ((capability,) if none else ())
    assert found["jit_for"] == ((capability,) if jit else ())


def test_each_gpu_is_judged_alone() -> None:
    found = lists(CODE, "7.5", "12.0", "8.0", "8.0")
    assert found["runs_on"] == ("12.0", "8.0")
    assert (found["no_code_for"], found["jit_isa"]) == (("7.5",), "8.4")


def test_code_of_one_architecture_runs_there_alone() -> None:
    assert lists({"9.0a": "5"}, "9.0", "10.0")["no_code_for"] == ("10.0",)


def test_a_collection_of_kernels_runs_in_part() -> None:
    found = lists({"8.0": "30", "9.0": "3"}, "8.0", "9.0", "10.0")
    assert (found["runs_on"], found["no_code_for"]) == (("8.0", "9.0"), ("10.0",))


def test_a_gpu_that_cannot_be_placed_is_in_no_list() -> None:
    found = lists(CODE, UNREAD, ABSENT, "99.9", "8.0")
    assert (found["runs_on"], found["no_code_for"]) == (("8.0",), ())


@pytest.mark.parametrize("code", [UNREAD, ABSENT])
def test_what_was_not_read_gives_nothing(code: Unknown | Absent) -> None:
    assert set(lists(code, "8.0").values()) == {code}


def test_a_kernel_made_for_hopper_alone_is_missed_nowhere() -> None:
    found = lists({"9.0a": "5"}, "8.0", extension="vllm.fa3")
    assert {type(fact) for fact in found.values()} == {Absent}


@pytest.mark.parametrize("code", [{"": "x"}, {"8.0": "-1"}, {"nonsense +PTX@": "1"}, {}])
def test_saved_facts_can_say_anything(code: dict[str, str]) -> None:
    assert lists(code, "8.0")["runs_on"] in ((), ("8.0",))
