"""Ask the installer whether it agrees: a dry run with all other pins held, building nothing."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.fact import Known, printable
from fadoctor.model.plan import ActionKind, Answer, Verification
from fadoctor.model.typed import decode
from fadoctor.processes.command import Command, Ending, child_environment
from fadoctor.processes.run import NO_TRACES
from fadoctor.repair.plan.requirements import violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.processes.command import Result
    from fadoctor.repair.plan.requirements import Requirements

    Run = Callable[[Command], Result]

TIMEOUT_S = 300.0
OUTPUT_LIMIT = 32 << 20

_UNREACHABLE = re.compile(
    r"(?i)connection|timed? ?out|name or service|resolve host|network|proxy|certificate|offline"
    r"|from versions: none"
)
"""An index that knows no version at all was not reached, or is another one."""

# + torch==2.8.0
_UV_LINE = re.compile(r" \+ ([A-Za-z0-9._-]{1,100})==(\S{1,60})")
_WORDS_LIMIT = 600


class _Item(msgspec.Struct, frozen=True):
    """One distribution of pip's report."""

    metadata: dict[str, object]


class _Report(msgspec.Struct, frozen=True):
    """What is read of pip's installation report."""

    install: list[_Item]


def verify(
    plan: Plan, environment: Environment, requirements: Requirements, run: Run
) -> Verification:
    """Return what the installer would do. It downloads metadata, and changes nothing.

    Files that are named by their address are not asked about: they would be downloaded whole. Pins
    that contradict each other already are not held: the installer would refuse everything.
    """
    loose = {each.needs for each in violations(environment, requirements)}
    wanted, skipped = _requirements(plan, environment, loose)
    uv = shutil.which("uv")
    by = "uv" if plan.installer.startswith("uv") and uv else "pip"
    if not wanted:
        return Verification(Answer.RESOLVES, by, detail=_skipped(skipped))
    try:
        result = _ask(plan, environment.target.python or "", by, wanted, run)
    except OSError as error:  # a file system that is read-only has no temporary folder
        reason = error.strerror or str(error)
        return Verification(Answer.UNREACHABLE, by, detail=f"no temporary folder: {reason}")
    return _judged(result, by, skipped)


def _ask(plan: Plan, python: str, by: str, wanted: list[str], run: Run) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.txt")
        file.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        indexes = dict.fromkeys(action.index for action in plan.actions if action.index)
        extra = tuple(word for index in indexes for word in ("--extra-index-url", index))
        if by == "uv":
            argv = ("uv", "pip", "install", "--dry-run", "--no-build", "--python", python, *extra)
        else:
            argv = (
                python, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-",
                "--only-binary", ":all:", "--disable-pip-version-check", "--no-input", *extra,
            )  # fmt: skip
        env = child_environment(os.environ, **NO_TRACES)
        command = Command((*argv, "-r", str(file)), TIMEOUT_S, env=env, output_limit=OUTPUT_LIMIT)
        return run(command)


def _requirements(
    plan: Plan, environment: Environment, loose: set[str]
) -> tuple[list[str], list[str]]:
    """Return what the plan installs with every other pin, and what cannot be asked about."""
    fact = environment.fact("packages.installed")
    there = fact.value if isinstance(fact, Known) and isinstance(fact.value, dict) else {}
    changed = {change.distribution for change in plan.changes}
    removed = {
        name
        for action in plan.actions
        if action.kind is ActionKind.UNINSTALL
        for name in action.requirements
    }
    items = [
        item
        for action in plan.actions
        if action.kind in (ActionKind.INSTALL, ActionKind.BUILD)
        for item in action.requirements
    ]
    skipped = [item for item in items if " @ " in item]
    skipped += [
        item
        for action in plan.actions
        if action.kind is ActionKind.BUILD
        for item in action.requirements
    ]
    asked = [item for item in items if item not in skipped]
    moving = changed | removed | loose | {name for name in there if name.startswith("nvidia-")}
    pins = [
        f"{name}=={version}"
        for name, version in there.items()
        if name not in moving and parse_version(version) is not None
    ]
    return ([*asked, *pins] if asked else []), skipped


def _judged(result: Result, by: str, skipped: list[str]) -> Verification:
    if result.ending is not Ending.EXITED:
        return Verification(Answer.UNREACHABLE, by, detail=f"{by} {result.describe()}")
    if result.code == 0:
        found = _uv_installs(result) if by == "uv" else _pip_installs(result)
        return Verification(Answer.RESOLVES, by, found, _skipped(skipped))
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith("WARNING")]
    words = printable(" ".join(errors[-4:]), _WORDS_LIMIT)
    has_no_tool = "No module named pip" in result.stderr or "no such option" in result.stderr
    if has_no_tool or _UNREACHABLE.search(result.stderr):
        return Verification(Answer.UNREACHABLE, by, detail=words)
    return Verification(Answer.REFUSED, by, detail=words)


def _skipped(items: list[str]) -> str:
    if not items:
        return ""
    names = ", ".join(item.partition(" @ ")[0].partition("==")[0] for item in items)
    return f"{names} was not checked, because it comes from a file by its address or is compiled"


def _pip_installs(result: Result) -> tuple[str, ...]:
    """Return name and version of what pip's report lists; nothing where it cannot be read."""
    try:
        report = decode(result.stdout, _Report)
    except (msgspec.DecodeError, RecursionError):
        return ()
    names = (item.metadata for item in report.install)
    return tuple(
        sorted(printable(f"{each.get('name')} {each.get('version')}", 80) for each in names)
    )


def _uv_installs(result: Result) -> tuple[str, ...]:
    found = (_UV_LINE.fullmatch(line.rstrip()) for line in result.stderr.splitlines())
    return tuple(sorted(f"{match[1]} {match[2]}" for match in found if match))
