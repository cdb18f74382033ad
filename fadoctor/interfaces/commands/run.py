"""The functions of `fadoctor.api`, without the defaults of their arguments."""

from __future__ import annotations

import io
import sys
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.interfaces.commands import check as commands
from fadoctor.interfaces.commands.check import CheckRequest
from fadoctor.interfaces.commands.observer import Observer
from fadoctor.interfaces.commands.request import (
    ProgramRequest,
    folders,
    known_ids,
    members,
    request_of,
)
from fadoctor.model.errors import UsageError
from fadoctor.report.results import (
    CheckResult,
    ExplainResult,
    FactsResult,
    PlanResult,
    SmokeResult,
    shown_as,
)

if TYPE_CHECKING:
    from fadoctor.interfaces.commands.plan import PlanRequest
    from fadoctor.judging.explain.explain import Reading
    from fadoctor.model.rule import Knowledge
    from fadoctor.model.smoke import SmokeRun
    from fadoctor.proof.smoke.choice import CellsRequest

_LONGEST_S = 86_400
"""Limit of a cell, seconds."""


class SmokeRequest(msgspec.Struct, frozen=True):
    """Which cells a program asks for."""

    dtype: Any = ()
    backend: Any = ()
    device: str = ""
    timeout_s: float = 60.0
    online: bool = False
    imports: bool = False
    thorough: bool = False


def check(
    what: ProgramRequest, *, smoke: bool, thorough: bool, cache: bool, ignore: object, rules: object
) -> CheckResult:
    """Return the report of `check`; KeyboardInterrupt where Ctrl-C ended a run."""
    request = CheckRequest(
        request_of(what, thorough=thorough, cache=cache),
        folders(rules, "rules"),
        lambda knowledge: known_ids(ignore, knowledge),
        smoke,
        thorough,
    )
    return shown_as(CheckResult, commands.check(request, _Program()).report)


def facts(what: ProgramRequest, *, thorough: bool, cache: bool, rules: object) -> FactsResult:
    """Return everything that was read."""
    from fadoctor.interfaces.commands.facts import facts as read

    request = request_of(what, thorough=thorough, cache=cache)
    return shown_as(FactsResult, read(request, folders(rules, "rules")))


def explain(
    log: str | bytes | PathLike[str] | BaseException,
    what: ProgramRequest,
    *,
    ignore: object,
    rules: object,
) -> ExplainResult:
    """Return what a log comes from; an environment that was named, or that it lies in, is asked."""
    from fadoctor.interfaces.commands.explain import ExplainRequest, explain_log, lies_in_active

    request = ExplainRequest(
        lambda knowledge: _read(log, knowledge),
        request_of(what),
        lambda reading: what != ProgramRequest() or lies_in_active(reading, sys.prefix),
        folders(rules, "rules"),
        lambda knowledge: known_ids(ignore, knowledge),
    )
    return shown_as(ExplainResult, explain_log(request))


def plan(what: ProgramRequest, wanted: PlanRequest, *, rules: object) -> PlanResult:
    """Return the plan of ``fix --dry-run``."""
    from fadoctor.interfaces.commands.fix import FixRequest, make_plan
    from fadoctor.repair.plan.written.dialect import INSTALLERS

    if wanted.installer not in INSTALLERS:
        raise UsageError(f"installer: {wanted.installer!r} is not one of {', '.join(INSTALLERS)}")
    request = FixRequest(
        request_of(what, cache=True),
        wanted,
        folders(rules, "rules"),
        lambda knowledge: known_ids(wanted.ignore, knowledge),
    )
    return shown_as(PlanResult, make_plan(request).plan)


def smoke(target: object, cells: SmokeRequest, *, rules: object) -> SmokeResult:
    """Return what was measured; KeyboardInterrupt where Ctrl-C ended it."""
    from fadoctor.interfaces.commands import smoke as commands

    wanted, observer = _wanted(cells), _Program()
    prognosis = commands.foresee_cells(
        request_of(ProgramRequest(target)), folders(rules, "rules"), observer
    )
    found = commands.smoke(prognosis, wanted, observer, imports=cells.imports)
    return shown_as(SmokeResult, found.report)


def _wanted(cells: SmokeRequest) -> CellsRequest:
    from fadoctor.model.smoke_catalogue import entry_of
    from fadoctor.model.verdict import Backend, Dtype
    from fadoctor.proof.smoke.choice import AUTO, CellsRequest, refuse_device

    if not 0 < cells.timeout_s <= _LONGEST_S:
        raise UsageError(f"timeout: give seconds, more than 0 and at most {_LONGEST_S}")
    if cells.device:
        refuse_device(cells.device, "device")
    backends = members(Backend, cells.backend, "backend")
    return CellsRequest(
        tuple(entry_of(each).backend for each in backends),
        members(Dtype, _renamed(cells.dtype), "dtype"),
        cells.device or AUTO,
        cells.thorough,
        cells.timeout_s,
        online=cells.online,
    )


def _renamed(names: object) -> object:
    """Return dtypes that torch's names mean as ours; what is none is refused later."""
    from fadoctor.model.verdict import dtype_named

    if isinstance(names, str):
        return dtype_named(names) or names
    if not isinstance(names, (list, tuple)):
        return names
    return [(dtype_named(each) or each) if isinstance(each, str) else each for each in names]


class _Program(Observer):
    """A program that calls fadoctor. Other children of its process are its own, and left alone."""

    def measured(self, run: SmokeRun) -> None:
        if run.interrupted:
            raise KeyboardInterrupt


def _read(log: object, knowledge: Knowledge) -> Reading:
    from fadoctor.interfaces.commands.explain import read_file, read_text

    if isinstance(log, PathLike):
        return read_file(str(Path(log)), knowledge)
    if isinstance(log, BaseException):
        import traceback

        log = "".join(traceback.format_exception(type(log), log, log.__traceback__))
    if isinstance(log, str):
        log = log.encode("utf-8", "replace")
    if not isinstance(log, (bytes, bytearray)):
        raise UsageError("log: give its text, its path or an exception")
    return read_text(io.BytesIO(log), "the text", knowledge)
