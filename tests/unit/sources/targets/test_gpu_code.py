"""Which GPUs extensions have code for, from what was read and what the matrix says."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.sources.targets.derived import derive
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment

CODE = {"8.0 9.0 9.0+PTX@8.4": "70"}


def lists(
    code: Any, *capabilities: Any, extension: str = "vllm.binary", **more: Any
) -> dict[str, Any]:
    """Return the derived facts of an extension; those that are not Known as they are."""
    facts = {f"{extension}.code": code, "gpu.count": len(capabilities)}
    facts |= more
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


VLLM = {"vllm.version": "0.8.5", "torch.version": "2.6.0"}


def test_code_of_what_a_package_does_without_is_missed_nowhere() -> None:
    found = lists({"9.0a": "5"}, "8.0", extension="vllm.fa3", **VLLM)
    assert {type(fact) for fact in found.values()} == {Absent}
    assert lists({"9.0a": "5"}, "8.0", extension="vllm.fa2", **VLLM) == {
        "runs_on": (), "no_code_for": ("8.0",), "jit_for": (), "jit_isa": ANY,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "torch", "extension", "optional"),
    [
        # On a GPU every operator asks whether _C was loaded: measured on an H200.
        ("0.0.35", "2.13.0", "binary", False),
        ("0.0.29", "2.5.1", "binary", False),
        ("0.0.28.post3", "2.5.1", "binary", False),
        ("0.0.28.post3", "2.5.1", "fa3", True),
        ("of my own", "2.5.1", "binary", False),
        # Its import needs a name of torch 2.5: it goes on without nothing there.
        ("0.0.32.post2", "2.4.1+cu121", "fa2", False),
        ("0.0.32.post2", "2.4.1+cu121", "fa3", False),
        ("0.0.32.post2", "2.5.0", "fa2", True),
        ("0.0.29.post3", "2.4.1", "fa2", True),
        ("0.0.29.post3", "2.3.1", "fa2", False),
    ],
)
def test_what_xformers_does_without(
    version: str, torch: str, extension: str, *, optional: bool
) -> None:
    given = environment({"xformers.version": version, "torch.version": torch})
    found = derive(given, Matrix(load_knowledge().tables))
    assert (f"xformers.{extension}.optional" in found.facts) is optional


def test_what_xformers_does_without_is_not_known_without_torchs_version() -> None:
    given = environment({"xformers.version": "0.0.35"})
    found = derive(given, Matrix(load_knowledge().tables))
    assert isinstance(found.fact("xformers.fa2.optional"), Unknown)


def test_what_a_package_does_without_is_a_subject_of_its_own() -> None:
    """A rule that decides verdicts must not see it."""
    facts = {"xformers.version": "0.0.35", "xformers.fa3.file": "_C_flashattention3.so"}
    facts["torch.version"] = "2.10.0"
    found = derive(environment(facts), Matrix(load_knowledge().tables))
    optional = [each.bindings for each in found.subjects("optional_extension")]
    assert {"package": "xformers", "extension": "xformers.fa3"} in optional
    deciding = [each.bindings for each in found.subjects("extension")]
    assert {"package": "xformers", "extension": "xformers.fa3"} not in deciding


@pytest.mark.parametrize("code", [{"": "x"}, {"8.0": "-1"}, {"nonsense +PTX@": "1"}, {}])
def test_saved_facts_can_say_anything(code: dict[str, str]) -> None:
    assert lists(code, "8.0")["runs_on"] in ((), ("8.0",))


@pytest.mark.parametrize(("build", "optional"), [("cpu", True), ("pypi", False)])
def test_xformers_does_without_its_library_beside_a_torch_for_the_cpu(
    build: str, *, optional: bool
) -> None:
    facts = {"xformers.version": "0.0.35", "torch.version": "2.13.0", "torch.build": build}
    found = derive(environment(facts), Matrix(load_knowledge().tables))
    assert ("xformers.binary.optional" in found.facts) is optional
