"""Ask the installer what it would do: a dry run of what the plan installs, building nothing."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.plan import ActionKind, Answer, Verification
from fadoctor.model.typed import decode
from fadoctor.processes.command import Command, Ending, child_environment
from fadoctor.processes.run import NO_TRACES

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.processes.command import Result

    Run = Callable[[Command], Result]

TIMEOUT_S = 300.0
OUTPUT_LIMIT = 32 << 20

_UNREACHABLE = re.compile(
    r"(?i)connection|timed? ?out|name or service|resolve host|\bnetwork\b|\bproxy\b"
    r"|\bcertificate\b|\boffline\b|from versions: none|building from source is disabled"
    r"|\bos error \d|\berrno \d|failed to initialize cache"
)
"""An index that knows no version at all was not reached, or is another one. Whole words: networkx
and proxy-tools are packages. What the system refused (a cache of another user, a full disk) says
as little of the plan."""

# ERROR: ResolutionImpossible: for help visit ...
#   x No solution found when resolving dependencies:
_ANSWER = re.compile(r"(?im)^(ERROR|error|\s*\S? ?No solution found)\b.{0,400}")

# + torch==2.8.0
_UV_LINE = re.compile(r" \+ ([A-Za-z0-9._-]{1,100})==(\S{1,60})")
_WORDS_LIMIT = 600
_PIP_LINES = 4
_UV_LINES = 12
"""What uv says at least, in lines of 80 columns: the limit of all words ends it."""


class _Item(msgspec.Struct, frozen=True):
    """One distribution of pip's report."""

    metadata: dict[str, object]


class _Report(msgspec.Struct, frozen=True):
    """What is read of pip's installation report."""

    install: list[_Item]


def verify(plan: Plan, environment: Environment, run: Run) -> Verification:
    """Return what the installer would do. It downloads metadata, and changes nothing.

    It is asked as the plan's commands ask it, without pins for the rest: what it would move beside
    is part of the answer. Files that are named by their address are not asked about: they would be
    downloaded whole.
    """
    wanted, skipped = _requirements(plan)
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


def _requirements(plan: Plan) -> tuple[list[str], list[str]]:
    """Return what the plan installs, and what cannot be asked about."""
    items = {ActionKind.INSTALL: [], ActionKind.BUILD: []}  # type: dict[ActionKind, list[str]]
    for action in plan.actions:
        if action.kind in items:
            items[action.kind] += action.requirements
    skipped = [item for item in items[ActionKind.INSTALL] if " @ " in item]
    skipped += items[ActionKind.BUILD]
    return [item for item in items[ActionKind.INSTALL] if item not in skipped], skipped


def _judged(result: Result, by: str, skipped: list[str]) -> Verification:
    if result.ending is not Ending.EXITED:
        return Verification(Answer.UNREACHABLE, by, detail=f"{by} {result.describe()}")
    if result.code == 0:
        found = _uv_installs(result) if by == "uv" else _pip_installs(result)
        return Verification(Answer.RESOLVES, by, found, _skipped(skipped))
    words = printable(" ".join(_said(result.stderr, by)), _WORDS_LIMIT)
    # what does not work says nothing of the plan
    is_answer = _ANSWER.search(result.stderr) and "no such option" not in result.stderr
    if not is_answer or _UNREACHABLE.search(result.stderr):
        return Verification(Answer.UNREACHABLE, by, detail=words)
    return Verification(Answer.REFUSED, by, detail=words)


def _said(output: str, by: str) -> list[str]:
    """Return the lines that say why: the last ones of pip, and of uv its error and its causes."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith(("WARNING", "warning"))]
    first = next((n for n, line in enumerate(errors) if _ANSWER.search(line)), None)
    if by != "uv" or first is None:
        return errors[-_PIP_LINES:]
    return errors[first : first + _UV_LINES]


def _skipped(items: list[str]) -> str:
    if not items:
        return ""
    names = ", ".join(item.partition(" @ ")[0].partition("==")[0] for item in items)
    return f"{names} was not checked, because it is installed from a URL or compiled"


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
