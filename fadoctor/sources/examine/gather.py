"""Where facts come from: probes of what is here, saved facts, what other tools print."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.model.environment import Environment, Target
from fadoctor.model.errors import InputError, TargetError, UsageError
from fadoctor.model.fact import printable
from fadoctor.model.files import read_bytes
from fadoctor.processes.beside import beside
from fadoctor.sources.targets.saved import SIZE_LIMIT, read_facts, replayed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.model.finding import Finding
    from fadoctor.model.overlays import Overlays
    from fadoctor.model.rule import Knowledge
    from fadoctor.processes.command import Command, Result
    from fadoctor.sources.examine.request import Request
    from fadoctor.sources.probes.world import World
    from fadoctor.sources.targets.discover import TargetRequest

    Complaints = Callable[[bytes, str, Knowledge], tuple[Finding, ...]]
    """Finds what a text shows by its words: data, name, knowledge."""

NEW = "new"
"""Kind of a target that is not there yet, until it is planned as manifests are."""

_MACHINE = Target("manifest", "this machine", "no environment is here")


def no_complaints(_data: bytes, _name: str, _knowledge: Knowledge) -> tuple[Finding, ...]:
    """Return nothing: what a text complains of is found by who judges."""
    return ()


def saved(
    request: Request, knowledge: Knowledge, complaints: Complaints = no_complaints
) -> Environment:
    """Return saved facts, from a file, from standard input, or as a program hands them over."""
    name, given = request.facts, request.given
    if given is not None:
        return msgspec.structs.replace(given, target=replayed(given, name))
    data = request.text or _read(name)
    return facts_in(data, name, knowledge, complaints, request.overlays)


def facts_in(
    data: bytes,
    name: str,
    knowledge: Knowledge,
    complaints: Complaints = no_complaints,
    assumed: Overlays | None = None,
) -> Environment:
    """Return the facts of a text: saved ones, or what it says; InputError for neither.

    `assumed`: of its platform and its Python follows what a text leaves out.
    """
    # "[2026-11-22 10:00:00,000] [INFO]" opens the report of a tool that logs, and no JSON.
    first = data.lstrip()[:1]
    if first != b"{" and not (first == b"[" and _is_json(data)):
        from fadoctor.sources.logs.pasted_text import read_text  # noqa: PLC0415 -- rarely needed
        from fadoctor.sources.targets.overlay import (  # noqa: PLC0415 -- likewise
            assumed_machine,
            assumed_python,
        )

        shown = name if name != "-" else "standard input"
        shows = complaints(data, shown, knowledge)
        machine = (
            assumed_machine(assumed.platform) | assumed_python(assumed.python_version)
            if assumed is not None
            else {}
        )
        return read_text(data, shown, knowledge, shows, machine)
    environment = read_facts(data, name)
    return msgspec.structs.replace(environment, target=replayed(environment, name))


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except RecursionError:
        return True
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(SIZE_LIMIT + 1)
        return read_bytes(name, SIZE_LIMIT + 1, pipes=True)
    except OSError as error:
        raise InputError(name, error.strerror or str(error)) from error
    except ValueError as error:  # a NUL in the name
        raise InputError(printable(name, 200), "not a path") from error


class WhereRead(NamedTuple):
    """Where facts are read."""

    world: World
    is_planned: bool
    """Whether only the machine is read, for what is planned on it."""


def search(request: Request, environ: Mapping[str, str]) -> Callable[[], WhereRead]:
    """Return what finds the place; it mostly waits for child processes.

    What it needs is loaded here: two threads that import slow each other down.
    """
    # Late: replaying saved facts needs neither processes nor probes.
    from fadoctor.processes.run import remember, run  # noqa: PLC0415
    from fadoctor.sources.probes.nvml import nvml_command  # noqa: PLC0415
    from fadoctor.sources.targets import discover  # noqa: PLC0415
    from fadoctor.sources.targets.default_environment import own_interpreter  # noqa: PLC0415

    once = remember(run)
    wanted = discover.TargetRequest(
        request.python, request.site_packages, request.reason, request.meant.target,
        request.meant.reason, request.reads_only,
    )  # fmt: skip
    own = own_interpreter()

    def place() -> WhereRead:
        # The driver's answer takes longest and does not depend on the target: ask now, read later.
        beside(partial(once, nvml_command(environ)))
        is_planned = bool(request.requirements or request.new)
        try:
            target = discover.discover(wanted, environ, _cwd(wanted), own, once)
        except TargetError:
            may_be_none = is_planned or request.new_if_none
            if request.python or request.site_packages or not may_be_none:
                raise
            is_planned, target = True, _MACHINE  # what is planned needs no environment to be here
        return WhereRead(_world(target, environ, once, request), is_planned)

    return place


def _world(
    target: Target,
    environ: Mapping[str, str],
    run: Callable[[Command], Result],
    request: Request,
) -> World:
    from fadoctor.sources.probes.registry import live_registry  # noqa: PLC0415 -- see `search`
    from fadoctor.sources.probes.world import World  # noqa: PLC0415 -- see `search`

    registry = live_registry()
    return World(target, environ, run, _system(), thorough=request.thorough, registry=registry)


def probed(request: Request, place: WhereRead) -> Environment:
    """Return the facts that were found."""
    from fadoctor.sources.probes import MACHINE_PROBES  # noqa: PLC0415 -- see `search`
    from fadoctor.sources.probes.collect import collect  # noqa: PLC0415 -- see `search`

    found = collect(place.world, MACHINE_PROBES) if place.is_planned else collect(place.world)
    if place.is_planned and not request.requirements:
        new = msgspec.structs.replace(place.world.target, kind=NEW)
        found = msgspec.structs.replace(found, target=new)
    return found


def _cwd(wanted: TargetRequest) -> Path:
    """Return the current folder; where it is gone, the root, unless a name is relative to it."""
    try:
        return Path.cwd()
    except OSError as error:
        for named in (wanted.python, wanted.site_packages):
            if named and not Path(named).is_absolute():
                raise UsageError(
                    f"the current folder is gone, so {printable(named, 200)} cannot be found: "
                    "name the target by its absolute path"
                ) from error
        return Path(os.sep)


def _system() -> str:
    names = {"win32": "windows", "darwin": "macos"}
    return names.get(sys.platform, "linux" if os.name == "posix" else sys.platform)
