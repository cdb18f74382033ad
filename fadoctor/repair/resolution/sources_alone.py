"""What an installer compiles: the index has sources alone of it for this platform and Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.published_files import PublishedFiles
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.knowledge.matrix.versions import is_in, version_part
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.packages import NUMPY, PACKAGES
from fadoctor.model.plan import PlanOutcome
from fadoctor.repair.plan.choices.releases import python_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan


def compiled_here(environment: Environment, matrix: Matrix) -> Iterator[str]:
    """Yield what is compiled of an environment that manifests describe, in words."""
    platform = fact_text(environment.fact("host.platform"), "")
    python = python_of(environment)
    files = PublishedFiles(matrix, platform, python)
    served, here = ReadyMadeFiles(matrix), InstalledWhere(platform, python)
    for package in PACKAGES:
        version, name, installer, address = (
            environment.fact(f"{package}.{each}")
            for each in ("version", "distribution", "installer", "direct_url")
        )
        if not isinstance(version, Known) or not isinstance(name, Known):
            continue
        if not served.is_served(str(name.value), str(version.value), here):
            continue  # nobody compiles it, and the contradiction says so
        is_elsewhere = isinstance(address, Known) or fact_text(installer, "") == "conda"
        is_compiled = files.come(str(name.value), str(version.value)) is False
        is_compiled |= package == NUMPY and _is_too_old(str(version.value), python, matrix)
        if is_compiled and not is_elsewhere:
            place = " and ".join(filter(None, (platform, python and f"Python {python}")))
            yield f"{name.value} {version.value} is compiled: PyPI has no file for {place}"


def _is_too_old(version: str, python: str, matrix: Matrix) -> bool:
    """Return whether no NumPy of this minor version has files for a Python: not its last one."""
    minor = version_part(version, "minor")
    return any(
        version_part(str(row["version"]), "minor") == minor
        and is_in(python.rstrip("t"), str(row["python"])) is False
        for row in matrix.tables["numpy-releases"].rows
    )


def with_compiled(plan: Plan, environment: Environment, matrix: Matrix) -> Plan:
    """Return a plan that says what an installer compiles: nobody proved that this succeeds."""
    told = tuple(compiled_here(environment, matrix))
    if not told:
        return plan
    if plan.outcome is PlanOutcome.NOTHING:
        return msgspec.structs.replace(plan, notes=(*plan.notes, *told))
    proof = msgspec.structs.replace(plan.proof, unknown=(*plan.proof.unknown, *told))
    return msgspec.structs.replace(plan, proof=proof)
