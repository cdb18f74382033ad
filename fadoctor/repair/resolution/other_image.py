"""Another image for a GPU, where the Python of this one is unknown and no release can be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words, typed_cell
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Known, Unknown, fact_text
from fadoctor.model.packages import TORCH
from fadoctor.model.plan_words import lacks_python
from fadoctor.sources.manifests.images.image_facts import UNSAID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan

_OLD_TORCH = "torch-arch-unsupported"
"""The rule of a torch without code for a GPU."""


def other_image(plan: Plan, environment: Environment, matrix: Matrix) -> Iterator[str]:
    """Yield which torch another image needs, where the one of this image lacks code for a GPU."""
    python = environment.fact("python.version")
    is_of_image = isinstance(python, Unknown) and python.reason.startswith(UNSAID)
    if not (is_of_image and lacks_python(plan) and _OLD_TORCH in plan.proof.errors):
        return
    if oldest := _oldest_build(environment, matrix):
        version, cuda = oldest
        build = f"{TORCH} {version} or newer for CUDA {cuda}"
        yield f"{python.source}: an image with {build} has code for this GPU"


def _oldest_build(environment: Environment, matrix: Matrix) -> tuple[str, str] | None:
    """Return the first torch with code for all GPUs that the driver supports, and its CUDA."""
    facts = [environment.fact(f"{g.text}.compute_capability") for g in environment.subjects("gpu")]
    gpus = {str(fact.value) for fact in facts if isinstance(fact, Known)}
    driver = fact_text(environment.fact("driver.cuda"), "")
    platform = fact_text(environment.fact("host.platform"), "")
    found = [
        (version_key(version), version, str(row["cuda"]))
        for row in matrix.tables["torch-builds"].rows
        if platform in cell_words(row["platform"]) and _has_code(row.get("sm"), gpus)
        if isinstance(row["cuda"], str) and driver
        if version_key(row["cuda"]) <= version_key(driver)
        for version in cell_words(row["version"])
    ]
    _, version, cuda = min(found, default=(None, "", ""))
    return (version_part(version, "minor") or version, cuda) if gpus and version else None


def _has_code(cell: object, gpus: set[str]) -> bool:
    sm = typed_cell(cell, "list")  # type: ignore[arg-type] # a cell of a row
    return isinstance(sm, tuple) and gpus <= set(sm)
