"""One rule: its outcomes, its subjects, and evidence that overrules it."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.environment import SUBJECT_LIMIT
from fadoctor.model.packages import PACKAGES
from tests.unit.judging.engine.builders import ABSENT, UNREAD, judgements, outcomes, rule, table

OLD: dict[str, Any] = {"when": {"driver.version": {"below": "525"}}}
FLOORS = table(
    "floors",
    {"cuda": "word", "os": "word"},
    {"driver": "version"},
    [
        {"cuda": "12", "os": "linux", "driver": "525.60.13"},
        {"cuda": "13", "os": "linux", "driver": {"unknown": "nobody has measured it"}},
        {"cuda": "11", "os": "linux", "driver": "450.80.02", "verified": "unverified"},
        {"cuda": "10", "os": "linux"},
    ],
)
BELOW_FLOOR = rule(
    rows={"floor": {"table": "floors", "cuda": "torch.cuda.major", "os": "host.os"}},
    when={"driver.version": {"below": "$floor.driver"}},
)


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        ("470.82.01", "fail"),
        ("550.54", "pass"),
        (ABSENT, "not_applicable"),
        (UNREAD, "unknown"),
        ("unparsable", "unknown"),
    ],
)
def test_outcomes(driver: Any, expected: str) -> None:
    assert outcomes(rule(**OLD), {"driver.version": driver}) == {"environment": expected}


def test_what_no_probe_has_looked_at_is_unknown() -> None:
    [found] = judgements(rule(**OLD), {})
    assert (found.outcome.value, found.reason) == ("unknown", "it was not read")


def test_the_reason_of_an_unknown_is_that_of_the_fact() -> None:
    [found] = judgements(rule(**OLD), {"driver.version": UNREAD})
    assert found.reason == "could not be read"
    [found] = judgements(rule(**OLD), {"driver.version": "unparsable"})
    assert found.reason == "two values cannot be compared"


@pytest.mark.parametrize(
    ("cuda", "os", "expected"),
    [
        ("12.4", "linux", "fail"),
        ("13.0", "linux", "unknown"),  # the cell says so
        ("11.8", "linux", "unknown"),  # the row is not verified
        ("10.2", "linux", "unknown"),  # the cell is blank
        ("9.2", "linux", "unknown"),  # no row
        (ABSENT, "linux", "not_applicable"),
        (UNREAD, "linux", "unknown"),
        ("12.4", ABSENT, "not_applicable"),
    ],
)
def test_a_row_answers_by_its_keys(cuda: Any, os: Any, expected: str) -> None:
    facts = {"torch.cuda": cuda, "host.os": os, "driver.version": "440.33"}
    assert outcomes(BELOW_FLOOR, facts, FLOORS) == {"environment": expected}


@pytest.mark.parametrize(
    ("driver", "compat", "expected"),
    [
        ("470.82", True, "pass"),
        ("470.82", False, "fail"),
        ("470.82", UNREAD, "fail"),
        ("470.82", ABSENT, "fail"),
        (UNREAD, True, "pass"),
        (UNREAD, UNREAD, "unknown"),
        ("550.54", UNREAD, "pass"),
        (ABSENT, True, "not_applicable"),
    ],
)
def test_only_sure_evidence_overrules(driver: Any, compat: Any, expected: str) -> None:
    overruled = rule(**OLD, overruled_by={"driver.forward_compat": True})
    facts = {"driver.version": driver, "driver.forward_compat": compat}
    assert outcomes(overruled, facts) == {"environment": expected}


def test_the_evidence_that_overrules_is_not_evidence_of_a_failure() -> None:
    overruled = rule(**OLD, overruled_by={"driver.forward_compat": True})
    [found] = judgements(overruled, {"driver.version": "470", "driver.forward_compat": False})
    assert list(found.scope.read) == ["driver.version"]


PER_GPU = rule(for_each=["gpu"], when={"gpu.compute_capability": {"below": "8.0"}})


def gpus(*capabilities: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"gpu.count": len(capabilities)}
    for index, capability in enumerate(capabilities):
        facts[f"gpu[{index}].compute_capability"] = capability
    return facts


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (gpus(), {"gpu": "not_applicable"}),
        ({"gpu.count": None}, {"gpu": "not_applicable"}),
        (gpus("7.0"), {"gpu[0]": "fail"}),
        (gpus("8.0", "7.5"), {"gpu[0]": "pass", "gpu[1]": "fail"}),
        (gpus(UNREAD, ABSENT), {"gpu[0]": "unknown", "gpu[1]": "not_applicable"}),
        ({"gpu.count": 1}, {"gpu[0]": "unknown"}),
        ({"gpu.count": UNREAD}, {"gpu": "unknown"}),
        ({}, {"gpu": "unknown"}),
        ({**gpus("8.0"), "gpu[1].compute_capability": "7.0"}, {"gpu[0]": "pass"}),
    ],
)
def test_a_rule_is_judged_for_each_gpu(facts: dict[str, Any], expected: dict[str, str]) -> None:
    assert outcomes(PER_GPU, facts) == expected


@pytest.mark.parametrize("count", ["2", -1, ("gpu",), {"a": "b"}])
def test_a_count_that_is_no_count_is_unknown(count: Any) -> None:
    assert outcomes(PER_GPU, {"gpu.count": count}) == {"gpu": "unknown"}


def test_an_absurd_count_is_bounded() -> None:
    assert len(outcomes(PER_GPU, {"gpu.count": 10**15})) == SUBJECT_LIMIT


def test_the_reason_of_an_unknown_count_is_told() -> None:
    [found] = judgements(PER_GPU, {"gpu.count": UNREAD})
    assert found.reason == "could not be read"
    assert list(found.scope.unknown_facts()) == ["gpu.count"]


PER_PACKAGE = rule(for_each=["package"], when={"package.missing_files": {"at_least": 1}})
NO_PACKAGES: dict[str, Any] = dict.fromkeys(f"{name}.version" for name in PACKAGES)


def test_a_rule_is_judged_for_each_package_under_its_distribution_name() -> None:
    facts = {
        **NO_PACKAGES,
        "torch.version": "2.6.0",
        "torch.missing_files": 3,
        "flashinfer.version": "0.2",
        "flashinfer.distribution": "flashinfer",
        "flashinfer.missing_files": 0,
        "flash_attn_3.version": UNREAD,
    }
    assert outcomes(PER_PACKAGE, facts) == {
        "torch": "fail",
        "flash-attn-3": "unknown",
        "flashinfer": "pass",
    }


def test_without_packages_nothing_is_judged() -> None:
    assert outcomes(PER_PACKAGE, NO_PACKAGES) == {"package": "not_applicable"}


PER_EXTENSION = rule(
    for_each=["extension"],
    affects={"extension": True},
    when={"extension.failure": "undefined-symbol", "package.loads": False},
)


def test_a_rule_is_judged_for_each_extension_of_each_package() -> None:
    facts = {
        **NO_PACKAGES,
        "torch.version": "2.6.0",
        "torch.binary.failure": None,
        "numpy.version": "2.0",
        "xformers.version": "0.0.30",
        "xformers.loads": False,
        "xformers.binary.failure": "truncated",
        "xformers.fa2.failure": UNREAD,
        "xformers.fa3.failure": "undefined-symbol",
    }
    assert outcomes(PER_EXTENSION, facts) == {
        "torch": "not_applicable",
        "xformers": "pass",
        "xformers (fa2)": "unknown",
        "xformers (fa3)": "fail",
    }


PER_PAIR = rule(
    for_each=["gpu", "extension"],
    when={"extension.no_code_for": {"contains": "$gpu.compute_capability"}},
)


def test_a_rule_can_be_judged_for_each_pair() -> None:
    packages = {**NO_PACKAGES, "triton.version": "3.4.0", "triton.binary.no_code_for": ("7.0",)}
    facts = {**packages, **gpus("8.0", "7.0")}
    assert outcomes(PER_PAIR, facts) == {"triton on gpu[0]": "pass", "triton on gpu[1]": "fail"}


def test_a_pair_of_which_one_is_not_there() -> None:
    packages = {**NO_PACKAGES, "triton.version": "3.4.0", "triton.binary.no_code_for": ("7.0",)}
    assert outcomes(PER_PAIR, {**packages, **gpus()}) == {"extension on gpu": "not_applicable"}
    assert outcomes(PER_PAIR, {**packages, "gpu.count": UNREAD}) == {"extension on gpu": "unknown"}
    nobody = {**NO_PACKAGES, "gpu.count": UNREAD}
    assert outcomes(PER_PAIR, nobody) == {"extension on gpu": "not_applicable"}


def test_the_subject_of_a_rule_is_its_own() -> None:
    about_torch = rule(subject="torch", when={"torch.cuda": {"present": True}})
    assert outcomes(about_torch, {"torch.cuda": "12.4"}) == {"torch": "fail"}
