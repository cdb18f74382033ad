"""What if: the table for an assumed GPU, where no torch is here that could use one.

The tables name a torch with code for that GPU, and a flash-attn for that torch. What is predicted
for those two is predicted as for a requirements file that pins them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.judging.verdicts.audience import SERVER, serves
from fadoctor.knowledge.matrix.kernels import visible_gpus
from fadoctor.knowledge.matrix.query import Matrix, typed_cell
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Absent, Known, fact_text, fact_words
from fadoctor.model.packages import FLASH_ATTN, PACKAGES
from fadoctor.model.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.environment import Environment
    from fadoctor.sources.manifests.planned import Manifest

_BUILDS, _FIT = "torch-builds", "flash-attn-for-torch"
_DEFAULT = "pypi"
_ASSUMED = "what the tables name"


class Pair(NamedTuple):
    """A torch, and what has attention beside it: flash-attn, or vLLM; for AMD's GPUs nothing."""

    torch: str
    version: str = ""
    name: str = PACKAGES[FLASH_ATTN][0]

    @property
    def text(self) -> str:
        """Say of what the table is."""
        if not self.version:
            return f"torch {self.torch}, which is not installed here"
        return f"torch {self.torch} and {self.name} {self.version}, which are not installed here"


def needs_tables(environment: Environment) -> bool:
    """Return whether a GPU is assumed, and no torch is here that could use it."""
    is_asked = any(each.startswith("--gpu ") for each in environment.overlays)
    if not is_asked or environment.target.kind == "manifest" or environment.ranges:
        return False
    is_absent = isinstance(environment.fact("torch.version"), Absent)
    return is_absent or fact_text(environment.fact("torch.build"), "") == "cpu"


def answered_by_tables(prognosis: Prognosis) -> Prognosis:
    """Return what is foreseen with a table about releases that are not here, and a note on that.

    Findings stay those of the environment that is here.
    """
    pair = _pair_for(prognosis)
    if pair is None:
        return prognosis
    from fadoctor.repair.resolution.judge import foresee_planned
    from fadoctor.sources.manifests.environment import planned_environment

    environment, matrix = prognosis.environment, Matrix(prognosis.knowledge.tables)
    planned = planned_environment(environment, (_manifest(pair),), matrix)
    assumed = foresee_planned(planned, prognosis.knowledge, prognosis.ignore).shown
    told = f"The table is about {pair.text}."
    target = environment.target
    target = msgspec.structs.replace(target, notes=(*target.notes, told))
    environment = msgspec.structs.replace(environment, target=target)
    return msgspec.structs.replace(
        prognosis, environment=environment, kernels=assumed.kernels, verdicts=assumed.verdicts
    )


def _manifest(pair: Pair) -> Manifest:
    from fadoctor.sources.manifests.planned import Manifest, Requirement

    place = Place(_ASSUMED, 1)
    wanted = (("torch", pair.torch), (pair.name, pair.version))
    lines = tuple(Requirement(name, place, f"=={version}") for name, version in wanted if version)
    return Manifest(_ASSUMED, "requirements.txt", lines)


def _pair_for(prognosis: Prognosis) -> Pair | None:
    """Return the newest torch for the assumed GPUs, first the one that is here as a CPU build.

    A torch for which flash-attn has a wheel goes before one without.
    """
    matrix = Matrix(prognosis.knowledge.tables)
    facts = prognosis.environment.facts
    if any(gpu.is_amd for gpu in visible_gpus(prognosis.environment)):
        return _for_amd(prognosis, matrix)
    if serves(facts) and (served := _vllm(prognosis, matrix)) is not None:
        return served
    here = fact_text(prognosis.environment.fact("torch.version"), "").partition("+")[0]
    newest = prognosis.knowledge.newest.get(FLASH_ATTN, "")
    first: Pair | None = None
    found = sorted(_torches(prognosis, matrix), key=lambda each: version_key(each[0]), reverse=True)
    for version, row in sorted(found, key=lambda each: each[0] != here):
        keys = {
            "torch": Known(version_part(version, "minor") or "", _ASSUMED),
            "cuda": Known(str(row["cuda"]).partition(".")[0], _ASSUMED),
            "abi": Known(str(row["cxx11_abi"]).lower(), _ASSUMED),
            "python": facts["python.abi_tag"],
            "platform": facts["host.platform"],
        }
        fit = matrix.find(_FIT, keys).cell("version")
        if isinstance(fit, Known):
            return Pair(version, str(fit.value))
        first = first or Pair(version, newest)
    return first


def _for_amd(prognosis: Prognosis, matrix: Matrix) -> Pair | None:
    """Return the newest ROCm build of torch with code for all assumed GPUs; it is for Linux."""
    gpus = visible_gpus(prognosis.environment)
    wanted = {fact_text(gpu.isa, "") for gpu in gpus}
    if fact_text(prognosis.environment.fact("host.os"), "") != "linux":
        return None
    fitting = (
        version
        for row in matrix.tables["torch-rocm-builds"].rows
        if wanted <= set(str(row["gfx"]).split())
        for version in str(row["version"]).split()
    )
    for version in sorted(fitting, key=version_key, reverse=True):
        index = matrix.find("torch-rocm-index", {"version": Known(version, _ASSUMED)}).cell("index")
        if isinstance(index, Known):
            return Pair(f"{version}+{index.value}")
    return None


def _vllm(prognosis: Prognosis, matrix: Matrix) -> Pair | None:
    """Return the newest vLLM whose torch has code for the GPUs, where a configuration starts it."""
    fitting = {version for version, _ in _torches(prognosis, matrix)}
    found = [
        (str(version), str(row.get("torch")).removeprefix("=="))
        for row in matrix.tables["vllm-releases"].rows
        for version in str(row["version"]).split()
    ]
    for version, torch in sorted(found, key=lambda each: version_key(each[0]), reverse=True):
        if torch in fitting:
            return Pair(torch, version, SERVER)
    return None


def _torches(prognosis: Prognosis, matrix: Matrix) -> Iterator[tuple[str, Row]]:
    """Yield the default builds of torch that have code for every assumed GPU."""
    wanted = [
        set(fact_words(matrix.find("architectures", {"cc": gpu.capability}).cell("runs")))
        for gpu in visible_gpus(prognosis.environment)
    ]
    platform = fact_text(prognosis.environment.fact("host.platform"), "")
    for row in matrix.tables[_BUILDS].rows:
        is_default = _DEFAULT in str(row["build"]).split() and row["platform"] == platform
        code = typed_cell(row.get("sm"), "list")
        codes = {str(each) for each in code} if isinstance(code, tuple) else set()
        if is_default and wanted and all(runs & codes for runs in wanted):
            for version in str(row["version"]).split():
                yield version, row
