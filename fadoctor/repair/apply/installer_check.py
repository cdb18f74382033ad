"""Find out before anything is touched whether an installer can do what a plan asks of it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.model.plan import ActionKind
from fadoctor.processes.command import Command, child_environment
from fadoctor.processes.run import NO_TRACES
from fadoctor.repair.apply.links import refuse_links
from fadoctor.repair.apply.ownership import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fadoctor.model.plan import Action, Plan
    from fadoctor.processes.command import Result
    from fadoctor.repair.apply.ownership import OwnedDistribution

TIMEOUT_S = 60.0

_MISLEADING = {
    "target": "packages would go to another folder",
    "prefix": "packages would go to another folder",
    "root": "packages would go to another folder",
    "user": "packages would go to the user's home",
    "python": "another interpreter's packages would change",
    "dry-run": "nothing would be installed",
    "ignore-installed": "the old packages would stay below the new ones",
}
"""Settings of pip that make it do something else than the plan says, and what."""

_COMMANDS = ("global", "install", "uninstall", ":env:")
_OFF = frozenset({"", "0", "false", "no", "off", "n", "f"})
# :env:.target='/somewhere'
_SETTING = re.compile(r"([a-z:]{1,20})\.([a-z-]{1,40})='(.{0,1000})'")

#         target: Some(
_UV_SETTING = re.compile(r"^ {1,40}(target|prefix): Some\(", re.MULTILINE)


def refuse_unready(
    plan: Plan, prefix: Path, environ: Mapping[str, str], run: Callable[[Command], Result]
) -> None:
    """Raise UsageError where the plan's commands could not do their work. Starts pip once."""
    refuse_links(prefix)
    steps = [action for action in plan.actions if action.kind.is_run]
    for argv in dict.fromkeys(_program(action) for action in steps):
        if len(argv) > 1:
            _refuse_bad_pip(argv, environ, run)
        elif shutil.which(argv[0], path=environ.get("PATH")) is None:
            raise UsageError(
                f"{argv[0]} is not installed, or not on PATH: nothing was changed"
                + ("; --installer pip uses pip instead" if argv[0] == "uv" else "")
            )
        elif argv[0] == "uv":
            _refuse_bad_uv(plan.target.python or "", prefix, environ, run)
    without = [one for one in _replaced(plan, steps, prefix) if not _has_record(prefix, one)]
    for one in without:
        again = (
            f"uv pip install --python {plan.target.python} --reinstall"
            if plan.installer.startswith("uv")
            else f"{plan.target.python} -m pip install --ignore-installed"
        )
        raise UsageError(
            f"{one.name} {one.version} has no RECORD, the list of its files, so no installer can "
            "remove it whole: nothing was changed. This writes a new one: "
            f"{again} --no-deps {one.name}=={one.version}"
        )


def _program(action: Action) -> tuple[str, ...]:
    """Return what is started: ``uv``, or the interpreter with ``-m pip``."""
    is_module = action.argv[1:2] == ("-m",)
    return action.argv[:3] if is_module else action.argv[:1]


def _refuse_bad_pip(
    argv: tuple[str, ...], environ: Mapping[str, str], run: Callable[[Command], Result]
) -> None:
    # `config list` starts pip, and shows variables and files with settings in one.
    ask = Command((*argv, "config", "list"), TIMEOUT_S, child_environment(environ, **NO_TRACES))
    result = run(ask)
    if not result.ok:
        raise UsageError(
            printable(f"pip does not work here ({result.describe()}): nothing was changed. ", 400)
            + f"{argv[0]} -m ensurepip installs it; --installer uv does not need it"
        )
    for line in result.stdout.splitlines():
        match = _SETTING.fullmatch(line.strip())
        if not match or match[1] not in _COMMANDS or match[3].lower() in _OFF:
            continue
        name = match[2]
        if name in _MISLEADING:
            variable = f"PIP_{name.upper().replace('-', '_')}"
            where = variable if match[1] == ":env:" else f"{name} in pip's configuration"
            raise UsageError(
                f"{where} is set, so {_MISLEADING[name]}: unset it first; nothing was changed"
            )


def _refuse_bad_uv(
    python: str, prefix: Path, environ: Mapping[str, str], run: Callable[[Command], Result]
) -> None:
    """Refuse settings of uv.toml that send packages elsewhere; where uv does not tell, go on."""
    words = ("--dry-run", "--offline", "--show-settings", "--python", python, "pip")
    ask = Command(("uv", "pip", "install", *words), TIMEOUT_S, dict(environ), cwd=str(prefix))
    match = _UV_SETTING.search(run(ask).stdout)
    if match:
        raise UsageError(
            f"{match[1]} is set in uv's configuration, so {_MISLEADING[match[1]]}: "
            "unset it first; nothing was changed"
        )


def _replaced(plan: Plan, steps: list[Action], prefix: Path) -> Iterator[OwnedDistribution]:
    """Yield the distributions that an installer has to remove."""
    names = {change.distribution for change in plan.changes if change.before}
    for action in steps:
        if action.kind is ActionKind.UNINSTALL:
            names.update(action.requirements)
    there = installed(prefix)
    for name in sorted(names):
        yield from there.get(name, ())


def _has_record(prefix: Path, one: OwnedDistribution) -> bool:
    """Return whether the list of files is there; an egg-info has another one, or none."""
    return one.info.endswith(".egg-info") or (prefix / one.info / "RECORD").is_file()
