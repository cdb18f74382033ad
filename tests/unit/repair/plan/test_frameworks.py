"""Frameworks whose releases a table knows: what a resolver sees, the search sees."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.packages import FRAMEWORKS, PACKAGES, PLANNED
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.compatible_newest import Company
from fadoctor.repair.plan.states.requirements import satisfies
from fadoctor.sources.targets.derived import derive
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, problem, session, with_package
from tests.unit.repair.plan.test_planner import changed

H100 = "NVIDIA H100 80GB HBM3"
NEW, OLD = (H100, "9.0", "580.65.06"), (H100, "9.0", "535.129.03")


def needs_of(version: str) -> dict[str, str]:
    return session().candidates.helpers.needs("sglang", version)


@pytest.mark.parametrize(("gpu", "cuda"), [(NEW, "13"), (OLD, "12")])
def test_sglang_comes_with_what_its_release_requires(gpu: tuple[str, str, str], cuda: str) -> None:
    """It was left to the person: no table had its releases."""
    found = plan(start("empty", gpu), want=("sglang",))
    after = changed(found)
    needs = needs_of(after["sglang"])
    assert found.proof.clean
    assert all(satisfies(after[name], needs[name]) for name in needs.keys() & after.keys())
    assert {"torch", "transformers", "flashinfer-python"} <= after.keys()
    torch = {"version": Known(after["torch"].partition("+")[0], "test")}
    torch["platform"] = Known("linux_x86_64", "test")
    of_pypi = session().matrix.find("torch-releases", torch).cell("pypi_cuda")
    assert isinstance(of_pypi, Known)
    assert str(of_pypi.value).startswith(f"{cuda}.")


def test_an_older_driver_gets_an_older_sglang() -> None:
    new, old = (changed(plan(start("empty", gpu), want=("sglang",))) for gpu in (NEW, OLD))
    assert version_key(old["sglang"]) < version_key(new["sglang"])


def test_a_framework_that_goes_back_is_a_cost() -> None:
    there = with_package(start("torch 2.11", NEW), "sglang", "0.5.20", needs_of("0.5.20"))
    made = problem(there)
    releases = {each.version: each for each in session().candidates.listed.every("sglang")}
    assert made.lowers(releases["0.5.10"])
    assert not made.lowers(releases["0.5.22"])
    assert not made.lowers(Choice("torch", ChoiceKind.INSTALL, "2.1.0", "2.1.0"))


def test_sglang_needs_the_one_torch_that_its_kernels_are_compiled_for() -> None:
    """Broken before as it was, nothing asked for that torch."""
    there = with_package(start("torch 2.11", NEW), "sglang", "0.5.20", {"torch": "==2.13.0"})
    found = changed(plan(derive(there, session().matrix)))
    assert found["torch"].startswith("2.13.0") or version_key(found["sglang"]) > version_key("0.5")


def test_what_moves_along_is_a_release_that_fits_and_no_older_one() -> None:
    there = start("torch 2.6 with vision and audio", NEW)
    installed = {**fact_mapping(there.fact("packages.installed")), "lightning": "2.5.0"}
    facts = {**there.facts, "packages.installed": Known(installed, "test")}
    made = problem(msgspec.structs.replace(there, facts=facts))
    company = Company(made, made.environment, {}, {}, careful=False)
    found = company.newest("lightning", ">=2.5.0")
    assert found is not None
    assert version_key(found.version) >= version_key("2.5.0")
    assert company.newest("lightning", ">=9000") is None


def test_an_old_release_with_few_bounds_is_no_better() -> None:
    """unsloth 2024.12.12 asks for no torchvision: it was taken beside the newest torch."""
    found = changed(plan(start("empty", (H100, "9.0", "550.54.15")), want=("unsloth",)))
    assert version_key(found["unsloth"]) > version_key("2026.1")
    assert found["torchvision"].endswith(found["torch"].partition("+")[2])


@pytest.mark.parametrize("package", FRAMEWORKS)
def test_a_table_has_the_releases_of_every_framework(package: str) -> None:
    assert package in PLANNED
    found = session().candidates.listed.every(package)
    assert found
    assert all("torch" in fact_mapping(each.facts[f"{package}.requires"]) for each in found)


@pytest.mark.parametrize("package", FRAMEWORKS)
def test_every_framework_can_be_asked_for(package: str) -> None:
    found = plan(start("torch 2.11", NEW), want=(package,))
    assert PACKAGES[package][0] in changed(found)
