"""For which of the GPUs here a build of the Hub names code, as kernels holds them against it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.binary.coverage import CoverageVerdict, coverage
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.hub.variant import Interface, parse_variant
from fadoctor.sources.targets.gpu_code import known_gpus
from fadoctor.sources.targets.hub import GENERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.binary.coverage import GpuRow
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_TARGET = re.compile(r"(?P<target>(?P<capability>\d{1,2}\.\d)[af]?)(?P<ptx>\+PTX)?")
"""``8.0``, ``9.0a``, ``10.0f``, ``9.0+PTX``."""


def hub_code(environment: Environment, matrix: Matrix) -> dict[str, Fact]:
    """Return for each build that would be taken which GPUs here it names, and which it does not.

    In neither list is a GPU of which that is not certain.
    """
    found: dict[str, Fact] = {}
    gpus: list[GpuRow] | None = None
    for generation in GENERATIONS:
        archs = environment.facts.get(f"hub.{generation}.archs")
        if archs is None:
            continue
        found |= _loads(f"hub.{generation}", environment.facts)
        names = (f"hub.{generation}.runs_on", f"hub.{generation}.no_code_for")
        if isinstance(archs, Known) and isinstance(archs.value, tuple):
            gpus = known_gpus(environment, matrix) if gpus is None else gpus
            code = _opened(f"hub.{generation}", "hub.code", environment.facts)
            answers = {gpu.capability: runs(archs.value, code, gpu) for gpu in gpus}
            for name, wanted in zip(names, (True, False), strict=True):
                listed = tuple(cc for cc, answer in answers.items() if answer is wanted)
                found[name] = Known(listed, archs.source)
        else:
            found |= dict.fromkeys(names, archs)
    return found


def _loads(prefix: str, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return whether the build in the cache that is taken would be loaded after this torch."""
    nothing, system = Absent("no compiled file, or not in the cache"), facts.get("host.os")
    build = facts.get(f"{prefix}.build")
    if isinstance(build, Known) and (variant := parse_variant(str(build.value))) is not None:
        on_linux = not isinstance(system, Known) or system.value == "linux"
        if variant.interface is not Interface.PYTHON and on_linux:
            return _said(prefix, _opened(prefix, "hub.loads", facts))
    return {f"{prefix}.loads": nothing, f"{prefix}.says": nothing}


def _said(prefix: str, said: str) -> dict[str, Fact]:
    source = "the build in the Hub's cache"
    if said == "yes":
        return {f"{prefix}.loads": Known(True, source), f"{prefix}.says": Absent(source)}
    if said and not said.startswith("?"):
        return {f"{prefix}.loads": Known(False, source), f"{prefix}.says": Known(said, source)}
    # Not opened, as what would be downloaded: its name and its metadata have to do.
    unread = Unknown(said.lstrip("? "), source) if said else Absent("its libraries were not opened")
    return {f"{prefix}.loads": unread, f"{prefix}.says": unread}


def _opened(prefix: str, name: str, facts: Mapping[str, Fact]) -> str:
    """Return what was read of the build that is taken, beside the torch that is here."""
    wanted = (f"{prefix}.repository", f"{prefix}.branch", f"{prefix}.build", "torch.version")
    parts = [str(f.value) for each in wanted if isinstance(f := facts.get(each), Known)]
    every = facts.get(name)
    if len(parts) < len(wanted):
        return ""
    if isinstance(every, Unknown):
        return f"? {every.reason}"
    if not isinstance(every, Known) or not isinstance(every.value, dict):
        return ""
    kernel, branch, build, torch = parts
    return every.value.get(f"{kernel}@{branch} {build} {torch}", "")


def runs(archs: Iterable[str], code: str, gpu: GpuRow) -> bool | None:
    """Return whether a build has code for a GPU, by its metadata and by what its libraries hold.

    Where libraries hold none it does not run, whatever the metadata say; kernels goes by these.
    """
    named = covers(archs, gpu)
    if not code:
        return named
    if code.startswith("?"):
        return None
    lines = dict.fromkeys(code.split("; "), "1")
    verdict = coverage(lines, gpu).verdict
    if verdict is CoverageVerdict.NONE:
        return False
    return (
        named
        if verdict in (CoverageVerdict.ALL, CoverageVerdict.JIT, CoverageVerdict.MIXED) and named
        else None
    )


def covers(archs: Iterable[str], gpu: GpuRow) -> bool | None:
    """Return whether code for some architectures runs on a GPU; None where that is not certain."""
    doubtful = False
    for each in archs:
        form = _TARGET.fullmatch(each)
        if form is None:
            doubtful = True
            continue
        newer = version_key(form["capability"]) <= version_key(gpu.capability)
        if form["target"] in gpu.runs or (form["ptx"] and newer):
            return True
        doubtful = doubtful or form["target"] in gpu.may_run
    return None if doubtful else False
