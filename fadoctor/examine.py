"""From what the command line names to facts: discover, probe, replay, assume."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.matrix.query import Matrix
from fadoctor.model.errors import InputError, UsageError
from fadoctor.targets.overlay import Overlays, apply_overlays
from fadoctor.targets.saved import SIZE_LIMIT, read_facts, replayed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge


class Request(msgspec.Struct, frozen=True):
    """What the command line says about what is examined."""

    python: str = ""
    site_packages: str = ""
    facts: str = ""
    overlays: Overlays = Overlays()

    @property
    def is_real(self) -> bool:
        """Whether it is about a real environment as it is, so that something may be run in it."""
        assumed = self.overlays.described()
        return not (self.facts or self.site_packages or assumed)


def examine(request: Request, knowledge: Knowledge, environ: Mapping[str, str]) -> Environment:
    """Return the facts of what is examined, with the overlays on top.

    Raises TargetError, InputError or UsageError where it cannot be.
    """
    given = [
        option
        for option, value in (
            ("--python", request.python),
            ("--site-packages", request.site_packages),
            ("--facts", request.facts),
        )
        if value
    ]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other: name one target")
    environment = _saved(request.facts) if request.facts else _probed(request, environ)
    return apply_overlays(environment, request.overlays, Matrix(knowledge.tables))


def _saved(name: str) -> Environment:
    environment = read_facts(_read(name), name)
    return msgspec.structs.replace(environment, target=replayed(environment, name))


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(SIZE_LIMIT + 1)
        with Path(name).open("rb") as file:
            return file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise InputError(name, error.strerror or str(error)) from error


def _probed(request: Request, environ: Mapping[str, str]) -> Environment:
    # Late: replaying saved facts needs neither processes nor probes.
    from fadoctor.probes.collect import collect  # noqa: PLC0415
    from fadoctor.probes.nvml import nvml_command  # noqa: PLC0415
    from fadoctor.probes.run import remember, run  # noqa: PLC0415
    from fadoctor.probes.world import World  # noqa: PLC0415
    from fadoctor.targets.discover import TargetRequest, discover, own_interpreter  # noqa: PLC0415

    once = remember(run)
    # The driver's answer takes longest and does not depend on the target: ask now, read it later.
    threading.Thread(target=once, args=(nvml_command(environ),), daemon=True).start()
    wanted = TargetRequest(request.python, request.site_packages)
    target = discover(wanted, environ, _cwd(), own_interpreter(), once)
    return collect(World(target, environ, once, _system()))


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"the current folder is gone: {error.strerror}") from error


def _system() -> str:
    names = {"win32": "windows", "darwin": "macos"}
    return names.get(sys.platform, "linux" if os.name == "posix" else sys.platform)
