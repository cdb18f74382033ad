"""What if: the table for an assumed GPU, where no torch is here that could use one.

The tables name a torch with code for that GPU, and a flash-attn for that torch. What is predicted
for those two is predicted as for a requirements file that pins them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.judging.engine.judge import order_of
from fadoctor.judging.verdicts.audience import SERVER, serves
from fadoctor.knowledge.matrix.kernels import visible_gpus
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import Matrix, typed_cell
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Absent, Known, fact_text, fact_words
from fadoctor.model.finding import Severity
from fadoctor.model.packages import (
    ATTENTION,
    BACKENDS,
    FLASH_ATTN,
    PACKAGES,
    SGLANG,
    TRANSFORMERS,
)
from fadoctor.model.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.manifests.planned import Manifest

_BUILDS, _FIT = "torch-builds", "flash-attn-for-torch"
_OF_A_SETTING = ("config.", "gpu")
"""What the evidence begins with of a finding about a setting that a GPU does not support."""
_SETTINGS, _LOADER = "framework-settings", TRANSFORMERS
_DEFAULT = "pypi"
_OWN_PACKAGES = tuple(each for each in ATTENTION if each.startswith(f"{FLASH_ATTN}_"))
"""Packages with a FlashAttention of their own, beside flash-attn."""
_WHEELS = "flash-attn-wheels-community"
_ASSUMED = "what the tables name"


class Pair(NamedTuple):
    """A torch, and what has attention beside it: flash-attn, or vLLM; for AMD's GPUs nothing."""

    torch: str
    version: str = ""
    name: str = PACKAGES[FLASH_ATTN][0]
    beside: tuple[tuple[str, str], ...] = ()
    """What the configuration asks for besides: distribution and release."""

    @property
    def packages(self) -> tuple[tuple[str, str], ...]:
        """Distributions and releases, torch first."""
        own = ((self.name, self.version),) if self.version else ()
        return (("torch", self.torch), *own, *self.beside)

    @property
    def text(self) -> str:
        """Say of what the table is."""
        *rest, last = (" ".join(each) for each in self.packages)
        if not rest:
            return f"{last}, which is not installed here"
        return f"{', '.join(rest)} and {last}, which are not installed here"


def needs_tables(environment: Environment) -> bool:
    """Return whether a GPU is assumed, and no torch is here that could use it."""
    is_asked = any(each.startswith("--gpu ") for each in environment.overlays)
    if not is_asked or environment.target.kind == "manifest" or environment.ranges:
        return False
    is_absent = isinstance(environment.fact("torch.version"), Absent)
    return is_absent or fact_text(environment.fact("torch.build"), "") == "cpu"


def answered_by_tables(prognosis: Prognosis) -> Prognosis:
    """Return what is foreseen with a table about releases that are not here, and a note on that.

    Findings are those of the environment that is here, and what a configuration asks of the GPU
    that those releases do not do there.
    """
    pair = _pair_for(prognosis)
    if pair is None:
        return prognosis
    pair = pair._replace(beside=_asked_for(prognosis, pair))
    from fadoctor.repair.resolution.judge import foresee_planned
    from fadoctor.sources.manifests.installed.environment import planned_environment

    environment, matrix = prognosis.environment, Matrix(prognosis.knowledge.tables)
    planned = planned_environment(environment, (_manifest(pair),), matrix)
    assumed = foresee_planned(planned, prognosis.knowledge, prognosis.ignore).shown
    told = f"The table is about {pair.text}."
    target = environment.target
    target = msgspec.structs.replace(target, notes=(*target.notes, told))
    environment = msgspec.structs.replace(environment, target=target)
    assessment = _with_configured(prognosis, assumed.assessment)
    return msgspec.structs.replace(
        prognosis, environment=environment, assessment=assessment,
        kernels=assumed.kernels, verdicts=assumed.verdicts,
    )  # fmt: skip


def _with_configured(prognosis: Prognosis, assumed: Assessment) -> Assessment:
    """Return what was found here, and the errors of assumed releases that a setting makes.

    What a cell of the table says is no finding.
    """
    here = prognosis.assessment
    told = {name for each in here.findings for name in (each.rule_id, *each.consequences)}
    beside = {
        rule.id
        for rule in prognosis.knowledge.rules
        if rule.id not in told and rule.affects is not None and rule.affects.nothing
    }
    more = [
        msgspec.structs.replace(each, locations=_of_files(each))
        for each in assumed.findings
        if each.severity is Severity.ERROR
        and each.rule_id in beside
        and all(any(part.fact.startswith(of) for part in each.evidence) for of in _OF_A_SETTING)
    ]
    findings = tuple(sorted((*here.findings, *more), key=order_of))
    return msgspec.structs.replace(here, findings=findings) if more else here


def _of_files(finding: Finding) -> tuple[Place, ...]:
    return tuple(each for each in finding.locations if each.file != _ASSUMED)


def _manifest(pair: Pair) -> Manifest:
    from fadoctor.sources.manifests.planned import Manifest, Requirement

    place = Place(_ASSUMED, 1)
    lines = tuple(Requirement(name, place, f"=={version}") for name, version in pair.packages)
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


def _asked_for(prognosis: Prognosis, pair: Pair) -> tuple[tuple[str, str], ...]:
    """Return the package of the FlashAttention that a configuration names: its newest release."""
    facts, knowledge = prognosis.environment.facts, prognosis.knowledge
    asked, framework = (
        fact_text(facts[name], "") if name in facts else ""
        for name in ("config.attention", "config.framework")
    )
    packages = {
        BACKENDS[backend]
        for row in knowledge.tables[_SETTINGS].rows
        if asked and row["framework"] in (framework, _LOADER) and _names(row, asked)
        for backend in str(row["backend"]).split()
        if backend in BACKENDS
    }
    found = [(PACKAGES[each][0], each) for each in sorted(packages) if each in _OWN_PACKAGES]
    if asked and framework == SGLANG:
        found.append((PACKAGES[SGLANG][0], SGLANG))
    return tuple(
        (name, version)
        for name, each in found
        if name != pair.name and (version := _newest(name, each, knowledge))
    )


def _newest(name: str, package: str, knowledge: Knowledge) -> str:
    """Return the newest release that tables name, of the index or of a page of wheels."""
    if package in knowledge.newest:
        return knowledge.newest[package]
    rows = load_apart(knowledge.tables)[_WHEELS].rows
    found = {str(row["version"]) for row in rows if row["package"] == name}
    return max(found, key=version_key, default="")


def _names(row: Row, asked: str) -> bool:
    cell = row.get("settings")
    return isinstance(cell, dict) and asked in (str(each).strip('"') for each in cell.values())


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
    """Yield the builds of torch that have code for every assumed GPU.

    Those are the builds of PyPI; where PyPI has torch for the CPU alone, those of torch's indexes.
    """
    wanted = [
        set(fact_words(matrix.find("architectures", {"cc": gpu.capability}).cell("runs")))
        for gpu in visible_gpus(prognosis.environment)
    ]
    platform = fact_text(prognosis.environment.fact("host.platform"), "")
    rows = [row for row in matrix.tables[_BUILDS].rows if row["platform"] == platform]
    fitting = [row for row in rows if wanted and all(runs & _codes(row) for runs in wanted)]
    of_pypi = [row for row in fitting if _DEFAULT in _builds(row)]
    for row in of_pypi or fitting:
        label = "" if of_pypi else f"+{_builds(row)[0]}"
        for version in str(row["version"]).split():
            yield f"{version}{label}", row


def _builds(row: Row) -> list[str]:
    return str(row["build"]).split()


def _codes(row: Row) -> set[str]:
    code = typed_cell(row.get("sm"), "list")
    return {str(each) for each in code} if isinstance(code, tuple) else set()
