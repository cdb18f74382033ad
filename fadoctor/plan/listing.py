"""The fixes of all findings as one ordered list of commands and settings.

A list, not a solved plan: each finding contributes its first fix, in the order of the findings.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Step, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.finding import Finding
    from fadoctor.model.report import Report

PLAN_SCHEMA_VERSION = 1

_ORDER = (
    StepKind.SYSTEM,
    StepKind.UNSET,
    StepKind.SET,
    StepKind.UNINSTALL,
    StepKind.INSTALL,
    StepKind.SETTING,
    StepKind.ADVICE,
)


_AFTER_NAME = re.compile(r"[^A-Za-z0-9._-].*")
"""What follows the name in ``torch==2.8.0``."""


class PlanStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the list."""

    kind: StepKind
    text: str
    """What to paste, or the sentence."""
    findings: tuple[str, ...]
    """Ids of the rules whose findings it is for."""
    argv: tuple[str, ...] = ()
    """The command, for install and uninstall."""
    safety: str = ""
    side_effects: str = ""


class Plan(msgspec.Struct, frozen=True):
    """The ordered list, and the findings that nothing is offered for."""

    steps: tuple[PlanStep, ...]
    without_fix: tuple[str, ...]
    conflicts: tuple[str, ...]
    """Packages that steps ask for in different ways; deciding is left to the user."""
    target: Target
    schema_version: int = PLAN_SCHEMA_VERSION


def choose_installer(wanted: str, environment: Environment) -> str:
    """Return ``pip`` or ``uv``: what was asked for, else what made the environment."""
    if wanted != "auto":
        return wanted
    made_by = environment.fact("python.installer")
    return "uv" if isinstance(made_by, Known) and made_by.value == "uv" else "pip"


def list_fixes(report: Report, installer: str) -> Plan:
    """Return the list for ``pip`` or ``uv``; a step that two findings need stands once."""
    steps: dict[tuple[StepKind, str], PlanStep] = {}
    for finding in report.findings:
        for fix in finding.fixes[:1]:
            for step in fix.steps:
                _add(steps, _plan_step(step, fix, finding, report.target, installer))
    ordered = sorted(steps.values(), key=_place)
    bare = tuple(finding.rule_id for finding in report.findings if not finding.fixes)
    return Plan(tuple(ordered), bare, tuple(_conflicts(report.findings)), report.target)


def _place(step: PlanStep) -> tuple[int, bool]:
    """Sort torch before what is built or chosen for the torch that is installed."""
    return _ORDER.index(step.kind), all(_package(word) != "torch" for word in step.argv)


def _conflicts(findings: tuple[Finding, ...]) -> Iterator[str]:
    """Say which packages different findings want installed differently."""
    wanted: dict[str, dict[str, None]] = {}
    for finding in findings:
        steps = [step for fix in finding.fixes[:1] for step in fix.steps]
        installs = [i for step in steps if step.kind is StepKind.INSTALL for i in step.items]
        removes = [i for step in steps if step.kind is StepKind.UNINSTALL for i in step.items]
        for item in installs:
            wanted.setdefault(_package(item), {})[f"as {item}"] = None
        for item in removes:
            if _package(item) not in map(_package, installs):  # else it is only replaced
                wanted.setdefault(_package(item), {})["to be gone"] = None
    for name, wishes in wanted.items():
        if len(wishes) > 1:
            yield f"{name} is wanted {' and '.join(wishes)}: decide which"


def _package(requirement: str) -> str:
    """Return the normalised name in a requirement."""
    return re.sub(r"[-_.]+", "-", _AFTER_NAME.sub("", requirement)).lower()


def _add(steps: dict[tuple[StepKind, str], PlanStep], step: PlanStep) -> None:
    before = steps.get((step.kind, step.text))
    if before is not None:
        ids = dict.fromkeys((*before.findings, *step.findings))
        effects = dict.fromkeys(e for e in (before.side_effects, step.side_effects) if e)
        step = msgspec.structs.replace(
            before,
            findings=tuple(ids),
            safety=max(before.safety, step.safety),  # "unsafe" sorts after "safe"
            side_effects=" ".join(effects),
        )
    steps[step.kind, step.text] = step


def _plan_step(step: Step, fix: Fix, finding: Finding, target: Target, installer: str) -> PlanStep:
    argv = tuple(_command(step, target, installer))
    return PlanStep(
        kind=step.kind,
        text=shlex.join(argv) if argv else _shell_line(step),
        findings=(finding.rule_id,),
        argv=argv,
        safety=fix.safety.value,
        side_effects=fix.side_effects,
    )


def _command(step: Step, target: Target, installer: str) -> Iterator[str]:
    if step.kind not in (StepKind.INSTALL, StepKind.UNINSTALL):
        return
    python = target.python or "python"
    if installer == "uv":
        yield from ("uv", "pip", step.kind.value, "--python", python)
    else:
        yield from (python, "-m", "pip", step.kind.value)
        if step.kind is StepKind.UNINSTALL:
            yield "--yes"
    if step.index:
        yield from ("--index-url", step.index)
    yield from step.options
    yield from step.items


def _shell_line(step: Step) -> str:
    match step.kind:
        case StepKind.UNSET:
            return f"unset {' '.join(step.items)}"
        case StepKind.SET:
            return "\n".join(f"export {_assignment(item)}" for item in step.items)
        case _:
            return step.text


def _assignment(item: str) -> str:
    name, _, value = item.partition("=")
    return f"{name}={shlex.quote(value)}"
