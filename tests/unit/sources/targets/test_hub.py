"""What transformers would take from the Hub, predicted before anything is downloaded or loaded."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.targets.hub import hub_facts
from tests.properties.worlds import knowledge

FLASH = "kernels-community/flash-attn2"
STABLE = "torch-stable-abi210-cu130-x86_64-linux"
V1 = "torch212-cxx11-cu130-x86_64-linux torch211-cxx11-cu130-x86_64-linux"
HERE: dict[str, Any] = {
    "transformers.version": "5.22.2", "kernels.version": "0.17.2", "torch.version": "2.13.0",
    "torch.cuda": "13.0", "torch.hip": None, "torch.cxx11_abi": True, "host.os": "linux",
    "host.machine": "x86_64", "hub.kernels": {f"{FLASH}@v4": STABLE}, "hub.models": {},
    "hub.archs": {f"{FLASH}@v4 {STABLE}": "8.0 9.0 10.0"}, "hub.offline": (), "hub.needs": {},
    "hub.metadata": {f"{FLASH}@v4 {STABLE}": "backend id license name python-depends version"},
}  # fmt: skip


def predicted(**other: Any) -> dict[str, Fact]:
    values = HERE | {key.replace("__", "."): value for key, value in other.items()}
    facts: dict[str, Fact] = {
        name: Absent("not there") if value is None else Known(value, "a test")
        for name, value in values.items()
    }
    return hub_facts(facts, Matrix(knowledge().tables))


def value(facts: dict[str, Fact], name: str) -> object:
    fact = facts[f"hub.fa2.{name}"]
    return fact.value if isinstance(fact, Known) else type(fact)


def test_the_build_for_the_stable_abi_is_taken() -> None:
    found = predicted()
    assert value(found, "repository") == FLASH
    assert value(found, "branch") == "v4"
    assert value(found, "build") == STABLE
    assert value(found, "archs") == ("8.0", "9.0", "10.0")


def test_what_the_metadata_of_the_build_say() -> None:
    found = predicted(hub__needs={f"{FLASH}@v4 {STABLE}": "einops nvidia-cutlass-dsl"})
    assert value(found, "needs") == ("einops", "nvidia-cutlass-dsl")
    assert value(found, "lacking") is Absent
    found = predicted(hub__metadata={f"{FLASH}@v4 {STABLE}": "backend id name version"})
    assert value(found, "lacking") == ("license", "python-depends")
    found = predicted(hub__metadata={})
    assert value(found, "lacking") == (
        "id",
        "name",
        "version",
        "license",
        "python-depends",
        "backend",
    )


def test_what_is_found_without_the_network() -> None:
    assert value(predicted(), "offline") is False
    assert value(predicted(hub__offline=(f"{FLASH}@v4",)), "offline") is True


def test_no_build_of_v1_is_for_this_torch() -> None:
    found = predicted(
        transformers__version="5.13.1", kernels__version="0.15.2", hub__kernels={f"{FLASH}@v1": V1}
    )
    assert value(found, "build") is Absent
    assert str(value(found, "refused")).startswith("torch212-cxx11-cu130-x86_64-linux: for torch 2")


@pytest.mark.parametrize(
    ("transformers", "torch", "branch"),
    [
        ("5.12.1", "2.13.0", "main"), ("5.15.1", "2.13.0", "v1"), ("5.21.1", "2.13.0", "v3"),
        ("5.23.0", "2.9.1", "v3"), ("5.23.0", "2.10.0", "v4"),
    ],
)  # fmt: skip
def test_which_branch(transformers: str, torch: str, branch: str) -> None:
    found = predicted(transformers__version=transformers, torch__version=torch)
    assert value(found, "branch") == branch


def test_an_older_kernels_looks_among_the_models() -> None:
    lying = {f"{FLASH}@main": "torch213-cxx11-cu130-x86_64-linux"}
    old = {"transformers__version": "5.12.1", "kernels__version": "0.12.3"}
    assert value(predicted(**old, hub__kernels=lying), "cached") is False
    found = predicted(**old, hub__models=lying)
    assert value(found, "build") == "torch213-cxx11-cu130-x86_64-linux"


def test_without_kernels_nothing_is_said() -> None:
    assert predicted(kernels__version=None) == {}


def test_a_torch_whose_abi_nobody_knows_decides_nothing() -> None:
    facts = {"torch.cxx11_abi": Unknown("not read", "a test")}
    known: dict[str, Fact] = {
        name: Absent("not there") if each is None else Known(each, "a test")
        for name, each in HERE.items()
    }
    found = hub_facts({**known, **facts}, Matrix(knowledge().tables))
    assert value(found, "build") is Unknown


def test_a_release_that_nobody_has_read_is_not_guessed() -> None:
    found = predicted(kernels__version="0.99.0")
    assert value(found, "cached") is Unknown
    assert value(found, "build") is Unknown


def test_without_a_cache_nothing_lies_in_it() -> None:
    assert value(predicted(hub__kernels=None), "cached") is False
