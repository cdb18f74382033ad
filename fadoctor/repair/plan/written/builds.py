"""What installs a package from its sources: with what its setup imports, compiled or not."""

# A circle with `actions` by a type alone: its writer hands itself over, and asks for these actions.

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.plan import Action, ActionKind
from fadoctor.repair.plan.choices.build import missing_modules
from fadoctor.repair.plan.choices.rocm_flash_attn import is_interpreted
from fadoctor.repair.plan.written.advice import undo_of_variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.written.actions import Writer

_OPTIONS = ("--no-build-isolation", "--no-cache-dir")
"""A build must see torch, and pip must not take a file that it made for another torch."""


def build_actions(writer: Writer, choice: Choice) -> Iterator[Action]:
    """Yield what builds a choice here, and what has to be there before and afterwards."""
    yield from _tools(writer, choice)
    if not is_interpreted(choice):
        yield _compiled(writer, choice)
        return
    yield _interpreted(writer, choice)
    for name, value in choice.env.items():
        yield Action(
            ActionKind.SET,
            f"set {name} to {value} wherever {choice.distribution} is used",
            env={name: value},
            undo=undo_of_variable(writer.environment, name),
        )


def _tools(writer: Writer, choice: Choice) -> Iterator[Action]:
    """Yield what installs the packages that the build imports.

    Where nobody has listed what is there, they may be there already: then none is to be removed.
    """
    environment = writer.environment
    missing = missing_modules(environment, writer.problem.session.matrix, choice.version)
    is_listed = isinstance(environment.fact("packages.installed"), Known)
    if missing:
        yield Action(
            ActionKind.INSTALL,
            "install what the build imports: " + ", ".join(missing),
            writer.dialect.install(missing),
            requirements=missing,
            undo=writer.undo_of(missing) if is_listed else "",
        )


def _compiled(writer: Writer, choice: Choice) -> Action:
    jobs = choice.env.get("MAX_JOBS", "1")
    return Action(
        ActionKind.BUILD,
        f"compile {choice.distribution} {choice.version} here",
        writer.dialect.install((choice.requirement,), options=(*_OPTIONS, "--no-deps")),
        env=choice.env,
        requirements=(choice.requirement,),
        findings=writer.findings_of((choice,)),
        side_effects=(f"compiles with {jobs} jobs at a time; this takes minutes to hours",),
        undo=writer.undo_of((writer.name_of(choice),)),
    )


def _interpreted(writer: Writer, choice: Choice) -> Action:
    return Action(
        ActionKind.BUILD,
        f"install {choice.distribution} {choice.version} with its Triton backend",
        writer.dialect.install((choice.requirement,), options=_OPTIONS),
        env=choice.env,
        requirements=(choice.requirement,),
        findings=writer.findings_of((choice,)),
        side_effects=("nothing is compiled now: Triton compiles each kernel at its first use",),
        undo=writer.undo_of((writer.name_of(choice),)),
    )
