"""The page: who differs in what, who is silent, what is wrong where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.fleet.compare import Agreements, differences
from fadoctor.fleet.content import Content, digest_of, failed
from fadoctor.fleet.gathered import Gathered
from fadoctor.fleet.identity import NodeIdentity
from fadoctor.fleet.renaming import renamed
from fadoctor.fleet.root_causes import shortened
from fadoctor.fleet.summary import FleetRequest, summarise
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.report.fleet_prometheus import render as render_metrics
from fadoctor.report.fleet_text import answer_of, difference_text, render
from fadoctor.report.style import Style
from tests.unit.fleet.samples import content, dropped, node

if TYPE_CHECKING:
    from fadoctor.fleet.model import FleetReport

KNOWLEDGE = load_knowledge()
AGREEMENTS = Agreements(KNOWLEDGE.tables["fleet-agreement"])
BAD = content(1, ("e flash-attn-missing",), pkg={"flash-attn": None}, bin={"flash_attn": None})


@pytest.mark.parametrize(
    ("others", "said"), [({}, "The node is healthy."), ({"n0": BAD}, "The node is not healthy.")]
)
def test_one_node_is_no_fleet_in_words(others: dict[str, Content], said: str) -> None:
    assert answer_of(summarise(gathered(1, (), **others), KNOWLEDGE, FleetRequest())) == said


@pytest.mark.parametrize(
    ("nodes", "room", "shown"),
    [
        ("n[01-16]", 20, "n[01-16]"),
        ("n[104,201,298,395,492]", 20, "n[104,201,298,...]"),
        ("a01,a02,a03,a04,a05,a06", 20, "a01,a02,a03,a04,..."),
        ("n[1,3],m[104,201,298,395]", 20, "n[1,3],m[104,...]"),
        ("one-very-long-name-of-a-node", 20, "one-very-long-nam..."),
    ],
)
def test_a_list_in_a_sentence_keeps_whole_names(nodes: str, room: int, shown: str) -> None:
    """It ended within a number, and in four dots."""
    assert shortened(nodes, room) == shown
    assert len(shown) <= room


def gathered(total: int = 16, lost: tuple[int, ...] = (), **others: Content) -> Gathered:
    found = Gathered()
    for number in range(total):
        if number not in lost:
            found.add(node(number, total), others.get(f"n{number}", content()))
    return found


def _redacted(found: Gathered) -> FleetReport:
    other, asked = renamed(found, FleetRequest())
    return summarise(other, KNOWLEDGE, asked)


def page(found: Gathered, **asked: object) -> FleetReport:
    return summarise(found, KNOWLEDGE, FleetRequest(**asked))  # type: ignore[arg-type]


def text(report: FleetReport) -> str:
    return render(report, Style(width=200))


def test_equal_nodes_are_one_line() -> None:
    report = page(gathered())
    assert (report.healthy, report.alike, report.silent_count) == (16, 16, 0)
    assert answer_of(report) == "All 16 nodes are healthy and are alike."
    assert "16 nodes are alike: n[00-15]" in text(report)


def test_each_that_differs_is_named_with_what() -> None:
    report = page(gathered(n7=content(gpu={"driver": "550.54"}), n3=BAD, lost=(12,)))
    said = text(report)
    assert "n07: driver 550.54 instead of 580.95.05" in said
    assert "n03: no flash-attn instead of 2.8.3" in said
    assert "Silent: 1 node: n12" in said
    assert (report.healthy, report.answered, report.expected) == (14, 15, 16)
    assert report.findings[0].rule_id == "flash-attn-missing"
    assert report.findings[0].nodes == "n03"


def test_what_a_whole_rack_has_is_said_once() -> None:
    found = Gathered()
    for rack in range(1, 5):
        for number in range(1, 9):
            name = f"r{rack}n{number:02d}"
            found.add(NodeIdentity(name), BAD if rack == 4 else content())
    (first, *_) = page(found).findings
    assert (first.rule_id, first.nodes, first.count) == ("flash-attn-missing", "r4n[01-08]", 8)
    assert "On all 8 nodes of r4n*, on no other." in first.message
    assert "They have no flash-attn instead of 2.8.3." in first.message


@pytest.mark.parametrize(
    ("changed", "rule_id", "severity"),
    [
        ({"nv": {"nccl": "2.21.5"}}, "fleet-nccl-differs", "error"),
        ({"pkg": {"torch": "2.7.1"}}, "fleet-torch-differs", "warning"),
        ({"torch": {"cuda": "12.6"}}, "fleet-cuda-differs", "warning"),
        ({"gpu": {"models": "8x A100 8.0"}}, "fleet-gpus-differ", "warning"),
        ({"gpu": {"driver": "550.1"}}, "fleet-driver-differs", "warning"),
    ],
)
def test_what_must_agree_in_one_job(changed: dict[str, Any], rule_id: str, severity: str) -> None:
    report = page(gathered(n2=content(**changed)))
    (found,) = [each for each in report.findings if each.rule_id == rule_id]
    assert (found.severity.value, found.nodes) == (severity, "n02")


@pytest.mark.parametrize(
    "changed",
    [
        {"gpu": {"driver": "580.65.06"}},
        {"sys": {"kernel": "6.8.0"}},
        {"env": {"CUDA_VISIBLE_DEVICES": "1"}},
        {"pkg": {"torch": "?"}},
        {"nv": {"nccl": "?"}},
    ],
)
def test_what_may_differ_or_is_unknown_is_no_finding(changed: dict[str, Any]) -> None:
    report = page(gathered(n2=content(**changed)))
    assert report.findings == ()
    assert report.healthy == 16
    assert report.alike == 15


def test_a_difference_that_had_no_room_is_said_as_that() -> None:
    here = dropped(content(gpu={"driver": "1"}), "gpu")
    (found,) = differences(content(), here, AGREEMENTS)
    assert "no room" in difference_text(found)
    told = content()
    digest = {"gpu": digest_of(told.t["gpu"])}
    same = msgspec.structs.replace(dropped(told, "gpu"), o=digest)
    assert differences(told, same, AGREEMENTS) == ()


def test_a_build_that_follows_from_a_version_is_not_said_twice() -> None:
    other = content(pkg={"flash-attn": "2.7.4"}, bin={"flash_attn": "cccccccccc"},
                    lib={"*": "ffffffff"})  # fmt: skip
    assert [each.key for each in differences(content(), other, AGREEMENTS)] == ["pkg.flash-attn"]
    rebuilt = content(bin={"flash_attn": "cccccccccc"})
    assert [each.key for each in differences(content(), rebuilt, AGREEMENTS)] == ["bin.flash_attn"]
    unsure = content(bin={"flash_attn": "~01234567"})
    assert differences(content(), unsure, AGREEMENTS) == ()


@pytest.mark.parametrize(
    ("expected", "silent", "count"),
    [(None, "n12", 1), (20, "n12", 5), (("n00", "x1"), "x1", 1), (15, "", 0)],
)
def test_who_is_silent(expected: object, silent: str, count: int) -> None:
    report = page(gathered(lost=(12,)), expected=expected)
    assert (report.silent, report.silent_count) == (silent, count)


def test_nobody_says_how_many_there_should_be() -> None:
    found = Gathered()
    found.add(NodeIdentity("a"), content())
    report = page(found)
    assert report.expected is None
    assert "--expect" in report.notes[0]


def test_a_node_whose_first_task_is_silent() -> None:
    found = Gathered()
    found.add(NodeIdentity("a", l=1), Content(x=0, s=True))
    report = page(found)
    assert (report.answered, report.silent) == (0, "a")


def test_a_check_that_could_not_be_done_is_no_healthy_node() -> None:
    report = page(gathered(n4=failed(2, "no such folder")))
    assert report.healthy == 15
    assert "no such folder" in text(report)


def test_with_a_baseline_the_majority_may_be_wrong() -> None:
    report = page(gathered(), baseline=content(pkg={"torch": "2.9.0"}), baseline_name="good.json")
    assert report.alike == 0
    assert "torch 2.8.0 instead of 2.9.0" in text(report)


def test_a_baseline_of_an_older_fadoctor_names_rules_as_they_are_called_now() -> None:
    older = content(1, ("n build-gcc-new", "n build-lacks-nvcc"))
    newer = content(1, ("n build-nvcc-missing", "n gcc-too-new"))
    nodes: dict[str, Any] = {f"n{at}": newer for at in range(16)}
    found = page(gathered(**nodes), baseline=older)
    assert found.alike == 16
    named = {each.rule_id for each in page(gathered(n3=older)).findings}
    assert {"gcc-too-new", "build-nvcc-missing"} <= named
    assert not [name for name in named if name.startswith("build-gcc")]


def test_nodes_by_a_value() -> None:
    report = page(gathered(n7=content(gpu={"driver": "550.54"})), group_by="gpu.driver")
    assert [(each.value, each.count) for each in report.values] == [
        ("580.95.05", 15),
        ("550.54", 1),
    ]


def test_no_name_is_left_with_redact() -> None:
    home = content(
        env={"TRITON_CACHE_DIR": "/home/alice/x", "HF_HOME": "hf_abcdefghijklmnopqrstuvwx"}
    )
    found = gathered(n7=home, n3=failed(2, "/home/alice/venv does not exist"), lost=(12,))
    found.damaged("/home/alice/reports/n09.json", "cut", "n09", "alice n09")
    found.spoken("n12", "alice was here")
    shown = text(_redacted(found))
    assert "alice" not in shown
    assert "n07" not in shown
    assert "n8: " in shown
    assert "Silent: 1 node: n13" in shown


def test_metrics_are_one_number_a_line() -> None:
    rows = render_metrics(page(gathered(n3=BAD))).splitlines()
    values = [row.rpartition(" ") for row in rows if not row.startswith("#")]
    assert all(value.isdecimal() for _, _, value in values)
    assert ("fadoctor_fleet_nodes_healthy", " ", "15") in values


def test_each_cause_shows_what_most_of_its_nodes_should_do_first() -> None:
    def bad(command: str, said: Content = BAD) -> Content:
        return msgspec.structs.replace(said, a={"flash-attn-missing": command})

    older = content(1, BAD.f, torch={"build": "cu126"})
    one, other = bad("pip install a", older), bad("pip install b")
    nodes = gathered(n1=one, n2=BAD, n3=other, n4=BAD)
    found = summarise(nodes, KNOWLEDGE, FleetRequest())
    cause = found.findings[0]
    assert (cause.count, cause.fix) == (4, "pip install b")
    assert "  fix: pip install b\n" in render(found, Style())
    hidden, _ = renamed(gathered(n1=bad("/home/anna/.venv/bin/pip install a")), FleetRequest())
    assert not any("anna" in str(group.content.a) for group in hidden.nodes.values())


def test_what_must_agree_shows_how_to_make_it_agree() -> None:
    other = content(gpu={"driver": "550.54"})
    found = summarise(gathered(n7=other), KNOWLEDGE, FleetRequest())
    fixes = {each.rule_id: each.fix for each in found.findings}
    assert "Update the older nodes" in fixes["fleet-driver-differs"]
