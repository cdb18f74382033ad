"""Jetsons: no rule holds their driver against those of desktops, however the facts came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.judging.diagnose import Judged
from fadoctor.judging.engine.evaluate import evaluate
from fadoctor.judging.explain.join import surroundings
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.model.finding import Outcome
from fadoctor.model.overlays import Overlays
from fadoctor.sources.logs.facts import LogFacts
from fadoctor.sources.targets.derived import derive
from fadoctor.sources.targets.overlay import apply_overlays
from tests.unit.judging.engine.builders import environment, shipped

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.rule import Rule

# JetPack 4, 5, 6 and 7, and a driver of another family that someone might name
DRIVERS = ("32.7.1", "34.1.1", "35.4.1", "540.4.0", "580.00", "470.82.01", "610.43.02")

STACK: dict[str, Any] = {
    "host.os": "linux",
    "host.platform": "linux_aarch64",
    "torch.version": "2.11.0",
    "torch.distribution": "torch",
    "torch.cuda": "13.0",
    "torch.build": "pypi",
    "triton.version": "3.6.0",
    "triton.distribution": "triton",
    "flash_attn.version": "2.8.1",
    "flash_attn.distribution": "flash-attn",
    "driver.kernel_module": "open",
    "driver.library_version": "540.4.0",
    "driver.forward_compat": False,
}


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(shipped().tables)


def _tegras() -> list[str]:
    return [str(row["cc"]) for row in shipped().tables["architectures"].rows if row["tegra"]]


def _about_drivers() -> list[Rule]:
    return [rule for rule in shipped().rules if "driver.version" in repr(rule.when)]


def _machine(capability: str, driver: str, **more: Any) -> Environment:
    gpu = {"gpu.count": 1, "gpu[0].compute_capability": capability, "gpu[0].visible": True}
    return environment(STACK | gpu | {"driver.version": driver} | more)


def test_there_are_such_rules_and_such_gpus() -> None:
    found = {rule.id for rule in _about_drivers()}
    wanted = {"driver-too-old", "driver-too-new-for-gpu", "driver-too-old-for-gpu"}
    assert found >= wanted | {"triton-driver-too-old", "flash-attn-driver-too-old"}
    assert set(_tegras()) >= {"5.3", "6.2", "7.2", "8.7", "11.0"}


@pytest.mark.parametrize("driver", DRIVERS)
def test_no_rule_compares_the_driver_of_a_jetson(driver: str, matrix: Matrix) -> None:
    rules = [rule for rule in _about_drivers() if rule.id != "torch-other-vendor"]
    for capability in ("5.3", "6.2", "7.2", "8.7", "11.0"):
        machine = derive(_machine(capability, driver), matrix)
        for rule in rules:
            outcomes = {each.outcome for each in evaluate(rule, machine, matrix)}
            assert not outcomes & {Outcome.FAIL, Outcome.UNKNOWN}, (rule.id, capability)


def test_its_number_stands_under_a_name_of_its_own(matrix: Matrix) -> None:
    found = derive(_machine("11.0", "580.00"), matrix)
    assert found.fact("driver.tegra") == Known("580.00", "test")
    assert isinstance(found.fact("driver.version"), Absent)
    assert derive(found, matrix).facts == found.facts


def test_the_machine_tells_where_no_gpu_could_be_read(matrix: Matrix) -> None:
    facts = {"driver.version": "35.4.1", "host.tegra": True}
    assert isinstance(derive(environment(facts), matrix).fact("driver.version"), Absent)
    plain = derive(environment(facts | {"host.tegra": False}), matrix)
    assert plain.fact("driver.version") == Known("35.4.1", "test")


def test_a_card_in_a_jetson_board_has_the_drivers_of_cards(matrix: Matrix) -> None:
    found = derive(_machine("8.6", "535.113.01", **{"host.tegra": True}), matrix)
    assert found.fact("driver.version") == Known("535.113.01", "test")


def test_an_assumed_jetson_asks_for_no_driver(matrix: Matrix) -> None:
    empty = environment({})
    for overlays in (Overlays(gpu=("Thor",)), Overlays(gpu=("Thor",), driver="580.00")):
        found = derive(apply_overlays(empty, overlays, matrix), matrix)
        assert isinstance(found.fact("driver.version"), Absent)
    named = apply_overlays(empty, Overlays(gpu=("Orin",), driver="540.4.0"), matrix)
    assert isinstance(named.fact("driver.cuda"), Unknown)


def test_the_driver_that_a_log_of_a_jetson_names_is_its_own() -> None:
    machine = _machine("8.7", "540.4.0", **{"torch.cuda": "13.0"})
    named: dict[str, Fact] = {"driver.version": Known("541.0.0", "log")}
    around = surroundings(LogFacts(environment({}), named), Judged(machine, shipped()), shipped())
    assert isinstance(around.environment.fact("driver.version"), Absent)
    assert around.environment.fact("driver.tegra") == named["driver.version"]
