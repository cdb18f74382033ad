"""What the commands share between parsing and rendering. Imports late, as they do."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

import typer

from fadoctor.interfaces.cli.options.judging import FailOn
from fadoctor.interfaces.cli.output import tell
from fadoctor.model.errors import TargetError, UsageError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import msgspec

    from fadoctor.interfaces.commands.settings import Settings
    from fadoctor.model.environment import Environment
    from fadoctor.model.report import Report, Summary
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.examine.request import Request

_T = TypeVar("_T", bound="msgspec.Struct")

EXIT_FINDINGS, EXIT_COULD_NOT_LOOK, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 3, 4, 130


def request_of(
    target: str, python: str, site_packages: str = "", facts: str = "", gpu: Sequence[str] = (),
    driver: str = "", glibc: str = "", python_version: str = "", platform: str = "",
    *, thorough: bool = False, requirements: Sequence[Path] = (), extra: Sequence[str] = (),
    group: Sequence[str] = (), config: Sequence[str] = (), config_kind: str = "",
    contracts: bool = False, cache: bool = True, new: bool = False, new_if_none: bool = False,
    resolve: bool = False,
) -> Request:  # fmt: skip
    """Return what the target options of a command say, in the order of the commands."""
    from fadoctor.model.overlays import Overlays
    from fadoctor.sources.examine.request import Request

    if target and python:
        raise UsageError("TARGET and --python exclude each other: name one target")
    if target:
        _require_target(target)
    overlays = Overlays(tuple(gpu), driver, glibc, python_version, platform)
    named = tuple(map(str, requirements))
    return Request(
        target or python, site_packages, facts, overlays, thorough, named, tuple(config),
        extras=tuple(extra), groups=tuple(group), config_kind=config_kind,
        contracts=contracts, cache=cache, new=new, new_if_none=new_if_none, resolve=resolve,
    )  # fmt: skip


_TAKEN = (
    "a log goes to `fadoctor explain`, a configuration to --config, requirements to --requirements"
)


def _require_target(target: str) -> None:
    """Raise TargetError where nothing has that name, or a file is no program: other options do."""
    shown = printable(target, 200)
    try:
        is_there = os.path.lexists(target)
    except ValueError:  # a NUL in the name
        is_there = False
    if not is_there:
        what = "file not found. TARGET is an environment's folder or its interpreter"
        raise TargetError(f"{shown}: {what}; {_TAKEN}")
    if Path(target).is_file() and not os.access(target, os.X_OK):
        raise TargetError(f"{shown}: not an interpreter: it is not executable; {_TAKEN}")


def no_request() -> Request:
    """Return the request of a command line that names no target: the active environment."""
    from fadoctor.sources.examine.request import Request

    return Request()


def environment_of(
    request: Request, rules: list[Path], *needed: str, say: Callable[[str], None] = lambda _: None
) -> tuple[Knowledge, Environment]:
    """Return knowledge base and environment; load the modules that are needed next meanwhile.

    `say` is told of what takes seconds.
    """
    from fadoctor.interfaces.commands.examine import FOLLOWING, look
    from fadoctor.processes.ending import ends_by_signals

    with ends_by_signals():
        return look(request, rules, needed, lambda: say(FOLLOWING))


def settings_of(*, no_config_file: bool, quiet: bool = False) -> Settings:
    """Return the settings that hold here; what they do is said even where little else is."""
    from fadoctor.interfaces.commands.settings import Settings, find_settings

    if no_config_file:
        return Settings()
    try:
        here = Path.cwd()
    except OSError:  # it is gone
        return Settings()
    found = find_settings(here)
    for note in found.notes if quiet else ():
        tell(note)
    return found


def failing_from(typed: FailOn | None, settings: Settings) -> FailOn:
    """Return the least severity that makes the exit code 1."""
    return typed or FailOn(settings.fail_on or "error")


def refuse_unknown_ids(ignored: list[str], knowledge: Knowledge) -> None:
    """Refuse an id that no rule has: a typing error would silently ignore nothing."""
    from fadoctor.interfaces.commands.examine import retired_ids

    for sentence in retired_ids(ignored, knowledge, "--ignore"):
        tell(sentence)


def without_credentials(document: _T) -> _T:
    """Return a document as it may be shown: credentials are hidden, whoever reads it."""
    from fadoctor.syntax.credentials.document import hide_in_document

    return hide_in_document(document)


def redacted(document: _T) -> _T:
    """Return a document without what identifies a person or a machine."""
    from fadoctor.report.redact import redact

    return redact(document, os.environ, os.uname().nodename if hasattr(os, "uname") else "")


def leave(code: int, *, exit_zero: bool) -> NoReturn:
    """End the command with a code; `exit_zero` forgives findings and blind spots."""
    forgiven = exit_zero and code in (EXIT_FINDINGS, EXIT_COULD_NOT_LOOK)
    raise typer.Exit(0 if forgiven else code)


def check_code(report: Report, fail_on: FailOn, *, strict: bool) -> int:
    """Return the exit code; where several apply: 4, 1, 3 (2 never comes as far as a report)."""
    from fadoctor.interfaces.commands.examine import is_unresolved
    from fadoctor.judging.verdicts.measurements import has_failure

    if report.rule_errors:
        return EXIT_INTERNAL
    failed = has_failure(report.verdicts) and fail_on is not FailOn.NEVER
    if failed or severity_code(report.summary, fail_on):
        return EXIT_FINDINGS
    if is_unresolved(report.environment):
        return EXIT_COULD_NOT_LOOK
    return _gate_code(report, fail_on) if strict else 0


def _gate_code(report: Report, fail_on: FailOn) -> int:
    """Return the exit code of `--strict`, where no finding has made one."""
    from fadoctor.interfaces.commands.gate import gate_of
    from fadoctor.report.answer import State

    state = gate_of(report)
    if state is State.FAILS and fail_on is not FailOn.NEVER:
        return EXIT_FINDINGS
    return 0 if state is State.WORKS else EXIT_COULD_NOT_LOOK


def severity_code(summary: Summary, fail_on: FailOn) -> int:
    """Return the exit code that findings of these severities make."""
    counted = {"error": summary.error, "warning": summary.warning, "note": summary.note}
    loud = any(number and is_loud(name, fail_on) for name, number in counted.items())
    return EXIT_FINDINGS if loud else 0


def is_loud(severity: str, fail_on: FailOn) -> bool:
    """Return whether a finding of this severity makes the exit code 1."""
    order = list(FailOn)
    is_asked = fail_on is not FailOn.NEVER
    return is_asked and order.index(FailOn(severity)) <= order.index(fail_on)


def interrupted() -> int:
    """Leave no process behind; return what shells return for Ctrl-C."""
    from fadoctor.processes.orphans import end_for_good

    end_for_good()
    sys.stderr.write("fadoctor: interrupted\n")
    return EXIT_INTERRUPTED
