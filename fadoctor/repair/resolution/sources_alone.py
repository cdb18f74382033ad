"""What an installer compiles: the index has sources alone of it for this platform and Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.on_index import on_index
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.packages import PACKAGES
from fadoctor.model.plan import PlanOutcome
from fadoctor.repair.plan.choices.released import within_both
from fadoctor.repair.plan.choices.releases import python_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan


def compiled_here(environment: Environment, matrix: Matrix) -> Iterator[str]:
    """Yield what is compiled of an environment that manifests describe, in words."""
    platform = fact_text(environment.fact("host.platform"), "")
    python = python_of(environment).rstrip("t")
    served, here = ReadyMadeFiles.of(matrix), InstalledWhere(platform, python)
    files = served.files_for(here)
    of_pypi = _named(environment)
    place = " and ".join(filter(None, (platform, python and f"Python {python}")))
    no_file = f"is compiled: PyPI has no file for {place}"
    told: set[str] = set()
    for name, version in of_pypi.items():
        if not served.is_served(name, version, here):
            continue  # nobody compiles it, and the contradiction says so
        if files.come(name, version) is False:
            told.add(name)
            yield f"{name} {version} {no_file}"
    for name, specifier in environment.ranges.items():
        if specifier and name not in of_pypi and not files.has_one_in(name, specifier):
            told.add(name)
            yield f"{name}{specifier} {no_file}"
    for asker, version in (*of_pypi.items(), *_newest_of_ranges(environment, matrix, served, here)):
        for name, specifier in served.compiled_along(asker, version, here).items():
            if name not in told and name not in of_pypi:
                told.add(name)
                needed = f"{name}{within_both(specifier, '')}"
                yield f"{asker} {version} requires {needed}, which {no_file}"


def _named(environment: Environment) -> dict[str, str]:
    """Return what is there in one version and comes from PyPI: distribution -> version."""
    found = {
        name: version
        for name, version in environment.pinned.items()
        if name not in environment.elsewhere
    }
    for package in PACKAGES:
        version, name, installer, address = (
            environment.fact(f"{package}.{each}")
            for each in ("version", "distribution", "installer", "direct_url")
        )
        is_elsewhere = isinstance(address, Known) or fact_text(installer, "") == "conda"
        if isinstance(version, Known) and isinstance(name, Known) and not is_elsewhere:
            found[str(name.value)] = str(version.value)
    return found


def _newest_of_ranges(
    environment: Environment, matrix: Matrix, served: ReadyMadeFiles, here: InstalledWhere
) -> Iterator[tuple[str, str]]:
    """Yield the newest release in each range of which every release has something compiled."""
    for name, specifier in environment.ranges.items():
        found = on_index(name, matrix, specifier, here.python, here.platform) if specifier else ()
        if found and all(served.compiled_along(name, version, here) for version in found):
            yield name, found[0]


def with_compiled(plan: Plan, environment: Environment, matrix: Matrix) -> Plan:
    """Return a plan that says what an installer compiles: nobody proved that this succeeds."""
    told = tuple(compiled_here(environment, matrix))
    if not told:
        return plan
    if plan.outcome is PlanOutcome.NOTHING:
        return msgspec.structs.replace(plan, notes=(*plan.notes, *told))
    proof = msgspec.structs.replace(plan.proof, unknown=(*plan.proof.unknown, *told))
    return msgspec.structs.replace(plan, proof=proof)
