"""Fixes of what a text shows: a command only where it is proved, else one question."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.engine.possible import QUESTION, possible_fixes
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import OF_A_LOG, Environment, Target
from fadoctor.model.fact import Fact, Known
from fadoctor.model.fix import Fix, StepKind
from tests.unit.judging.engine.builders import rule

COMMANDS = {StepKind.INSTALL, StepKind.UNINSTALL, StepKind.SET, StepKind.UNSET, StepKind.SYSTEM}
LINUX = {"host.os": "linux", "host.platform": "linux_x86_64"}
WINDOWS = {"host.os": "windows", "host.platform": "win_amd64"}
BLACKWELL = {"gpu[0].compute_capability": "12.0", "gpu.compute_capability": "12.0"}


def of_text(
    facts: dict[str, Any],
    *fixes: dict[str, Any],
    log: tuple[str, ...] = (),
    said: tuple[str, ...] = (),
    **keys: Any,
) -> tuple[Fix, ...]:
    """Return what is said of fixes by what a text names."""
    known: dict[str, Fact] = {name: Known(value, "a log") for name, value in facts.items()}
    world = Environment("0", Target(OF_A_LOG, "log", "test"), known)
    matrix = Matrix(load_knowledge().tables)
    return possible_fixes(Scope(world, matrix, rule(fixes=list(fixes), **keys), {}), log, said)


def a_fix(fix_id: str, step: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"id": fix_id, "title": f"Do {fix_id}", "steps": [step], **keys}


def shipped(rule_id: str, facts: dict[str, Any]) -> tuple[Fix, ...]:
    knowledge = load_knowledge()
    one = next(each for each in knowledge.rules if each.id == rule_id)
    known: dict[str, Fact] = {name: Known(value, "a log") for name, value in facts.items()}
    world = Environment("0", Target(OF_A_LOG, "log", "test"), known)
    bindings = {kind: f"{kind}[0]" for kind in one.for_each}
    return possible_fixes(Scope(world, Matrix(knowledge.tables), one, bindings))


def commands(fixes: tuple[Fix, ...]) -> list[str]:
    return [step.text for fix in fixes for step in fix.steps if step.kind in COMMANDS]


INSTALL = a_fix("install", {"install": ["einops==0.8.2"]}, when={"torch.version": {"below": "2.6"}})


@pytest.mark.parametrize("step", [{"install": ["einops==1"]}, {"unset": ["CC"]}, {"system": "ls"}])
def test_where_a_condition_is_open_no_command_is_printed(step: dict[str, Any]) -> None:
    open_fix = a_fix("one", step, when={"torch.version": {"below": "2.6"}})
    [asked] = of_text(LINUX, open_fix)
    assert asked.id == QUESTION
    assert commands((asked,)) == []
    assert "pip show torch" in asked.steps[0].text
    [proved] = of_text({**LINUX, "torch.version": "2.5.1"}, open_fix)
    assert commands((proved,))
    assert of_text({**LINUX, "torch.version": "2.9.0"}, open_fix) == ()


def test_one_question_is_asked_and_it_decides_most() -> None:
    fixes = (
        a_fix("one", {"unset": ["A"]}, when={"driver.version": {"below": "525"}}),
        a_fix("two", {"unset": ["B"]}, when={"torch.version": {"below": "2.6"}}),
        a_fix("three", {"unset": ["C"]}, when={"torch.version": {"at_least": "2.6"}}),
    )
    [asked] = of_text(LINUX, *fixes)
    assert asked.title == "Say which torch this is"
    assert asked.steps[-1].text == "The answer decides on: Do two; Do three."


def test_a_question_about_one_fix_bears_its_name() -> None:
    [asked] = of_text(LINUX, INSTALL)
    assert asked.title == "Do install"


def test_of_questions_that_decide_alike_the_first_fact_of_the_rule_is_asked_about() -> None:
    """Regression: of two packages each run of the program asked about another one."""
    names = ("vllm", "sglang", "xformers", "triton", "peft", "trl", "accelerate", "deepspeed")
    for first in names:
        when = {"any": [{f"{name}.version": {"below": "1"}} for name in (first, *names)]}
        [asked] = of_text(LINUX, a_fix("one", {"unset": ["A"]}, when=when))
        assert asked.steps[0].text.startswith(f"Which {first}?")


def test_what_is_proved_stands_before_questions_and_advice() -> None:
    fixes = (
        INSTALL,
        a_fix("advise", {"advice": "Look."}, when={"host.glibc": {"below": "2.28"}}),
        a_fix("set", {"setting": "attn"}),
    )
    assert [each.id for each in of_text(LINUX, *fixes)] == ["set", QUESTION, "advise"]


def test_what_was_tried_is_not_asked_about() -> None:
    tried = {**INSTALL, "tried": ["einops"]}
    assert of_text(LINUX, tried, log=("pip install einops",)) == ()


def test_what_is_set_in_the_sentence_that_quotes_the_error_was_tried() -> None:
    """A title that names the setting and the error was read as the error alone."""
    line = "I set attn=eager, and still get RuntimeError: no kernel here, try attn=math"
    fixes = (
        a_fix("eager", {"setting": "attn=eager"}),
        a_fix("math", {"setting": "attn=math"}),
    )
    shown = of_text(LINUX, *fixes, log=(line,), said=(line,))
    assert [each.id for each in shown] == ["math", "eager"]


def test_a_fix_for_certain_words_is_shown_where_the_log_has_them() -> None:
    fixes = (
        a_fix("for-it", {"advice": "Ask accelerate."}, logged=["accelerate[ /]"]),
        a_fix("other", {"advice": "Look."}),
    )
    shown = of_text(LINUX, *fixes, log=("accelerate launch train.py",))
    assert [each.id for each in shown] == ["for-it", "other"]
    assert [each.id for each in of_text(LINUX, *fixes, log=("python train.py",))] == ["other"]
    assert [each.id for each in of_text(LINUX, *fixes)] == ["other"]


@pytest.mark.parametrize("machine", [LINUX, WINDOWS])
def test_a_gpu_gets_no_torch_without_its_code(machine: dict[str, str]) -> None:
    """CUDA 12.6 was offered for sm_120, though no build for it has that code."""
    found = shipped("torch-arch-unsupported", {**machine, **BLACKWELL})
    assert found[0].steps[0].kind is StepKind.INSTALL
    assert not any("12.6" in text for fix in found for text in (fix.title, *map(str, fix.steps)))


def test_a_driver_gets_no_torch_that_it_does_not_run() -> None:
    """Driver of CUDA 10.1: the torch for CUDA 12.6 was the first fix."""
    found = shipped("driver-too-old", {**LINUX, "driver.cuda": "10.1"})
    assert found[0].id == "update-driver"
    assert commands(found) == []
    assert not any("12.6" in str(each) for each in found)


def test_on_windows_no_cpu_build_is_installed_again() -> None:
    facts = {**WINDOWS, "torch.version": "2.1.0+cpu", "torch.build": "cpu"}
    found = shipped("torch-cpu-only", facts)
    assert found[0].id == "torch-for-windows"
    assert not any(text.endswith("torch==2.1.0") for text in commands(found))


def test_only_boards_of_arm_hear_of_jetpack() -> None:
    for facts in (LINUX, WINDOWS):
        for rule_id in ("torch-cpu-only", "driver-too-old"):
            assert not any("JetPack" in each.title for each in shipped(rule_id, facts))
    arm = {"host.os": "linux", "host.platform": "linux_aarch64"}
    orin = {**arm, "gpu[0].compute_capability": "8.7"}
    assert shipped("torch-cpu-only", orin)[0].id == "torch-of-jetpack"


def test_a_fix_may_need_two_lines_of_a_log() -> None:
    both = a_fix("one", {"advice": "Do it."}, logged=["amd"], also=["webui"])
    assert of_text({}, both, log=("amd",)) == ()
    assert [fix.id for fix in of_text({}, both, log=("amd", "webui"))] == ["one"]


def test_a_command_that_reads_the_fact_itself_leaves_no_question() -> None:
    rows = {"table": "triton-windows-for-torch"}
    asks = a_fix(
        "ask",
        {"install": ["triton-windows=={fits.version}"]},
        rows={"fits": {**rows, "torch": "torch.version.minor"}},
        when={"fits.version": {"present": True}},
    )
    reads = a_fix("read", {"system": "{each.command}"}, rows={"each": {**rows, "torch": "=unsaid"}})
    assert [fix.id for fix in of_text(WINDOWS, reads, asks)] == ["read"]
    assert [fix.id for fix in of_text(WINDOWS, asks)] == [QUESTION]
    unmet = {**reads, "when": {"host.os": "linux"}}
    assert [fix.id for fix in of_text(WINDOWS, unmet, asks)] == [QUESTION]
