"""All rules together: findings in order, causes and consequences, rules that break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.judging.engine.judge import Assessment, judge, left_by
from fadoctor.model.finding import Evidence
from fadoctor.model.packages import EXTENSIONS
from fadoctor.model.place import Place
from tests.unit.judging.engine.builders import (
    ABSENT,
    UNREAD,
    assess,
    environment,
    knowledge,
    rule,
    table,
)

if TYPE_CHECKING:
    from fadoctor.model.rule import Rule

LINUX = {"host.os": "linux"}
NO_TEST: dict[str, Any] = {"any": [{}]}
"""A condition that holds without reading a fact."""


def ids(assessment: Assessment) -> list[str]:
    return [finding.rule_id for finding in assessment.findings]


def explained(assessment: Assessment) -> dict[str, tuple[str, ...]]:
    return {finding.rule_id: finding.consequences for finding in assessment.findings}


def after(rule_id: str, *causes: str, **keys: Any) -> Rule:
    return rule(rule_id, explained_by=list(causes), **keys)


def test_worst_and_surest_come_first() -> None:
    found = assess(
        LINUX,
        rule("note-high", severity="note"),
        rule("error-low", confidence="low"),
        rule("warning-high", severity="warning"),
        rule("error-b-high"),
        rule("error-a-high"),
    )
    assert ids(found) == ["error-a-high", "error-b-high", "error-low", "warning-high", "note-high"]


def test_the_same_rule_on_two_gpus_gives_two_findings_with_fingerprints_of_their_own() -> None:
    old = rule(for_each=["gpu"], when={"gpu.compute_capability": {"below": "8.0"}})
    facts = {
        "gpu.count": 3,
        "gpu[0].compute_capability": "7.0",
        "gpu[1].compute_capability": "8.0",
        "gpu[2].compute_capability": "7.5",
    }
    first, second = assess(facts, old).findings
    assert (first.subject, second.subject) == ("gpu[0]", "gpu[2]")
    assert first.fingerprint != second.fingerprint
    again = assess({**facts, "host.os": "linux"}, old).findings[0]
    assert again.fingerprint == first.fingerprint


def test_subjects_are_in_the_order_of_their_numbers() -> None:
    old = rule(for_each=["gpu"], when={"gpu.mig": True})
    facts = {"gpu.count": 11, **{f"gpu[{index}].mig": True for index in range(11)}}
    subjects = [finding.subject for finding in assess(facts, old).findings]
    assert subjects == [f"gpu[{index}]" for index in range(11)]


def test_evidence_is_what_was_read_with_its_source() -> None:
    found = assess(
        {"host.os": "linux", "host.libc": None, "host.wsl": UNREAD},
        rule(when={"host.os": "linux", "host.libc": {"present": False},
                   "any": [{"host.wsl": True}, {"host.os": "linux"}]}),
    )  # fmt: skip
    assert found.findings[0].evidence == (
        Evidence("host.os", "linux", "test"),
        Evidence("host.libc", None, "test"),
    )


def test_a_failure_without_evidence_is_an_error_of_the_rule() -> None:
    found = assess(LINUX, rule("reads-nothing", when=NO_TEST), rule("reads-something"))
    assert ids(found) == ["reads-something"]
    assert [each.rule_id for each in found.errors] == ["reads-nothing"]
    assert "without reading a fact" in found.errors[0].reason


def test_a_rule_that_only_logs_can_show_is_not_judged() -> None:
    found = assess(LINUX, rule("a-symptom", when={}), rule("b-rule"))
    assert [each.rule.id for each in found.judgements] == ["b-rule"]
    assert found.errors == ()


def test_a_rule_that_breaks_is_reported_and_the_others_go_on() -> None:
    endless = rule("a-endless", let={"a": ["b"], "b": ["a"]}, when={"a": "x"})
    no_table = rule("b-no-table", rows={"r": {"table": "nowhere"}}, when={"r.x": "y"})
    no_operator = rule("c-no-operator", when={"host.os": {"resembles": "linux"}})
    found = assess(LINUX, endless, no_table, no_operator, rule("z-healthy"))
    assert ids(found) == ["z-healthy"]
    reasons = {each.rule_id: each.reason.partition(":")[0] for each in found.errors}
    assert reasons == {
        "a-endless": "RecursionError",
        "b-no-table": "KeyError",
        "c-no-operator": "KeyError",
    }


def test_a_finding_that_cannot_be_written_out_is_an_error_of_its_rule() -> None:
    stepless = {"id": "fix", "title": "A fix", "steps": [{}]}
    found = assess(LINUX, rule("a-stepless", fixes=[stepless]), rule("z-healthy"))
    assert ids(found) == ["z-healthy"]
    assert [each.rule_id for each in found.errors] == ["a-stepless"]


def test_what_a_hidden_finding_explains_stands_on_its_own() -> None:
    found = assess(
        LINUX,
        rule("a-root"),
        rule("b-told", explained_by=["a-root"]),
        rule("c-told", explained_by=["b-told"]),
        rule("d-other"),
    )
    assert ids(found) == ["a-root", "d-other"]
    assert [each.rule_id for each in left_by(found, ("a-root",))] == ["b-told", "d-other"]
    assert left_by(found, ("a-root",))[0].consequences == ("c-told",)
    assert left_by(found, ("b-told",)) == found.findings, "only what is shown can be hidden"
    assert left_by(found, ()) == found.findings


def test_undecided_rules_say_what_would_settle_them() -> None:
    floors = table("floors", {"cuda": "word"}, {"driver": "version"}, [])
    waiting = rule(
        "a-waiting",
        subject="torch",
        rows={"floor": {"table": "floors", "cuda": "torch.cuda"}},
        when={"driver.version": {"below": "$floor.driver"}},
    )
    odd = rule("b-odd", when={"driver.version": {"below": "525"}})
    facts = {"torch.cuda": UNREAD, "driver.version": "custom"}
    first, second = assess(facts, waiting, odd, tables=[floors]).unknown
    assert (first.rule_id, first.subject, first.reason) == (
        "a-waiting",
        "torch",
        "could not be read",
    )
    assert first.needs == ("torch.cuda", "floors.driver")
    assert (second.needs, second.reason) == (("driver.version",), "two values cannot be compared")


def test_a_consequence_moves_into_its_cause() -> None:
    found = assess(
        LINUX, after("b-effect", "a-cause"), after("c-effect", "a-cause"), rule("a-cause")
    )
    assert explained(found) == {"a-cause": ("b-effect", "c-effect")}


@pytest.mark.parametrize(
    "cause", [{"host.os": "windows"}, {"host.libc": UNREAD}, {"env.CC": "gcc"}]
)
def test_a_cause_that_has_not_failed_explains_nothing(cause: dict[str, Any]) -> None:
    facts = {**LINUX, "env.CC": ABSENT, "host.libc": UNREAD}
    found = assess(facts, after("b-effect", "a-cause"), rule("a-cause", when=cause))
    assert explained(found) == {"b-effect": ()}


def test_a_chain_ends_at_its_root() -> None:
    found = assess(
        LINUX,
        after("c-last", "b-middle"),
        after("b-middle", "a-root"),
        rule("a-root"),
        rule("d-other"),
    )
    assert explained(found) == {"a-root": ("b-middle", "c-last"), "d-other": ()}


def test_a_broken_chain_ends_where_it_breaks() -> None:
    healthy = rule("a-root", when={"host.os": "windows"})
    found = assess(LINUX, after("c-last", "b-middle"), after("b-middle", "a-root"), healthy)
    assert explained(found) == {"b-middle": ("c-last",)}


def test_a_rule_cannot_explain_itself() -> None:
    assert explained(assess(LINUX, after("a-selfish", "a-selfish"))) == {"a-selfish": ()}


@pytest.mark.parametrize(
    "rules",
    [
        (after("a-hen", "b-egg"), after("b-egg", "a-hen")),
        (after("a-hen", "b-egg"), after("b-egg", "a-hen"), after("c-omelette", "b-egg")),
        (after("a-rock", "b-paper"), after("b-paper", "c-scissors"), after("c-scissors", "a-rock")),
    ],
)
def test_rules_that_explain_each_other_leave_a_finding(rules: tuple[Rule, ...]) -> None:
    found = assess(LINUX, *rules)
    named = {*ids(found), *(each for finding in found.findings for each in finding.consequences)}
    assert named == {each.id for each in rules}


def per_gpu(rule_id: str, *causes: str, below: str) -> Rule:
    condition = {"gpu.compute_capability": {"below": below}}
    return rule(rule_id, for_each=["gpu"], when=condition, explained_by=list(causes))


def test_what_is_wrong_with_a_part_explains_what_is_wrong_with_the_whole() -> None:
    """A GPU that torch has no code for explains an extension that has none for it, and no other."""
    facts = {
        "gpu.count": 2,
        "gpu[0].compute_capability": "7.0",
        "gpu[1].compute_capability": "8.0",
        "triton.version": "3.4.0",
        "triton.distribution": "triton",
        "triton.binary.no_code_for": ("7.0", "8.0"),
        **{f"{key}.version": None for key in EXTENSIONS if key != "triton"},
    }
    cause = per_gpu("a-cause", below="8.0")
    lacking = {"extension.no_code_for": {"contains": "$gpu.compute_capability"}}
    effect = rule("b-effect", for_each=["gpu", "extension"], when=lacking, explained_by=["a-cause"])
    found = assess(facts, cause, effect)
    assert [(f.rule_id, f.subject, f.consequences) for f in found.findings] == [
        ("a-cause", "gpu[0]", ("b-effect",)),
        ("b-effect", "triton on gpu[1]", ()),
    ]


def test_a_cause_explains_only_its_own_subject_unless_it_is_the_environment() -> None:
    facts = {
        **LINUX,
        "gpu.count": 2,
        "gpu[0].compute_capability": "7.0",
        "gpu[1].compute_capability": "7.5",
    }
    cause, effect = per_gpu("a-cause", below="7.5"), per_gpu("b-effect", "a-cause", below="8.0")
    found = assess(facts, effect, cause)
    assert [(f.rule_id, f.subject, f.consequences) for f in found.findings] == [
        ("a-cause", "gpu[0]", ("b-effect",)),
        ("b-effect", "gpu[1]", ()),
    ]
    of_all = assess(facts, effect, rule("a-cause"))
    assert explained(of_all) == {"a-cause": ("b-effect",)}
    other = assess(facts, effect, rule("a-cause", subject="torch"))
    assert [finding.rule_id for finding in other.findings] == ["a-cause", "b-effect", "b-effect"]


def test_a_cause_that_cannot_be_written_out_does_not_hide_its_consequence() -> None:
    found = assess(LINUX, rule("a-cause", when=NO_TEST), after("b-effect", "a-cause"))
    assert ids(found) == ["b-effect"]


def test_the_message_is_filled_and_the_rest_is_as_written() -> None:
    one = rule(
        when={"torch.version": {"below": "2.6"}},
        message="torch {torch.version} for CUDA {torch.cuda} on {gpu.name}.",
        why="It is so.",
        references=[{"type": "WEB", "url": "https://example.org/a"}],
    )
    [found] = assess(
        {"torch.version": "2.5.1", "torch.cuda": None, "gpu.name": UNREAD}, one
    ).findings
    assert found.message == "torch 2.5.1 for CUDA none on the GPU."
    assert (found.title, found.why) == ("A title", "It is so.")
    assert [each.fact for each in found.evidence] == ["torch.version"]
    assert found.references[0].url == "https://example.org/a"


def test_why_is_filled_too() -> None:
    one = rule(why="Python passes {flash_attn.extension} over.")
    facts = {**LINUX, "flash_attn.extension": "flash_attn_2_cuda.cpython-39.so"}
    [found] = assess(facts, one).findings
    assert found.why == "Python passes flash_attn_2_cuda.cpython-39.so over."


def test_an_error_does_not_hide_under_what_weighs_less() -> None:
    found = assess(LINUX, rule("a-note", severity="note"), after("b-error", "a-note"))
    assert ids(found) == ["b-error", "a-note"]


def test_a_finding_says_where_in_the_files_stands_what_it_read() -> None:
    at, elsewhere = Place("train.yaml", 3, 7), Place("train.yaml", 9)
    world = msgspec.structs.replace(
        environment({"config.dtype": "bf16", **LINUX}),
        places={"config.dtype": (at, at), "config.attention": (elsewhere,)},
    )
    asks = rule("asks", when={"host.os": "linux", "config.dtype": "bf16"})
    [finding] = judge(world, knowledge(asks)).findings
    assert finding.locations == (at,)
    assert str(at) == "train.yaml:3:7"


def test_the_line_of_the_subject_comes_first() -> None:
    """An annotation about xformers was at the line of torch."""
    of_torch, own = Place("requirements.txt", 2), Place("requirements.txt", 6)
    facts = {"torch.version": "2.7.1", "flash_attn.version": "2.8.3"}
    world = msgspec.structs.replace(
        environment(facts),
        places={"torch.version": (of_torch,), "flash_attn.version": (own,)},
    )
    when = {"torch.version": {"present": True}, "flash_attn.version": {"present": True}}
    [finding] = judge(world, knowledge(rule("unfit", when=when, subject="flash-attn"))).findings
    assert finding.locations == (own, of_torch)
