"""A plan as text, script and requirements: nothing from outside reaches a shell or a terminal."""

from __future__ import annotations

import re
import subprocess

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.plan import (
    Action,
    ActionKind,
    Alternative,
    Answer,
    Change,
    Conflict,
    Edit,
    Plan,
    PlanOutcome,
    Proof,
    Verification,
)
from fadoctor.report import plan_requirements, plan_script, plan_text
from fadoctor.report.style import Style

TARGET = Target("environment", "/opt/my env", "--python")
URL = "https://e.org/a%2Bb.whl"
ACTIONS = (
    Action(ActionKind.UNINSTALL, "remove a", ("pip", "uninstall", "a"), requirements=("a",),
           side_effects=("a is gone",), undo="pip install a==1", findings=("some-rule",)),
    Action(ActionKind.INSTALL, "install b", ("pip", "install", f"b @ {URL}"),
           requirements=(f"b @ {URL}",), index="https://e.org/simple"),
    Action(ActionKind.BUILD, "compile c", ("pip", "install", "c==1"), requirements=("c==1",),
           env={"MAX_JOBS": "4"}),
    Action(ActionKind.UNSET, "unset X", env={"X": ""}),
    Action(ActionKind.SET, "set Y", env={"Y": "a b"}),
    Action(ActionKind.ADVICE, "think first", findings=("other-rule",)),
)  # fmt: skip
FREED = Alternative("let torch change", (Change("torch", "1", "2"),), ("nvcc",))
PLAN = Plan(
    PlanOutcome.PARTIAL, TARGET, "pip", ACTIONS,
    proof=Proof(errors=("other-rule",), missed=("fa2 on gpu[0] fails",)),
    conflicts=(Conflict("fa2 on gpu[0]", ("torch stays", "nothing is compiled"), (FREED,)),),
    notes=("a note",),
)  # fmt: skip


def test_what_is_set_by_hand_stays_one_line_however_narrow_the_terminal() -> None:
    line = 'transformers: attn_implementation="sdpa", dtype=torch.float16'
    setting = Action(ActionKind.SETTING, line, findings=("gpu-too-old-fa2",))
    plan = Plan(PlanOutcome.REPAIRS, TARGET, "pip", (setting,))
    assert f"  - {line}  (for gpu-too-old-fa2)\n" in plan_text.render(plan, Style(width=100))
    assert f"  - {line}\n    (for gpu-too-old-fa2)\n" in plan_text.render(plan, Style(width=50))


def test_text_has_each_step_with_its_command() -> None:
    text = plan_text.render(PLAN)
    assert "1. Remove a\n     pip uninstall a\n" in text
    assert "undo:    pip install a==1" in text
    assert "MAX_JOBS=4 pip install c==1" in text
    assert "unset X" in text
    assert "export Y='a b'" in text
    assert "- think first  (for other-rule)" in text
    assert "Still wrong: other-rule" in text
    assert "because torch stays, and nothing is compiled." in text
    assert "(a) let torch change: torch 1 -> 2; needs nvcc" in text
    assert "Note: a note" in text


@pytest.mark.parametrize("width", [40, 80, 160])
def test_prose_is_wrapped_and_commands_are_not(width: int) -> None:
    lines = plan_text.render(PLAN, Style(width=width)).splitlines()
    commands = [line for line in lines if line.startswith("     ") and "pip" in line]
    assert any(URL in line for line in commands)
    prose = [line for line in lines if line not in commands and "undo:" not in line]
    assert max(map(len, prose)) <= width


def test_colour_only_repeats_what_the_words_say() -> None:
    plain = plan_text.render(PLAN, Style(width=40))
    coloured = plan_text.render(PLAN, Style(width=40, colour=True))
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    assert "\x1b" not in plain
    assert "\n\x1b[1m1. Remove a\x1b[0m\n" in coloured
    assert "\x1b[33mbut:\x1b[0m     a is gone" in coloured
    assert "\x1b[1mBy hand:\x1b[0m" in coloured
    assert coloured.count("\x1b[1m") == coloured.count("\x1b[0m") - coloured.count("\x1b[33m")


def test_a_title_of_two_lines_is_bold_to_its_end() -> None:
    long = Action(ActionKind.INSTALL, "install this and that and everything else", ("pip", "x"))
    text = plan_text.render(Plan(PlanOutcome.REPAIRS, TARGET, "pip", (long,), proof=Proof()),
                            Style(width=40, colour=True))  # fmt: skip
    assert re.search(
        r"\x1b\[1m1\. Install this.*\x1b\[0m\n\x1b\[1m   \w.*\x1b\[0m\n     pip x", text
    )


def test_the_lines_of_a_file_that_change_are_told_apart() -> None:
    diff = "--- a\n+++ b\n-torch==2.6.0\n+torch==2.8.0\n einops"
    target = Target("manifest", "requirements.txt", "--requirements")
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", ACTIONS[1:2], proof=Proof(),
                edits=(Edit("requirements.txt", diff),))  # fmt: skip
    text = plan_text.render(plan, Style(colour=True))
    assert "\n\x1b[31m-torch==2.6.0\x1b[0m\n\x1b[32m+torch==2.8.0\x1b[0m\n" in text
    assert "\n--- a\n+++ b\n" in text


def test_the_script_is_a_script() -> None:
    text = plan_script.render(PLAN)
    done = subprocess.run(["sh", "-n"], input=text, text=True, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    code = [line for line in text.splitlines() if line and line[0] != "#"]
    assert code == [
        "set -eu", "pip uninstall a", f"pip install 'b @ {URL}'", "MAX_JOBS=4 pip install c==1",
        "unset X", "export Y='a b'",
    ]  # fmt: skip


def test_a_batch_file_doubles_percent_signs_and_stops() -> None:
    text = plan_script.render(Plan(PlanOutcome.REPAIRS, TARGET, "pip", ACTIONS[1:3], windows=True))
    assert "a%%2Bb.whl" in text
    assert text.count("|| exit /b 1") == 3  # the variable is set in a line of its own
    assert 'set "MAX_JOBS=4"' in text


def test_requirements_are_pins() -> None:
    lines = plan_requirements.render(PLAN).splitlines()
    assert "# impossible: fa2 on gpu[0], because torch stays, and nothing is compiled" in lines
    assert "# what would help: let torch change: torch 1 -> 2; needs nvcc" in lines
    assert lines[lines.index("# not reached: fa2 on gpu[0] fails") + 1 :] == [
        "# first uninstall: a",
        "--extra-index-url https://e.org/simple",
        f"b @ {URL}",
        "# compiled here: needs --no-build-isolation",
        "c==1",
    ]


@pytest.mark.parametrize("render", [plan_text.render, plan_script.render, plan_requirements.render])
def test_no_controls_and_no_new_lines_from_outside(render: object) -> None:
    bad = "x\n\x1b]0;title\x07\nrm -rf /"
    plan = Plan(
        PlanOutcome.PARTIAL, Target("environment", bad, bad), "pip",
        (Action(ActionKind.INSTALL, bad, ("pip", bad), requirements=(bad,), undo=bad,
                side_effects=(bad,), findings=(bad,)),
         Action(ActionKind.ADVICE, bad)),
        notes=(bad,),
    )  # fmt: skip
    text = render(plan)  # type: ignore[operator] # one of three functions
    assert "\x1b" not in text
    assert "\x07" not in text
    assert not [line for line in text.splitlines() if line.startswith("rm -rf")]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Verification(Answer.RESOLVES, "pip", ("a 1",)), "pip agrees, and would install a 1."),
        (Verification(Answer.RESOLVES, "uv"), "uv agrees: everything is there already."),
        (Verification(Answer.REFUSED, "pip", detail="x"), "pip refuses this plan: x"),
        (Verification(Answer.UNREACHABLE, "pip", detail="x"), "could not be verified: x"),
    ],
)
def test_verifications(found: Verification, words: str) -> None:
    plan = Plan(PlanOutcome.REPAIRS, TARGET, "pip", verification=found)
    assert words in plan_text.render(plan)


def test_ascii_terminals() -> None:
    plan = Plan(PlanOutcome.NOTHING, Target("environment", "/opt/ümläut", "x"), "pip")
    assert plan_text.render(plan, Style(ascii_only=True)).isascii()


@pytest.mark.parametrize("outcome", [PlanOutcome.REPAIRS, PlanOutcome.PARTIAL])
@pytest.mark.parametrize("unknown", [(), ("fa2: nobody knows",)])
@pytest.mark.parametrize("by_setting", [(), ("other-rule",)])
def test_what_is_left_to_a_person_is_not_called_nothing(
    outcome: PlanOutcome, unknown: tuple[str, ...], by_setting: tuple[str, ...]
) -> None:
    """A driver to be installed by hand stood below "nothing is known to be wrong"."""
    proof = Proof(unknown=unknown, by_setting=by_setting)
    text = plan_text.render(Plan(outcome, TARGET, "pip", ACTIONS, proof=proof), Style(width=500))
    answer = text.splitlines()[1]
    assert "is wrong" not in answer
    assert "to be wrong" not in answer
    assert "below" in answer
    if by_setting and outcome is PlanOutcome.PARTIAL:
        assert "Settings replace" in answer


def test_what_is_lost_is_in_the_answer() -> None:
    """Afterwards no problem remains, it said, above: does not work any more."""
    proof = Proof(lost=("gpu[0] fa2 bf16",))
    text = plan_text.render(Plan(PlanOutcome.REPAIRS, TARGET, "pip", ACTIONS[:1], proof=proof))
    assert "nothing is wrong" not in text
    assert "some features stop working" in " ".join(text.split())
    assert "gpu[0] fa2 bf16" in text
