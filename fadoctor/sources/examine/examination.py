"""Facts in the making: read in the background, then what is planned and assumed on top."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Known
from fadoctor.processes.beside import beside
from fadoctor.sources.examine.gather import NEW, no_complaints, probed, saved, search
from fadoctor.sources.examine.request import refuse_two_targets
from fadoctor.sources.probes import MACHINE_PROBES, PROBES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.overlays import Overlays
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.configs.intent import Configuration
    from fadoctor.sources.examine.gather import Complaints, WhereRead
    from fadoctor.sources.examine.request import Request
    from fadoctor.sources.manifests.chosen import ManifestRequest
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.probes.world import World


MANIFEST_LIMIT = 32
"""Manifests of one run."""

MODULES = "entry-modules"
"""The table of the modules whose imports are followed."""


class Examination:
    """Facts in the making: they are read in the background, mostly waiting for child processes.

    Meanwhile the caller loads what judges them. Wrong usage is refused before anything starts.
    """

    def __init__(
        self,
        request: Request,
        environ: Mapping[str, str],
        announce: Callable[[], None] = lambda: None,
        complaints: Complaints = no_complaints,
    ) -> None:
        """Start reading; UsageError where the request names two targets.

        `announce` is called where it is going to take seconds; `complaints` finds what a text shows
        by its words, and judges.
        """
        refuse_two_targets(request)
        self._request = request
        self._environ = environ
        self._announce = announce
        self._complaints = complaints
        self._found: list[WhereRead | BaseException] = []
        self._manifests: tuple[Manifest, ...] = ()
        self._worlds: list[World] = []
        self._wait = None
        if not request.facts:
            self._wait = beside(partial(self._read, search(request, environ)))

    def environment(self, knowledge: Knowledge) -> Environment:
        """Return the facts with the overlays on top.

        Raises TargetError, InputError or UsageError where there are none.
        """
        configurations = _configurations(self._request)
        found = self._read_by_now(knowledge)
        found = self._opened(found, knowledge)
        if self._request.contracts and not self._request.facts:
            found = self._with_contracts(found, knowledge)
        is_new = found.target.kind == NEW
        overlays = self._overlays(found, is_new=is_new)
        asked, note = self._asked_gpu(found, configurations, overlays, knowledge)
        if asked:
            overlays = msgspec.structs.replace(overlays, gpu=(asked,))
        if overlays.described() or self._manifests or is_new:
            # Late: what judges versions is loaded while child processes answer.
            from fadoctor.knowledge.matrix.query import Matrix  # noqa: PLC0415
            from fadoctor.sources.targets.overlay import apply_overlays  # noqa: PLC0415

            matrix = Matrix(knowledge.tables)
            found = apply_overlays(found, overlays, matrix)
            if overlays.platform or overlays.python_version:
                found = self._for_assumed(found)
            if self._manifests or is_new:
                found = self._planned(found, matrix)
                found = _named_new(found) if is_new else found
        if configurations:
            from fadoctor.sources.configs.join import apply_configurations  # noqa: PLC0415

            if any(each.image for each in configurations) and not self._manifests:
                from fadoctor.knowledge.matrix.query import Matrix  # noqa: PLC0415
                from fadoctor.sources.examine.image_programs import in_their_image  # noqa: PLC0415

                read = partial(_read_manifest, self._request)
                found = in_their_image(found, configurations, Matrix(knowledge.tables), read)
            found = apply_configurations(found, configurations)
        notes = (*self._request.meant.notes, note) if note else self._request.meant.notes
        return _noted(found, notes)

    def _planned(self, found: Environment, matrix: Matrix) -> Environment:
        """Return what the manifests make of the machine, decided by a resolver where it may be."""
        if self._request.resolve:
            from fadoctor.processes.run import run  # noqa: PLC0415 -- only where it is asked for
            from fadoctor.sources.manifests.installed.resolved import resolved_environment  # noqa: PLC0415

            return resolved_environment(found, self._manifests, matrix, run, self._environ)
        from fadoctor.sources.manifests.installed.environment import planned_environment  # noqa: PLC0415

        return planned_environment(found, self._manifests, matrix)

    def _read_by_now(self, knowledge: Knowledge) -> Environment:
        """Return what was read meanwhile; saved facts and texts are read here, without waiting."""
        if self._wait is None:
            if self._request.requirements:
                self._manifests = _read_manifests(self._request)
            return saved(self._request, knowledge, self._complaints)
        self._load_probes()
        self._wait()
        [found] = self._found
        if isinstance(found, BaseException):
            raise found
        self._worlds.append(found.world)
        return probed(self._request, found)

    def _load_probes(self) -> None:
        """Load what reads facts while the target's Python starts: its thread would do so after."""
        is_planned = self._request.requirements or self._request.new
        for module, _ in (MACHINE_PROBES if is_planned else PROBES).values():
            import_module(module)

    def _for_assumed(self, found: Environment) -> Environment:
        """Decide for what is assumed what was decided for this machine and its Python."""
        if not isinstance(found.facts.get("packages.installed"), Known):
            return found  # no environment: there is no metadata to read
        from fadoctor.sources.targets import assumed_markers  # noqa: PLC0415 -- rarely

        if not self._worlds:
            return assumed_markers.with_saved_markers(found)
        return assumed_markers.with_assumed_markers(found, self._worlds[0])

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

    def _asked_gpu(
        self,
        found: Environment,
        configurations: tuple[Configuration, ...],
        overlays: Overlays,
        knowledge: Knowledge,
    ) -> tuple[str, str]:
        """Return the GPU that configurations ask a cluster for, where none is here, and a note."""
        count = found.fact("gpu.count")
        is_here = not (isinstance(count, Known) and count.value == 0)
        may_assume = self._request.assumes and not (self._request.facts or overlays.gpu)
        if is_here or not may_assume or not any(each.gpus for each in configurations):
            return "", ""
        from fadoctor.sources.examine.asked_gpu import one_gpu  # noqa: PLC0415 -- rarely

        is_cpu = all(isinstance(found.fact(f"torch.{name}"), Absent) for name in ("cuda", "hip"))
        has_cpu_torch = is_cpu and isinstance(found.fact("torch.version"), Known)
        asked = (gpu for each in configurations for gpu in each.gpus)
        return one_gpu(asked, knowledge.tables, has_cpu_torch=has_cpu_torch)

    def _opened(self, found: Environment, knowledge: Knowledge) -> Environment:
        """Open the builds in the Hub's cache that would be taken, which the tables tell."""
        lying = (found.facts.get(name) for name in ("hub.kernels", "hub.models", "hub.local"))
        there = isinstance(found.facts.get("kernels.version"), Known) and self._worlds
        if not there or not any(isinstance(each, Known) and each.value for each in lying):
            return found
        # Late: few environments have a kernel in the cache.
        from fadoctor.knowledge.matrix.query import Matrix  # noqa: PLC0415
        from fadoctor.sources.probes.hub_binaries import read_builds  # noqa: PLC0415
        from fadoctor.sources.targets.hub import taken_builds  # noqa: PLC0415

        builds = taken_builds(found.facts, Matrix(knowledge.tables))
        opened = read_builds(self._worlds[0], found.facts, builds)
        facts = dict(sorted({**found.facts, **opened}.items()))
        return msgspec.structs.replace(found, facts=facts)

    def _with_contracts(self, found: Environment, knowledge: Knowledge) -> Environment:
        """Return the facts with the names that packages ask of each other in vain."""
        if not any(has_entry(found, row) for row in knowledge.tables[MODULES].rows):
            return found
        from fadoctor.sources.targets.import_name_facts import with_contracts  # noqa: PLC0415 -- few have the stack

        return with_contracts(
            found, knowledge, self._environ, keep=self._request.cache, announce=self._announce
        )

    def _read(self, find: Callable[[], WhereRead]) -> None:
        try:
            if self._request.requirements:
                self._manifests = _read_manifests(self._request)
            self._found.append(find())
        except BaseException as error:  # noqa: BLE001 -- raised again where the result is asked for
            self._found.append(error)


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


def _read_manifests(request: Request) -> tuple[Manifest, ...]:
    if len(request.requirements) > MANIFEST_LIMIT:
        raise UsageError(f"--requirements: at most {MANIFEST_LIMIT} files")
    from fadoctor.sources.manifests.chosen import choice_of, refuse_unknown  # noqa: PLC0415 -- rarely

    choice = choice_of(request.extras, request.groups)
    found = tuple(_read_manifest(request, name, choice) for name in request.requirements)
    refuse_unknown(choice, found)
    return found


def _read_manifest(request: Request, name: str, choice: ManifestRequest | None = None) -> Manifest:
    """Return what one file asks for, a text that a program hands over among them."""
    from fadoctor.sources.manifests.read import read_held, read_manifest  # noqa: PLC0415 -- only where it is asked for

    if name in request.held:
        return read_held(name, request.held[name], choice)
    return read_manifest(name, choice, request.fence)


def _configurations(request: Request) -> tuple[Configuration, ...]:
    """Return the configurations that are named, read while child processes answer."""
    if not request.configs:
        if request.config_kind:
            raise UsageError("--config-kind needs --config")
        return ()
    from fadoctor.sources.configs.reading import read_configurations  # noqa: PLC0415 -- rarely asked for

    return read_configurations(request.configs, request.config_kind, request.fence, request.held)
