"""Facts about compiled extensions after a plan: void, decided by labels, or known from tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.model.catalogue import find_spec
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.plan import PlanOutcome
from fadoctor.repair.plan.states.compiled import (
    AFTER,
    beside_other_torch,
    by_label,
    is_damaged,
    without_variables,
)
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import golden, plan, session

if TYPE_CHECKING:
    from collections.abc import Mapping

READ = {
    "flash_attn.loads": False,
    "flash_attn.binary.file": "$site/flash_attn_2_cuda.so",
    "flash_attn.binary.failure": "undefined-symbol",
    "flash_attn.binary.cause": "torch-function",
    "flash_attn.binary.missing": "_ZN3c104cuda9SetDeviceEa",
    "flash_attn.binary.says": "undefined symbol: _ZN3c104cuda9SetDeviceEa",
    "torch.version": "2.7.0",
}
LABEL = {"flash_attn.wheel.torch": "2.8"}


def facts(*given: Mapping[str, Any], **more: Any) -> dict[str, Fact]:
    values = {name: value for each in given for name, value in each.items()}
    values |= {name.replace("__", "."): value for name, value in more.items()}
    return {name: fact_of(value) for name, value in values.items()}


def torch(version: str, cuda: str = "12.8") -> dict[str, Fact]:
    return facts(torch__version=version, torch__cuda=cuda, torch__cxx11_abi=True)


def test_files_that_are_not_there_yet_are_absent() -> None:
    found = dict(by_label("flash_attn"))
    assert {"flash_attn.loads", "flash_attn.binary.failure", "flash_attn.binary.runs_on"} <= set(
        found
    )
    assert (
        found.pop("flash_attn.binary.file") != by_label("torch")["torch.loads"]
    )  # it will be there
    assert all(isinstance(fact, Absent) for fact in found.values())
    assert "flash_attn.version" not in found


def test_a_label_decides_beside_another_torch() -> None:
    changed = beside_other_torch(facts(READ, LABEL), torch("2.8.0"))
    assert set(changed) == set(READ) - {"flash_attn.binary.file", "torch.version"}
    assert all(isinstance(fact, Absent) for fact in changed.values())


def test_without_a_label_nobody_knows() -> None:
    changed = beside_other_torch(facts(READ), torch("2.8.0"))
    assert isinstance(changed["flash_attn.loads"], Unknown)


def test_an_exact_requirement_is_a_label() -> None:
    given = facts(
        torch__version="2.8.0", xformers__loads=True, xformers__binary__file="_C.so",
        xformers__binary__failure=Absent("it loads"), xformers__requires={"torch": "==2.7.0"},
    )  # fmt: skip
    assert isinstance(beside_other_torch(given, torch("2.7.0"))["xformers.loads"], Absent)
    given["xformers.requires"] = Known({"torch": ">=2.4"}, "METADATA")
    assert isinstance(beside_other_torch(given, torch("2.7.0"))["xformers.loads"], Unknown)


def test_an_exact_requirement_says_nothing_of_another_cuda() -> None:
    """vLLM of CUDA 13 was kept beside a torch of CUDA 12 that an old driver takes, as proved."""
    given = facts(
        torch("2.11.0", "13.0"), vllm__loads=True, vllm__binary__file="_C.so",
        vllm__binary__failure=Absent("it loads"), vllm__requires={"torch": "==2.11.0"},
    )  # fmt: skip
    for version in ("2.11.0+cu126", "2.10.0"):
        assert isinstance(beside_other_torch(given, torch(version, "12.6"))["vllm.loads"], Unknown)
    assert isinstance(beside_other_torch(given, torch("2.12.0", "13.0"))["vllm.loads"], Absent)
    given["vllm.version"] = Known("0.20.0+cu129", "METADATA")
    named = beside_other_torch(given, torch("2.11.0+cu129", "12.9"))
    assert isinstance(named["vllm.loads"], Absent)


def test_of_a_server_that_is_not_there_yet_tables_say_the_cuda() -> None:
    """Regression: another release was planned than files ask for, because this one was unknown."""
    there = facts(vllm__version="0.6.3", vllm__requires={"torch": "==2.4.0"})
    given = facts(torch("2.4.0+cu118", "11.8")) | dict(by_label("vllm")) | there
    found = beside_other_torch(given, torch("2.4.0+cu124", "12.4"))
    assert isinstance(found["vllm.loads"], Absent)


def test_what_loads_goes_on_loading_beside_a_torch_that_is_alike() -> None:
    given = facts(READ, torch("2.8.0"), flash_attn__loads=True)
    assert beside_other_torch(given, torch("2.8.1+cu126", "12.6")) == {}
    assert beside_other_torch(given, torch("2.8.1+cu130", "13.0")) != {}
    assert beside_other_torch(given, torch("2.9.0")) != {}


def test_a_label_that_was_wrong_decides_nothing() -> None:
    """Another build of the torch for which it says it was made is no reason to believe it."""
    changed = beside_other_torch(facts(READ, LABEL, torch__version="2.8.0"), torch("2.8.0+cu126"))
    assert isinstance(changed["flash_attn.loads"], Unknown)


@pytest.mark.parametrize(
    "own", [{"failure": "truncated"}, {"failure": "missing-version", "cause": "glibc"}]
)
def test_what_another_torch_does_not_change_stays(own: dict[str, str]) -> None:
    given = facts(READ, LABEL, {f"flash_attn.binary.{name}": v for name, v in own.items()})
    assert beside_other_torch(given, torch("2.8.0")) == {}


def test_unset_variables_void_what_they_did() -> None:
    found_by = {"flash_attn.binary.found_by": "LD_LIBRARY_PATH"}
    given = facts(READ, LABEL, found_by)
    assert without_variables(given, frozenset({"LD_PRELOAD"})) == {}
    changed = without_variables(given, frozenset({"LD_LIBRARY_PATH"}))
    assert isinstance(changed["flash_attn.binary.failure"], Absent)
    assert without_variables(facts(READ, LABEL), frozenset({"LD_LIBRARY_PATH"})) == {}


def test_without_pythonpath_the_environments_own_is_imported() -> None:
    hidden = {
        "packages.hidden": Known({"torch": "2.1.2 instead of 2.8.0"}, "test"),
        "packages.hidden_how": Known(("PYTHONPATH",), "test"),
        "torch.version": Known("2.1.2", "test"),
        "torch.build": Known("pypi", "test"),
        "torch.hidden_version": Known("2.8.0", "test"),
    }
    assert without_variables(hidden, frozenset({"PYTHONNOUSERSITE"})) == {}
    changed = without_variables(hidden, frozenset({"PYTHONPATH"}))
    assert isinstance(changed["packages.hidden"], Absent)
    version = changed["torch.version"]
    assert isinstance(version, Known)
    assert version.value == "2.8.0"
    assert isinstance(changed["torch.build"], Unknown)


def test_every_fact_is_one_of_the_catalogue() -> None:
    from fadoctor.model.catalogue import build_catalogue  # noqa: PLC0415 -- once

    catalogue = build_catalogue()
    names = [*by_label("vllm"), *READ, *LABEL, "flash_attn.binary.found_by"]
    assert [name for name in names if find_spec(catalogue, name) is None] == []


def test_what_is_broken_in_itself_is_installed_again() -> None:
    """The same release of torch is no repair, unless a library of its own is gone."""
    gone = {
        "torch.loads": False,
        "torch.binary.file": "$site/torch/_C.so",
        "torch.binary.failure": "missing-library",
        "torch.binary.cause": "torch-library",
        "torch.binary.missing": "libtorch_cuda.so",
        "torch.binary.wanted_by": "$site/torch/lib/libtorch_python.so",
    }
    assert is_damaged(facts(gone), "torch")
    assert not is_damaged(facts(READ), "flash_attn")
    before = golden("linux-a100-healthy", **gone)
    here = before.fact("torch.version")
    found = plan(before)
    assert isinstance(here, Known)
    assert found.outcome is PlanOutcome.REPAIRS
    changes = [(each.distribution, each.after) for each in found.changes]
    assert changes == [("torch", here.value), ("sympy", "1.14.0")]  # it is older here
    assert [action.kind.value for action in found.actions] == ["uninstall", "install"]


def test_known_code_says_for_which_gpus_a_file_is() -> None:
    environment = golden("linux-a100-healthy")
    post = session().post
    some = session().candidates.flash_attn(environment)[0]
    after = post.apply(environment, some)
    assert after.fact("flash_attn.binary.runs_on") == Known(("8.0",), AFTER)
    assert after.fact("flash_attn.binary.no_code_for") == Known((), AFTER)


def test_what_loads_the_runtime_of_the_other_torch_and_takes_it_is_told() -> None:
    given = facts(
        torch__version="2.11.0", torch__cuda="13.0", xformers__loads=False,
        xformers__binary__file="_C.so", xformers__binary__failure="missing-library",
        xformers__requires={"torch": ">=2.10"},
        xformers__binary__needed=("libc10.so", "libcudart.so.12", "libc.so.6"),
    )  # fmt: skip
    there = torch("2.10.0") | {"torch.cuda": Known("12.8", "test")}
    assert isinstance(beside_other_torch(given, there)["xformers.loads"], Absent)
    too_old = torch("2.9.1") | {"torch.cuda": Known("12.8", "test")}
    assert isinstance(beside_other_torch(given, too_old)["xformers.loads"], Unknown)
    other = torch("2.12.0") | {"torch.cuda": Known("13.2", "test")}
    assert isinstance(beside_other_torch(given, other)["xformers.loads"], Unknown)
