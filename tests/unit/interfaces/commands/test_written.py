"""What is tried where the lines of a plan have an error of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.interfaces.commands.examine import look
from fadoctor.interfaces.commands.plan import PlanRequest, plan_of
from fadoctor.interfaces.commands.written import Writing, refused
from fadoctor.model.overlays import Overlays
from fadoctor.model.plan import Plan, PlanOutcome
from fadoctor.repair.resolution.judge import plan_base
from fadoctor.sources.examine.request import Request
from tests.unit.repair.resolution.test_lines import install

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Action

GIVEN = Overlays(gpu=("A100",), driver="550.54.15", python_version="3.11", platform="linux_x86_64")


def writing(folder: Path, text: str, *actions: Action) -> tuple[Writing, Plan]:
    """Return what a plan of some actions is written into, and that plan."""
    path = folder / "requirements.txt"
    path.write_text(text)
    request = Request(requirements=(str(path),), overlays=GIVEN)
    knowledge, as_read = look(request)
    environment = plan_base(as_read, knowledge)
    plan = Plan(PlanOutcome.REPAIRS, as_read.target, "pip", actions)
    return Writing(request, knowledge, as_read, environment), plan


def test_a_second_plan_repairs_what_the_first_texts_lack(tmp_path: Path) -> None:
    text = "transformers==4.51.3\nflash-attn==2.7.4.post1\n"
    into, plan = writing(tmp_path, text, install("torch==2.6.0"))
    written = into.lines_for(plan)
    assert written.is_worse  # flash-attn is built in isolation as soon as torch is in the list

    def plans(environment: Environment) -> Plan:
        return plan_of(into.request, into.knowledge, environment, PlanRequest())

    both, again = next(into.again(plan, written, plans))
    assert not again.is_worse
    assert next(each.text for each in again.lines.rewrites).startswith(
        "transformers==4.51.3\nflash-attn @ https://"
    )
    assert {"torch", "flash-attn"} <= {
        name.partition("==")[0].partition(" @ ")[0]
        for action in both.actions
        for name in action.requirements
    }


def test_the_part_that_repairs_something_is_written_alone(tmp_path: Path) -> None:
    text = "torch==2.6.0\ntorchvision==0.20.0\nbitsandbytes==0.45.5\n"
    actions = (
        install("torchvision==0.21.0"),
        install("bitsandbytes==0.45.0"),
    )  # imports triton.ops
    into, plan = writing(tmp_path, text, *actions)
    written = into.lines_for(plan)
    assert written.is_worse
    others = list(into.again(plan, written, lambda _environment: plan))
    good = [(part, each) for part, each in others if not each.is_worse]
    assert [each.lines.rewrites[0].text for _, each in good] == [text.replace("0.20.0", "0.21.0")]
    assert good[0][0].actions == (install("torchvision==0.21.0"),)


def test_a_text_that_no_reader_takes_is_refused_in_words(tmp_path: Path) -> None:
    into, plan = writing(tmp_path, "peft==0.17.0\n", install("peft==0.18.0==1"))
    written = into.lines_for(plan)
    assert written.is_worse
    edits = refused(plan.__class__(plan.outcome, plan.target, "pip", edits=written.lines.edits),
                    written).edits  # fmt: skip
    assert ["not changed: the new text cannot be read: " in each.text for each in edits] == [True]
