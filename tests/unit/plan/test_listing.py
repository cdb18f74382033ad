"""The list of fixes: commands for the installer at hand, in order, each once."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import pytest

from fadoctor.model.environment import Target
from fadoctor.model.finding import Confidence, Evidence, Finding, Severity
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.report import Report, RulesInfo, Summary
from fadoctor.plan.listing import Plan, choose_installer, list_fixes
from tests.unit.engine.builders import ABSENT, UNREAD, environment

PYTHON = "/opt/my envs/bin/python"
TARGET = Target("environment", "/opt/my envs", "--python", python=PYTHON)


def install(*items: str, **keys: Any) -> Step:
    return Step(StepKind.INSTALL, "", items, **keys)


def fix(*steps: Step, **keys: Any) -> Fix:
    return Fix("a-fix", "A fix", steps=steps, **keys)


def finding(rule_id: str, *fixes: Fix) -> Finding:
    return Finding(
        rule_id, Severity.ERROR, Confidence.HIGH, "t", "m", "w", "environment",
        (Evidence("host.os", "linux", "s"),), fixes, (), (), "0",
    )  # fmt: skip


def plan(*findings: Finding, installer: str = "pip", target: Target = TARGET) -> Plan:
    empty = Report(
        "0", RulesInfo("1", "0"), target, {}, findings, (), (), None, Summary(0, 0, 0, 0)
    )
    return list_fixes(empty, installer)


def lines(found: Plan) -> list[str]:
    return [step.text for step in found.steps]


@pytest.mark.parametrize(
    ("installer", "step", "argv"),
    [
        ("pip", install("a==1", "b"), (PYTHON, "-m", "pip", "install", "a==1", "b")),
        ("uv", install("a==1"), ("uv", "pip", "install", "--python", PYTHON, "a==1")),
        (
            "pip",
            install("a", index="https://e.org/x", options=("--no-deps",)),
            (PYTHON, "-m", "pip", "install", "--index-url", "https://e.org/x", "--no-deps", "a"),
        ),
        (
            "pip",
            Step(StepKind.UNINSTALL, "", ("a", "b")),
            (PYTHON, "-m", "pip", "uninstall", "--yes", "a", "b"),
        ),
        (
            "uv",
            Step(StepKind.UNINSTALL, "", ("a",)),
            ("uv", "pip", "uninstall", "--python", PYTHON, "a"),
        ),
    ],
)
def test_commands(installer: str, step: Step, argv: tuple[str, ...]) -> None:
    [found] = plan(finding("a-rule", fix(step)), installer=installer).steps
    assert found.argv == argv
    assert tuple(shlex.split(found.text)) == argv


def test_without_an_interpreter_the_command_names_none() -> None:
    target = msgspec.structs.replace(TARGET, python=None)
    found = plan(finding("a-rule", fix(install("a"))), target=target)
    assert lines(found) == ["python -m pip install a"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Step(StepKind.UNSET, "unset A B", ("A", "B")), "unset A B"),
        (Step(StepKind.SET, "set A=1", ("A=1",)), "export A=1"),
        (Step(StepKind.SET, "", ("A=x y", "B=")), "export A='x y'\nexport B=''"),
        (Step(StepKind.SET, "", ("A=$(id)=`id`",)), "export A='$(id)=`id`'"),
        (Step(StepKind.SETTING, 'attn="sdpa"'), 'attn="sdpa"'),
        (Step(StepKind.SYSTEM, "docker run --gpus all"), "docker run --gpus all"),
        (Step(StepKind.ADVICE, "Ask for fp16."), "Ask for fp16."),
    ],
)
def test_what_is_no_command_of_the_installer(step: Step, text: str) -> None:
    [found] = plan(finding("a-rule", fix(step))).steps
    assert (found.text, found.argv) == (text, ())


@pytest.mark.parametrize("hostile", ["a; rm -rf /", "$(id)", "`id`", "a\nid", "a' 'b", "a && b"])
def test_a_line_that_is_pasted_runs_one_command(hostile: str) -> None:
    [found] = plan(finding("a-rule", fix(install(hostile)))).steps
    assert shlex.split(found.text) == [PYTHON, "-m", "pip", "install", hostile]


def test_steps_are_in_the_order_in_which_they_must_be_done() -> None:
    steps = [Step(kind, kind.value, ("x=y",)) for kind in StepKind]
    found = plan(finding("a-rule", fix(*steps)))
    assert [step.kind.value for step in found.steps] == [
        "system",
        "unset",
        "set",
        "uninstall",
        "install",
        "setting",
        "advice",
    ]


def test_within_a_kind_the_order_is_that_of_the_findings() -> None:
    found = plan(
        finding("b-rule", fix(install("second"), install("first"))),
        finding("a-rule", fix(install("third"))),
    )
    assert [line.split()[-1] for line in lines(found)] == ["second", "first", "third"]


def test_only_the_first_fix_counts_and_findings_without_one_are_named() -> None:
    found = plan(
        finding("a-rule", fix(install("best")), fix(install("other"))),
        finding("b-rule"),
        finding("c-rule", fix()),
    )
    assert [line.split()[-1] for line in lines(found)] == ["best"]
    assert found.without_fix == ("b-rule",)


def test_a_step_that_two_findings_need_stands_once() -> None:
    found = plan(
        finding("a-rule", fix(install("x"))),
        finding("b-rule", fix(install("x"), install("y"))),
        finding("a-rule", fix(install("x"))),
    )
    assert [step.findings for step in found.steps] == [("a-rule", "b-rule"), ("b-rule",)]


def test_a_shared_step_is_as_unsafe_as_the_worst_of_its_fixes() -> None:
    found = plan(
        finding("a-rule", fix(install("x"), safety=Safety.SAFE, side_effects="One.")),
        finding("b-rule", fix(install("x"), safety=Safety.UNSAFE, side_effects="Two.")),
    )
    assert found.steps[0].safety == "unsafe"
    assert "One." in found.steps[0].side_effects
    assert "Two." in found.steps[0].side_effects


def test_a_step_carries_the_safety_and_the_side_effects_of_its_fix() -> None:
    [step] = plan(finding("a-rule", fix(install("x"), safety=Safety.SAFE, side_effects="S."))).steps
    assert (step.safety, step.side_effects) == ("safe", "S.")


@pytest.mark.parametrize(
    ("first", "second", "conflicts"),
    [
        ("torch==2.6.0", "torch==2.8.0", ["torch"]),
        ("torch==2.6.0", "torch==2.6.0", []),
        ("torch==2.6.0", "torchvision==0.21", []),
        ("flash-attn==2.8.3", "flash-attn-4", []),
        ("flash-attn @ https://e.org/a.whl", "flash-attn==2.8.3", ["flash-attn"]),
    ],
)
def test_conflicts_are_told_and_not_decided(first: str, second: str, conflicts: list[str]) -> None:
    found = plan(finding("a-rule", fix(install(first))), finding("b-rule", fix(install(second))))
    assert [text.partition(" ")[0] for text in found.conflicts] == conflicts
    assert all(first in text and second in text for text in found.conflicts)
    assert len(found.steps) == (1 if first == second else 2)


def test_a_name_that_is_written_differently_is_the_same_package() -> None:
    found = plan(
        finding("a-rule", fix(install("flash-attn==2.8.3"))),
        finding("b-rule", fix(install("Flash_Attn==2.7.4"))),
    )
    assert len(found.conflicts) == 1


def test_removing_what_is_installed_is_a_conflict() -> None:
    found = plan(
        finding("a-rule", fix(install("flash-attn==2.8.3"))),
        finding("b-rule", fix(Step(StepKind.UNINSTALL, "", ("flash-attn",)))),
    )
    assert len(found.conflicts) == 1


@pytest.mark.parametrize(
    ("wanted", "made_by", "expected"),
    [
        ("auto", "uv", "uv"),
        ("auto", "pip", "pip"),
        ("auto", "conda", "pip"),
        ("auto", UNREAD, "pip"),
        ("auto", ABSENT, "pip"),
        ("pip", "uv", "pip"),
        ("uv", "venv", "uv"),
    ],
)
def test_the_installer(wanted: str, made_by: Any, expected: str) -> None:
    assert choose_installer(wanted, environment({"python.installer": made_by})) == expected


def test_nothing_to_do() -> None:
    found = plan()
    assert (found.steps, found.without_fix, found.conflicts) == ((), (), ())
    assert found.target == TARGET
