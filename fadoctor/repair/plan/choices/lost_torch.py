"""The torch that was there before an installer put a CPU build over it, as what it left tells."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known
from fadoctor.model.packages import BESIDE_TORCH, EXTENSIONS, PACKAGES, RELEASE_TABLES, TORCH
from fadoctor.repair.plan.choices.wheel_facts import text_of

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment


class LostTorch(NamedTuple):
    """A release of torch, and its CUDA."""

    release: str
    cuda: str


def lost_torch(environment: Environment, matrix: Matrix) -> LostTorch | None:
    """Return the torch whose companions are still there, with the label of a build for CUDA.

    PyPI has no labels: what has one came beside a torch of that index. None where torch is no CPU
    build without a label, where a companion is of this release, or where two tell two of them.
    """
    torch = text_of(environment, f"{TORCH}.version")
    if text_of(environment, "torch.build") != "cpu" or version_part(torch, "local"):
        return None
    found = {told for name in BESIDE_TORCH if (told := _told_by(name, environment, matrix))}
    lost = next(iter(found)) if len(found) == 1 else None
    return lost if lost and lost.release != version_part(torch, "base") else None


def _told_by(package: str, environment: Environment, matrix: Matrix) -> LostTorch | None:
    """Return the torch that a companion with a label was published with, by the tables."""
    version = text_of(environment, f"{package}.version")
    label, base = (version_part(version, part) or "" for part in ("local", "base"))
    rows = matrix.find(RELEASE_TABLES[package], {"version": Known(base, "asked")})
    cuda = matrix.find("torch-indexes", {"build": Known(label, "asked")}).cell("cuda")
    release = rows.cell("with")
    if not (label and isinstance(cuda, Known) and isinstance(release, Known)):
        return None
    several = isinstance(rows.cell("undeclared"), Known)  # it goes with several releases
    return None if several else LostTorch(str(release.value), str(cuda.value))


def cuda_of_labels(environment: Environment, matrix: Matrix) -> str:
    """Return the CUDA that most labels of the files beside torch name, "" where none or two do.

    A label with the major version alone is of a file that goes with every minor version of it.
    """
    labels = [text_of(environment, f"{package}.wheel.cuda") for package in EXTENSIONS]
    beside = (text_of(environment, f"{package}.version") for package in BESIDE_TORCH)
    labels += (version_part(version, "local") or "" for version in beside)
    cells = (matrix.find("torch-indexes", {"build": Known(e, "asked")}) for e in labels if e)
    told = Counter(str(e.value) for row in cells if isinstance(e := row.cell("cuda"), Known))
    most = told.most_common(2)
    return most[0][0] if most and (len(most) == 1 or most[0][1] > most[1][1]) else ""


def minor_of_labels(environment: Environment) -> str:
    """Return the torch that files beside one are for of which an installer decides the release.

    "" where they name none or two, and where a file says which torch comes.
    """
    name = PACKAGES[TORCH][0]
    if name not in environment.ranges and name not in environment.bounded:
        return ""
    minors = {text_of(environment, f"{package}.wheel.torch") for package in EXTENSIONS} - {""}
    return minors.pop() if len(minors) == 1 else ""
