"""What a plan tells a person to do holds on the facts as they will be after the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.finding import Confidence, Finding, Severity
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.repair.plan.written.advice import advice_for, variable_actions

if TYPE_CHECKING:
    from collections.abc import Callable

NEWER = Fix("newer-driver", "A newer driver", Safety.SAFE, (Step(StepKind.SYSTEM, "driver 550"),))
OTHER = Fix("other-gpu", "Another GPU", Safety.SAFE, (Step(StepKind.ADVICE, "rent another GPU"),))
LEFT = Finding(
    rule_id="driver-too-old", severity=Severity.ERROR, confidence=Confidence.HIGH, title="old",
    message="old", why="", subject="environment", evidence=(), fixes=(NEWER, OTHER),
    consequences=(), references=(), fingerprint="f",
)  # fmt: skip


def told(holds: Callable[[Finding, Fix], bool]) -> list[str]:
    """Return what a person is told to do."""
    return [action.text for action in advice_for([LEFT], [LEFT], (), holds)]


def test_what_the_facts_refute_is_not_told() -> None:
    """Seen: a driver that would not have helped, advised by hand beside a plan that was proved."""
    assert told(lambda _, __: True) == ["driver 550"]
    assert told(lambda _, fix: fix.id != "newer-driver") == ["rent another GPU"]
    assert told(lambda _, __: False) == []


def test_it_is_asked_of_what_is_left_only() -> None:
    asked: list[str] = []

    def holds(finding: Finding, fix: Fix) -> bool:
        asked.append(f"{finding.rule_id} {fix.id}")
        return True

    note = msgspec.structs.replace(LEFT, rule_id="a-note", severity=Severity.NOTE)
    assert len(list(advice_for([LEFT, note], [LEFT, note], (), holds))) == 1
    assert asked == ["driver-too-old newer-driver"]


def test_of_a_warning_the_first_fix_counts_whatever_it_needs() -> None:
    """Seen: `check` said to install the torch SGLang pins, `fix` to look for another SGLang."""
    pinned = Fix("pinned", "The pinned torch", Safety.UNSAFE, (Step(StepKind.INSTALL, "pip x"),))
    warning = msgspec.structs.replace(LEFT, severity=Severity.WARNING, fixes=(pinned, OTHER))
    [action] = advice_for([warning], [warning], (), lambda _, __: True)
    assert action.text == "pip x"
    [action] = advice_for([warning], [warning], (), lambda _, fix: fix is OTHER)
    assert action.text == "rent another GPU"


def test_an_error_that_only_packages_repair_is_advice_too() -> None:
    """Seen: transformers without its code: `check` installs it again, and `fix` says nothing."""
    again = Fix(
        "again", "Again", Safety.SAFE,
        (Step(StepKind.INSTALL, "pip x", ("transformers==4.57.1",)),),
    )  # fmt: skip
    error = msgspec.structs.replace(LEFT, fixes=(again,))
    [action] = advice_for([error], [error], (), lambda _, __: True)
    assert action.text == "pip x"


def test_what_another_command_installs_as_well_is_told_once() -> None:
    """Seen: three commands by hand, of which the longest did what the others did."""

    def installs(name: str, *items: str) -> Finding:
        text = " ".join(("pip install", *items))
        step = Step(StepKind.INSTALL, text, items=items)
        fix = Fix("bring", "Bring it", Safety.SAFE, (step,))
        return msgspec.structs.replace(LEFT, rule_id=name, fixes=(fix,), fingerprint=name,
                                       severity=Severity.WARNING)  # fmt: skip

    part = installs("a-part", "numpy==2.2.6")
    whole = installs("a-whole", "numpy==2.2.6", "sympy==1.14.0")
    other = installs("another", "einops==0.8.2")
    left = [part, whole, other]
    found = list(advice_for(left, left, (), lambda _, __: True))
    assert [each.text for each in found] == [
        "pip install numpy==2.2.6 sympy==1.14.0", "pip install einops==0.8.2"
    ]  # fmt: skip
    assert found[0].findings == ("a-whole", "a-part")


def test_of_two_releases_of_a_package_the_one_that_settles_both_is_told() -> None:
    """Regression: two commands by hand, each of which took back what the other had done."""

    def installs(name: str, item: str) -> Finding:
        step = Step(StepKind.INSTALL, f"pip install {item}", items=(item,))
        fix = Fix(name, "Bring it", Safety.SAFE, (step,))
        return msgspec.structs.replace(LEFT, rule_id=name, fixes=(fix,), fingerprint=name)

    old, new = installs("old", "bitsandbytes==0.45.5"), installs("new", "bitsandbytes==0.50.2")

    def holds(finding: Finding, fix: Fix) -> bool:
        return fix.id == "new" or finding.rule_id == "old"

    for left in ([old, new], [new, old]):
        [action] = advice_for(left, left, (), holds)
        assert action.text == "pip install bitsandbytes==0.50.2"
        assert set(action.findings) == {"old", "new"}


@pytest.mark.parametrize(
    ("before", "undo"),
    [
        (Absent("environ"), "unset SHOWN"),
        (Known("0,1", "environ"), "export SHOWN=0,1"),
        (Unknown("not asked", "environ"), "unset SHOWN, or set what it was before"),
    ],
)
def test_the_undo_of_a_variable_is_a_line_where_its_value_is_known(before: Fact, undo: str) -> None:
    """Seen: "restore the line or file that sets it", of a variable that nothing had set."""
    step = Step(StepKind.SET, "export SHOWN=1", ("SHOWN=1",))
    finding = msgspec.structs.replace(LEFT, fixes=(Fix("a", "Show", Safety.SAFE, (step,)),))
    world = Environment("0", Target("facts", "test", "test"), {"env.SHOWN": before})
    assert [each.undo for each in variable_actions(world, [finding])] == [undo]


def test_the_steps_of_one_fix_stay_in_its_order() -> None:
    """Regression: the variable of a build was exported after the build, not before it."""
    steps = (
        Step(StepKind.SYSTEM, "pip uninstall -y a-kernel"),
        Step(StepKind.SET, "export A_BUILD=1", items=("A_BUILD=1",)),
        Step(StepKind.SYSTEM, "pip install a-kernel"),
        Step(StepKind.ADVICE, "It compiles."),
    )
    build = Fix("build", "Build it", Safety.SAFE, steps)
    mine = msgspec.structs.replace(LEFT, fixes=(build,))
    system = msgspec.structs.replace(LEFT, rule_id="b", fingerprint="b", fixes=(OTHER,))
    found = advice_for([system, mine], [system, mine], (), lambda _, __: True, commands=True)
    assert [each.text for each in found] == [*(step.text for step in steps), "rent another GPU"]
