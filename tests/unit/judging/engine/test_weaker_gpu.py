"""GPUs beside better ones, and rules that weigh less where only the facts speak."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.engine.judge import Assessment, judge
from fadoctor.knowledge.matrix.check import check_rule
from fadoctor.knowledge.matrix.check_condition import RuleNames
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.finding import Severity
from tests.unit.judging.engine.builders import UNREAD, assess, environment, knowledge, rule, shipped

WEAKER = "weaker-gpu-visible"

OLD = rule(
    "old-gpu",
    for_each=["gpu"],
    affects={"backends": ["fa2"]},
    when={"gpu.visible": True, "gpu.compute_capability": {"below": "8.0"}},
    explained_by=[WEAKER],
)
NEW = rule(
    "new-gpu",
    for_each=["gpu"],
    affects={"backends": ["fa2"]},
    when={"gpu.visible": True, "gpu.compute_capability": {"at_least": "12.0"}},
)
ROOT = rule(
    WEAKER,
    severity="warning",
    for_each=["gpu"],
    when={"gpu.outdone_by": {"present": True}},
    message="{gpu.name} beside {gpu.outdone_by}: {gpu.selection}",
)


def machine(*capabilities: str, **more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"gpu.count": len(capabilities)}
    for index, capability in enumerate(capabilities):
        facts[f"gpu[{index}].name"] = f"card {capability}"
        facts[f"gpu[{index}].vendor"] = "nvidia"
        facts[f"gpu[{index}].visible"] = True
        facts[f"gpu[{index}].compute_capability"] = capability
    return facts | more


def shown(found: Assessment) -> list[tuple[str, str, str]]:
    return [(each.severity.value, each.rule_id, each.subject) for each in found.findings]


def test_what_another_gpu_does_without_is_a_warning_about_being_visible() -> None:
    found = assess(machine("8.9", "6.1"), OLD, NEW, ROOT)
    assert shown(found) == [("warning", WEAKER, "gpu[1]")]
    assert found.findings[0].consequences == ("old-gpu",)
    assert found.findings[0].message == "card 6.1 beside gpu[0] card 8.9: 0"


def test_without_the_rule_about_it_the_finding_itself_is_a_warning() -> None:
    assert shown(assess(machine("8.9", "6.1"), OLD, NEW)) == [("warning", "old-gpu", "gpu[1]")]


@pytest.mark.parametrize(
    "facts",
    [
        machine("6.1"),
        machine("6.1", "7.0"),  # it fails on both
        machine("12.0", "6.1"),  # the same backend fails on the other, for another reason
        machine("8.9", "6.1", **{"gpu[0].visible": False}),
        machine("8.9", "6.1", **{"gpu[0].compute_capability": UNREAD}),
        machine("8.9", "6.1", **{"gpu[0].vendor": "amd"}),
    ],
)
def test_an_error_without_a_gpu_that_works_stays_one(facts: dict[str, Any]) -> None:
    found = assess(facts, OLD, NEW, ROOT)
    severities = {severity for severity, rule_id, _ in shown(found) if rule_id == "old-gpu"}
    assert severities == {"error"}


def test_of_several_the_fit_ones_are_to_stay() -> None:
    found = assess(machine("6.1", "8.9", "7.0", "8.0"), OLD, NEW, ROOT)
    assert [each.message for each in found.findings] == [
        "card 6.1 beside gpu[1] card 8.9, gpu[3] card 8.0: 1,3",
        "card 7.0 beside gpu[1] card 8.9, gpu[3] card 8.0: 1,3",
    ]


def test_ordinals_count_the_gpus_of_one_maker() -> None:
    found = assess(machine("8.0", "8.9", "6.1", **{"gpu[0].vendor": "amd"}), OLD, NEW, ROOT)
    assert [each.message for each in found.findings] == ["card 6.1 beside gpu[1] card 8.9: 0"]


def test_one_gpu_leaves_nothing_undecided() -> None:
    assert assess(machine("8.9"), OLD, NEW, ROOT).unknown == ()
    uncounted = assess({"gpu.visible_count": 0}, ROOT)
    assert uncounted.unknown == ()


def test_each_error_about_a_gpu_is_explained_by_its_being_visible() -> None:
    forgotten = [
        each.id
        for each in shipped().rules
        if each.severity is Severity.ERROR and "gpu" in each.for_each and each.when
        if WEAKER not in each.explained_by
    ]
    assert forgotten == []


MILD = rule(
    "mild",
    when={"host.os": "linux"},
    when_severity={"severity": "warning", "unless": {"torch.version": {"below": "2.0"}}},
)


@pytest.mark.parametrize(
    ("torch", "severity"), [("1.13.1", "error"), ("2.8.0", "warning"), (None, "warning")]
)
def test_facts_weigh_less_unless_they_surely_do_not(torch: str | None, severity: str) -> None:
    found = assess({"host.os": "linux", "torch.version": torch}, MILD)
    assert [each.severity.value for each in found.findings] == [severity]


def test_what_is_not_known_makes_no_error() -> None:
    found = assess({"host.os": "linux"}, MILD)
    assert [each.severity.value for each in found.findings] == ["warning"]
    always = rule("always", when={"host.os": "linux"}, when_severity={"severity": "note"})
    assert assess({"host.os": "linux"}, always).findings[0].severity is Severity.NOTE


@pytest.mark.parametrize(
    "keys",
    [
        {"when": {"host.os": "linux"}, "when_severity": {"severity": "error"}},
        {"when": {}, "when_severity": {"severity": "warning"}},
        {
            "when": {"host.os": "linux"},
            "when_severity": {"severity": "note", "unless": {"torch.verion": "2.8.0"}},
        },
    ],
)
def test_a_lower_severity_that_cannot_be_is_refused(keys: dict[str, Any]) -> None:
    tested = rule("some-rule", **keys)
    names = RuleNames(build_catalogue(), {}, [tested])
    problems = [place[:1] for place, _ in check_rule(tested, "some-rule", "area", names)]
    assert ("when_severity",) in problems


def test_judging_is_the_same_twice() -> None:
    facts = environment(machine("8.9", "6.1"))
    rules = knowledge(OLD, NEW, ROOT)
    assert judge(facts, rules).findings == judge(facts, rules).findings
    assert "gpu[1].outdone_by" not in facts.facts


def test_whether_one_is_outdone_is_open_where_what_fails_on_it_is() -> None:
    """A blank in a table took the warning away instead of leaving it open."""
    facts = machine("8.9", "6.1") | {"gpu[1].compute_capability": UNREAD}
    found = assess(facts, OLD, NEW, ROOT)
    assert shown(found) == []
    assert (WEAKER, "gpu[1]") in {(each.rule_id, each.subject) for each in found.unknown}


def test_whether_one_is_outdone_is_open_where_the_other_was_not_read() -> None:
    """Regression: it was said that no other GPU does without the error."""
    facts = machine("8.9", "6.1") | {"gpu[0].compute_capability": UNREAD}
    found = assess(facts, OLD, NEW, ROOT)
    assert shown(found) == [("error", "old-gpu", "gpu[1]")]
    assert (WEAKER, "gpu[1]") in {(each.rule_id, each.subject) for each in found.unknown}
