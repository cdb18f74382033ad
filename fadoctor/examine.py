"""From what the command line names to facts: discover, probe, replay, assume."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import Environment, Target
from fadoctor.model.errors import InputError, TargetError, UsageError
from fadoctor.model.fact import Known, printable
from fadoctor.model.overlays import Overlays
from fadoctor.targets.saved import SIZE_LIMIT, read_facts, replayed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.configs.intent import Configuration
    from fadoctor.manifests.planned import Manifest
    from fadoctor.model.rule import Knowledge
    from fadoctor.probes.world import World
    from fadoctor.targets.discover import TargetRequest


MANIFEST_LIMIT = 32
"""Manifests of one run."""

MODULES = "entry-modules"
"""The table of the modules whose imports are followed."""

NEW = "new"
"""Kind of a target that is not there yet, until it is planned as manifests are."""

_MACHINE = Target("manifest", "this machine", "no environment is here")


class Meant(msgspec.Struct, frozen=True):
    """What a project's settings say of what is examined; the command line wins over them."""

    target: str = ""
    """Folder or interpreter of an environment: as if it had been found, so that nothing runs."""
    reason: str = ""
    gpu: tuple[str, ...] = ()
    """GPUs that are assumed where none is here, or what is examined is not here."""
    driver: str = ""
    notes: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True):
    """What the command line says about what is examined."""

    python: str = ""
    site_packages: str = ""
    facts: str = ""
    """File of saved facts; how they are called where they are `given`."""
    overlays: Overlays = Overlays()
    thorough: bool = False
    """Whether to read what takes tenths of a second and matters rarely."""
    requirements: tuple[str, ...] = ()
    """Manifests of an environment that does not exist yet: their packages replace those here."""
    configs: tuple[str, ...] = ()
    """Configurations of the run that is meant."""
    extras: tuple[str, ...] = ()
    """Extras of the manifests that count."""
    groups: tuple[str, ...] = ()
    """Groups of the manifests that count."""
    config_kind: str = ""
    """Kind of all of them; "" where each is recognised by its content."""
    contracts: bool = False
    """Whether to follow what the installed packages import of each other."""
    cache: bool = True
    """Whether what was followed before is looked up, and kept."""
    given: Environment | None = None
    """The facts themselves, where a program hands them over."""
    reason: str = "--python"
    """Who named `python`."""
    new: bool = False
    """Whether it is about an environment that is not there yet, with nothing in it."""
    new_if_none: bool = False
    """Whether it is about such a one where none is found."""
    meant: Meant = Meant()
    reads_only: bool = False
    """Whether nothing of an environment is run, also of one that is named or active."""

    @property
    def names_a_target(self) -> bool:
        """Whether it says at all what is examined, or what is assumed of it."""
        named = self.python or self.site_packages or self.facts or self.requirements
        return bool(named or self.overlays.described())

    @property
    def is_real(self) -> bool:
        """Whether it is about a real environment as it is, so that something may be run in it."""
        assumed = self.overlays.described()
        planned = self.requirements or self.new
        return not (self.facts or self.site_packages or planned or assumed)


class Examination:
    """Facts in the making: they are read in the background, mostly waiting for child processes.

    Meanwhile the caller loads what judges them. Wrong usage is refused before anything starts.
    """

    def __init__(
        self,
        request: Request,
        environ: Mapping[str, str],
        announce: Callable[[], None] = lambda: None,
    ) -> None:
        """Start reading; UsageError where the request names two targets.

        `announce` is called where it is going to take seconds.
        """
        _refuse_two_targets(request)
        self._request = request
        self._environ = environ
        self._announce = announce
        self._found: list[Environment | BaseException] = []
        self._manifests: tuple[Manifest, ...] = ()
        self._worlds: list[World] = []
        self._thread = threading.Thread(target=self._read, args=(environ,), daemon=True)
        self._thread.start()

    def environment(self, knowledge: Knowledge) -> Environment:
        """Return the facts with the overlays on top.

        Raises TargetError, InputError or UsageError where there are none.
        """
        configurations = _configurations(self._request)
        self._thread.join()
        [found] = self._found
        if isinstance(found, BaseException):
            raise found
        found = self._opened(found, knowledge)
        if self._request.contracts and not self._request.facts:
            found = self._with_contracts(found, knowledge)
        is_new = found.target.kind == NEW
        overlays = self._overlays(found, is_new=is_new)
        if overlays.described() or self._manifests or is_new:
            # Late: what judges versions is loaded while child processes answer.
            from fadoctor.matrix.query import Matrix  # noqa: PLC0415
            from fadoctor.targets.overlay import apply_overlays  # noqa: PLC0415

            matrix = Matrix(knowledge.tables)
            found = apply_overlays(found, overlays, matrix)
            if self._manifests or is_new:
                from fadoctor.manifests.environment import planned_environment  # noqa: PLC0415

                found = planned_environment(found, self._manifests, matrix)
                found = _named_new(found) if is_new else found
        if configurations:
            from fadoctor.configs.join import apply_configurations  # noqa: PLC0415

            found = apply_configurations(found, configurations)
        return _noted(found, self._request.meant.notes)

    def _overlays(self, found: Environment, *, is_new: bool) -> Overlays:
        """Return what is assumed: what was typed, and the GPUs of the settings where none is here.

        Of a new environment also our own Python, where none is here.
        """
        overlays, meant = self._request.overlays, self._request.meant
        count = found.fact("gpu.count")
        is_elsewhere = bool(is_new or self._manifests)
        may_stand_in = is_elsewhere or (isinstance(count, Known) and count.value == 0)
        if meant.gpu and may_stand_in and not (overlays.gpu or self._request.facts):
            driver = overlays.driver or meant.driver
            overlays = msgspec.structs.replace(overlays, gpu=meant.gpu, driver=driver)
        if not is_new or overlays.python_version or isinstance(found.fact("python.version"), Known):
            return overlays
        own = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return msgspec.structs.replace(overlays, python_version=own)

    def _opened(self, found: Environment, knowledge: Knowledge) -> Environment:
        """Open the builds in the Hub's cache that would be taken, which the tables tell."""
        lying = (found.facts.get(name) for name in ("hub.kernels", "hub.models", "hub.local"))
        there = isinstance(found.facts.get("kernels.version"), Known) and self._worlds
        if not there or not any(isinstance(each, Known) and each.value for each in lying):
            return found
        # Late: few environments have a kernel in the cache.
        from fadoctor.matrix.query import Matrix  # noqa: PLC0415
        from fadoctor.probes.hub_binaries import read_builds  # noqa: PLC0415
        from fadoctor.targets.hub import taken_builds  # noqa: PLC0415

        builds = taken_builds(found.facts, Matrix(knowledge.tables))
        opened = read_builds(self._worlds[0], found.facts, builds)
        facts = dict(sorted({**found.facts, **opened}.items()))
        return msgspec.structs.replace(found, facts=facts)

    def _with_contracts(self, found: Environment, knowledge: Knowledge) -> Environment:
        """Return the facts with the names that packages ask of each other in vain."""
        if not any(has_entry(found, row) for row in knowledge.tables[MODULES].rows):
            return found
        from fadoctor.targets.contracts import with_contracts  # noqa: PLC0415 -- few have the stack

        return with_contracts(
            found, knowledge, self._environ, keep=self._request.cache, announce=self._announce
        )

    def _read(self, environ: Mapping[str, str]) -> None:
        try:
            if self._request.requirements:
                self._manifests = _read_manifests(self._request)
            facts = self._request.facts
            self._found.append(_saved(self._request) if facts else self._probed(environ))
        except BaseException as error:  # noqa: BLE001 -- raised again where the result is asked for
            self._found.append(error)

    def _probed(self, environ: Mapping[str, str]) -> Environment:
        world, found = _look(self._request, environ)
        self._worlds.append(world)
        return found


def _noted(environment: Environment, notes: tuple[str, ...]) -> Environment:
    if not notes:
        return environment
    target = environment.target
    told = msgspec.structs.replace(target, notes=(*target.notes, *notes))
    return msgspec.structs.replace(environment, target=told)


def _named_new(environment: Environment) -> Environment:
    """Return a new environment under the name that a person reads."""
    target = environment.target
    python = target.python is not None or "prefix" in target.roots
    reason = "planned from nothing" if python else "no environment is here"
    named = msgspec.structs.replace(target, label="a new environment", reason=reason)
    return msgspec.structs.replace(environment, target=named)


def has_entry(environment: Environment, row: Mapping[str, object]) -> bool:
    """Return whether a module whose imports are followed is installed."""
    installed = environment.fact("packages.installed")
    names = installed.value if isinstance(installed, Known) else {}
    if row["role"] != "entry" or not isinstance(names, dict):
        return False
    return any(name in names for name in str(row["distribution"]).split())


def _refuse_two_targets(request: Request) -> None:
    options = {
        "--python": request.python,
        "--site-packages": request.site_packages,
        "--facts": request.facts,
    }
    given = [option for option, value in options.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other: name one target")
    if request.new and (request.facts or request.site_packages):
        raise UsageError(f"--new and {given[0]} exclude each other: nothing is there yet")
    if (request.extras or request.groups) and not request.requirements:
        raise UsageError("--extra and --group belong to --requirements")


def _read_manifests(request: Request) -> tuple[Manifest, ...]:
    if len(request.requirements) > MANIFEST_LIMIT:
        raise UsageError(f"--requirements: at most {MANIFEST_LIMIT} files")
    from fadoctor.manifests.chosen import choice_of, refuse_unknown  # noqa: PLC0415 -- rarely
    from fadoctor.manifests.read import read_manifest  # noqa: PLC0415 -- only where it is asked for

    choice = choice_of(request.extras, request.groups)
    found = tuple(read_manifest(name, choice) for name in request.requirements)
    refuse_unknown(choice, found)
    return found


def _configurations(request: Request) -> tuple[Configuration, ...]:
    """Return the configurations that are named, read while child processes answer."""
    if not request.configs:
        if request.config_kind:
            raise UsageError("--config-kind belongs to --config")
        return ()
    from fadoctor.configs.reading import read_configurations  # noqa: PLC0415 -- rarely asked for

    return read_configurations(request.configs, request.config_kind)


def _saved(request: Request) -> Environment:
    name, given = request.facts, request.given
    if given is not None:
        return msgspec.structs.replace(given, target=replayed(given, name))
    return facts_in(_read(name), name)


def facts_in(data: bytes, name: str) -> Environment:
    """Return the facts of a text: saved ones, or what other tools print; InputError for neither."""
    # "[2026-11-22 10:00:00,000] [INFO]" opens the report of a tool that logs, and no JSON.
    first = data.lstrip()[:1]
    if first != b"{" and not (first == b"[" and _is_json(data)):
        from fadoctor.pasted.report import read_report  # noqa: PLC0415 -- rarely needed

        return read_report(data, name if name != "-" else "standard input")
    environment = read_facts(data, name)
    return msgspec.structs.replace(environment, target=replayed(environment, name))


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except RecursionError:
        return True
    except msgspec.DecodeError:
        return False
    return True


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(SIZE_LIMIT + 1)
        with Path(name).open("rb") as file:
            return file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise InputError(name, error.strerror or str(error)) from error


def _look(request: Request, environ: Mapping[str, str]) -> tuple[World, Environment]:
    # Late: replaying saved facts needs neither processes nor probes.
    from fadoctor.probes import MACHINE_PROBES  # noqa: PLC0415
    from fadoctor.probes.collect import collect  # noqa: PLC0415
    from fadoctor.probes.nvml import nvml_command  # noqa: PLC0415
    from fadoctor.probes.world import World  # noqa: PLC0415
    from fadoctor.processes.run import remember, run  # noqa: PLC0415
    from fadoctor.targets.discover import TargetRequest, discover  # noqa: PLC0415
    from fadoctor.targets.unnamed import own_interpreter  # noqa: PLC0415

    once = remember(run)
    # The driver's answer takes longest and does not depend on the target: ask now, read it later.
    threading.Thread(target=once, args=(nvml_command(environ),), daemon=True).start()
    meant = request.meant
    wanted = TargetRequest(
        request.python, request.site_packages, request.reason, meant.target, meant.reason,
        request.reads_only,
    )  # fmt: skip
    is_planned = bool(request.requirements or request.new)
    try:
        target = discover(wanted, environ, _cwd(wanted), own_interpreter(), once)
    except TargetError:
        may_be_none = is_planned or request.new_if_none
        if request.python or request.site_packages or not may_be_none:
            raise
        is_planned, target = True, _MACHINE  # what is planned needs no environment to be here
    world = World(target, environ, once, _system(), thorough=request.thorough)
    found = collect(world, MACHINE_PROBES) if is_planned else collect(world)
    if is_planned and not request.requirements:
        new = msgspec.structs.replace(target, kind=NEW)
        found = msgspec.structs.replace(found, target=new)
    return world, found


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
