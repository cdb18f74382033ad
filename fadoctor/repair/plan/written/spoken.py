"""Fixes in the words of the installer of the environment that they are for, as `fix` says them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fix import Step, StepKind
from fadoctor.repair.plan.written.dialect import (
    BEST_MATCH,
    Dialect,
    choose_dialect,
    command_line,
)
from fadoctor.sources.manifests.formats.project_lists import project_lists
from fadoctor.sources.targets.project import is_on_path, project_folder, project_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix
    from fadoctor.model.plan import Plan

# FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE pip install x
_PIP = re.compile(r"(?P<before>(?:[A-Z_]{2,60}=\S{1,60} )*)pip (?=install |uninstall )", re.ASCII)
_YES = re.compile(r"(?<=uninstall )(?:-y|--yes) ")
_ADDED = "--extra-index-url"


def in_own_words(
    findings: tuple[Finding, ...], environment: Environment, *, is_here: bool
) -> tuple[Finding, ...]:
    """Return findings whose fixes call the installer that made the environment, with its Python.

    A bare ``pip`` is that of whatever comes first on the path, and an environment of uv has none.
    It stays where it is the one of the environment, and where nobody can look: not `is_here`.
    """
    speaker = _speaker(environment, is_here=is_here)
    if speaker is None:
        return findings
    return tuple(
        msgspec.structs.replace(each, fixes=tuple(map(speaker.fix, each.fixes)))
        for each in findings
    )


def by_hand_in_own_words(plan: Plan, environment: Environment, *, is_here: bool) -> Plan:
    """Return a plan that says to a person, too, which installer is meant."""
    speaker = _speaker(environment, is_here=is_here)
    if speaker is None:
        return plan
    actions = tuple(
        each
        if each.argv
        else msgspec.structs.replace(each, text=speaker.step(Step(StepKind.SYSTEM, each.text)).text)
        for each in plan.actions
    )
    return msgspec.structs.replace(plan, actions=actions)


def _speaker(environment: Environment, *, is_here: bool) -> Speaker | None:
    """Return who speaks to the installer of an environment; None where a bare pip stays."""
    target = environment.target
    if target.kind != "environment" or not target.python:
        return None
    tool = project_tool(target) if is_here else ""
    lists = project_lists(project_folder(target), tool) if tool else {}
    dialect = choose_dialect("auto", environment, tool, lists)
    if dialect.name == "pip" and (not is_here or is_on_path("pip", target)):
        return None
    return Speaker(dialect, windows=environment.is_windows)


class Speaker:
    """Says the steps of fixes to one installer."""

    def __init__(self, dialect: Dialect, *, windows: bool) -> None:
        """Take how the installer is spoken to."""
        self.dialect, self.windows = dialect, windows

    def fix(self, fix: Fix) -> Fix:
        """Return a fix with other words for what it installs and removes."""
        return msgspec.structs.replace(fix, steps=tuple(map(self.step, fix.steps)))

    def step(self, step: Step) -> Step:
        """Return a step with other words, where it is a command of pip."""
        found = _PIP.match(step.text)
        if found is None or step.kind not in _SPOKEN:
            return step
        said = self._in_project(step) or self._in_environment(step.text[found.end() :])
        return msgspec.structs.replace(step, text=found["before"] + said) if said else step

    def _in_environment(self, rest: str) -> str:
        """Return the same options and requirements with the program before them.

        Of a project's tool only uv can change an environment beside the project.
        """
        name = self.dialect.name.removesuffix("-project")
        if name not in ("uv", "pip"):
            return ""
        tool = Dialect(name, self.dialect.python)
        verb, _, words = _YES.sub("", rest).partition(" ")
        argv = tool.uninstall(()) if verb == "uninstall" else tool.install(())
        if name == "uv" and _ADDED in words:
            argv = (*argv, *BEST_MATCH)
        return f"{command_line(argv, windows=self.windows)} {words}"

    def _in_project(self, step: Step) -> str:
        """Return the command that changes the list of a project; "" where there is no such one.

        Options of pip are none of such tools.
        """
        if not self.dialect.is_project or step.options:
            return ""
        if step.kind is StepKind.UNINSTALL:
            return command_line(self.dialect.uninstall(step.items), windows=self.windows)
        items = step.items or tuple(_plain(step.text))
        argv = self.dialect.install(items, step.index) if items else ()
        lists = [argv[at : at + 2] for at, word in enumerate(argv) if word == "--optional"]
        argvs = filter(None, (argv, self.dialect.install_extras(lists)))
        # PowerShell 5.1, which Windows comes with, does not know &&.
        joint = "; " if self.windows else " && "
        return joint.join(command_line(each, windows=self.windows) for each in argvs)


_SPOKEN = (StepKind.INSTALL, StepKind.UNINSTALL, StepKind.SYSTEM)


def _plain(text: str) -> Iterable[str]:
    """Return the requirements of a command that names nothing else."""
    words = text.split()[2:]
    has_options = any(word.startswith("-") for word in words)
    return () if has_options else tuple(word.strip("'\"") for word in words)
