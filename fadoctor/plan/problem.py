"""One planning problem: the environment, the wishes, and what may be chosen for each package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.matrix.kernels import Kernels, visible_gpus
from fadoctor.matrix.query import Matrix
from fadoctor.matrix.versions import parse_version
from fadoctor.model.catalogue import PACKAGES
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.model.finding import Finding, Outcome, Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.verdict import Backend, Predicted, Verdict
from fadoctor.plan.build import build_choices
from fadoctor.plan.candidates import RELEASES, Candidates, common
from fadoctor.plan.choice import Choice, Kind, distribution_of, keep, package_of, remove
from fadoctor.plan.compiled import AFTER, is_damaged
from fadoctor.plan.post_state import PostState
from fadoctor.plan.reads import Reading, values_of
from fadoctor.plan.relations import Judge, relations_of
from fadoctor.plan.requirements import Requirements, requirements_of, violations
from fadoctor.plan.wishes import HALF
from fadoctor.verdicts.obstacles import obstacle
from fadoctor.verdicts.predict import concerns, decides, decides_a_verdict, predict_backends

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fadoctor.engine.evaluate import Judgement
    from fadoctor.matrix.kernels import Gpu
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge, Table
    from fadoctor.plan.relations import Relation
    from fadoctor.plan.wishes import Wishes

_ORDER = ("torch", "triton", "flash_attn", "flash_attn_3", "flash_attn_4", "xformers")
"""The packages that are decided first; the others follow in the order of the catalogue."""

REMOVABLE = ("flash_attn", "flash_attn_3", "flash_attn_4", "xformers", "triton")
"""What may go where nothing else helps. Frameworks are why an environment exists: they stay."""

# transformers>=4.37, flash-attn==2.8.3
_SPECIFIER = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})((?:[<>=!~]=?[^<>=!~,]{1,60},?){0,6})")
_LOWEST = re.compile(r"(?:>=|==|~=)\s*([0-9][0-9A-Za-z.+!]{0,60})(?:,|$)")


class Session:
    """What planning needs of the knowledge base, whatever the environment."""

    def __init__(self, knowledge: Knowledge, apart: Mapping[str, Table]) -> None:
        """Take the knowledge and the tables that are compiled apart."""
        self.knowledge = knowledge
        self.matrix = Matrix({**knowledge.tables, **apart})
        self.candidates = Candidates(self.matrix)
        self.post = PostState(self.matrix)
        self.relations = relations_of(knowledge.rules)
        self.judge = Judge(self.matrix).judge
        self.verdicts: dict[object, tuple[Verdict, ...]] = {}
        """By GPUs, backend, what is held against it, versions of its packages, judgements."""


class Problem:
    """One environment with wishes."""

    def __init__(
        self,
        session: Session,
        environment: Environment,
        wishes: Wishes,
        base: Base,
        requirements: Mapping[str, dict[str, str]],
    ) -> None:
        """Take the environment as it is, with variables already set as they should be."""
        self.session = session
        self.environment = environment
        self.wishes = wishes
        self.others = dict(requirements)
        self.kernels = Kernels(environment, session.matrix)
        self.is_foreign = has_amd(environment)
        self.offers = _offers(base.findings)
        self.packages = self._packages()
        present = {"", *self._present()}
        judged = (r for r in session.relations if r.rule.id not in base.left_out)
        self.relations = tuple(r for r in judged if r.package in present)
        self.worked = frozenset(
            (v.gpu, v.backend, v.dtype) for v in base.verdicts if v.predicted is Predicted.WORKS
        )
        self.gpus = visible_gpus(environment)
        self._gpu_key = tuple((gpu.label, str(gpu.capability)) for gpu in self.gpus)
        self._versions = {
            backend: [Reading(f"{name}.version") for name in self.kernels.brought_by(backend)]
            for backend in Backend
        }
        needs = requirements_of(environment, self.others)
        self.broken_before = {(v.distribution, v.needs) for v in violations(environment, needs)}

    def _present(self) -> tuple[str, ...]:
        """Return the packages that are there, or may be afterwards."""
        facts = self.environment.fact
        return tuple(
            name
            for name in PACKAGES
            if name in self.packages or not isinstance(facts(f"{name}.version"), Absent)
        )

    def _packages(self) -> tuple[str, ...]:
        """Return the packages about which there is something to decide, in order."""
        if self.is_foreign:
            return ()
        found = {name for name in _ORDER if self._is_active(name)}
        found |= {name for name in RELEASES if self._is_active(name)}
        found |= {"triton"} | set(self.offers)
        ordered = [name for name in (*_ORDER, *PACKAGES) if name in found]
        ordered += sorted(found - set(ordered))
        return tuple(dict.fromkeys(ordered))

    def _is_active(self, package: str) -> bool:
        there = not isinstance(self.environment.fact(f"{package}.version"), Absent)
        return there or package in self.wishes.asked or package == "torch"

    def domain(self, package: str, environment: Environment) -> list[Choice]:
        """Return what may be chosen for a package beside what is chosen already, best first."""
        if package in self.wishes.kept or self._is_not_ours(package):
            return [keep(package)]
        return [keep(package), *self._others(package, environment)]

    def _is_not_ours(self, package: str) -> bool:
        """Return whether the tables know nothing that could stand in for a package.

        An own build of torch (NGC's, a nightly, conda's) is replaced only where torch is asked for.
        """
        build = self.environment.fact("torch.build")
        own = isinstance(build, Known) and build.value in ("other", "rocm")
        return package == "torch" and own and "torch" not in self.wishes.asked

    def _others(self, package: str, environment: Environment) -> list[Choice]:
        candidates = self.session.candidates
        match package:
            case "torch":
                found = list(candidates.torch(environment))
            case "triton":
                found = list(candidates.triton(environment))
            case "flash_attn":
                found = list(candidates.flash_attn(environment))
                if self.wishes.allow_build:
                    tools = self.wishes.with_tools
                    matrix = self.session.matrix
                    found += build_choices(environment, matrix, candidates, with_tools=tools)
            case _:
                found = list(candidates.releases(package, environment))
        there = not isinstance(environment.fact(f"{package}.version"), Absent)
        if there:
            found = [choice for choice in found if not _is_same(choice, self.environment)]
        found += [offer for offer in self.offers.get(package, ()) if package not in RELEASES]
        if package in REMOVABLE and there:
            found.append(remove(package))
        return found

    def predict(
        self,
        environment: Environment,
        judgements: tuple[Judgement, ...],
        backends: tuple[Backend, ...],
    ) -> tuple[Verdict, ...]:
        """Return the verdicts of some backends; what was asked before is remembered."""
        if not self.gpus:
            return ()
        deciding = [j for j in judgements if decides_a_verdict(j)]
        found: list[Verdict] = []
        for backend in backends:
            keys = values_of(self._versions[backend], environment.facts)
            mine = [j for j in deciding if concerns(j, self.kernels, backend)]
            because = ((j.rule.id, j.subject, j.outcome) for j in mine)
            hindrance = obstacle(environment, self.kernels, backend)
            asked = (self._gpu_key, backend, hindrance, *keys, *because)
            verdicts = self.session.verdicts.get(asked)
            if verdicts is None:
                kernels = Kernels(environment, self.session.matrix)
                there = [backend] if kernels.is_installed(backend) else []
                verdicts = predict_backends(kernels, mine, there)
                self.session.verdicts[asked] = verdicts
            found += verdicts
        return tuple(found)

    def can_forbid(self, relation: Relation, backends: Iterable[Backend]) -> bool:
        """Return whether a rule can keep one of some backends from working."""
        rule, package = relation.rule, relation.package
        if rule.affects is None or rule.severity is not Severity.ERROR:
            return False
        if rule.affects.extension and package:
            return any(package in self.kernels.brought_by(backend) for backend in backends)
        return rule.affects.extension or not set(rule.affects.backends).isdisjoint(backends)

    def doomed(
        self, judgements: Iterable[Judgement], cells: Sequence[tuple[Gpu, Backend]]
    ) -> list[tuple[Gpu, Backend]]:
        """Return the cells that rules already forbid in every half-precision dtype."""
        if not cells:
            return []
        failing = [j for j in judgements if j.outcome is Outcome.FAIL and decides_a_verdict(j)]
        return [
            (gpu, backend)
            for gpu, backend in cells
            if all(
                any(decides(each, self.kernels, gpu, backend, dtype) for each in failing)
                for dtype in HALF
            )
        ]

    def is_excused(self, verdicts: Iterable[Verdict], each: Judgement) -> bool:
        """Return whether what fails on one GPU works on another.

        Removing the package would take it from that one. Settings must tell the GPUs apart.
        """
        if not self.may_be_excused(verdicts, each):
            return False
        others = {g.label for g in self.gpus if g.subject != each.about.bindings["gpu"]}
        return any(
            v.predicted is Predicted.WORKS
            and v.gpu in others
            and concerns(each, self.kernels, v.backend)
            for v in verdicts
        )

    def may_be_excused(self, _: Iterable[Verdict], each: Judgement) -> bool:
        """Return whether it is about one of several GPUs."""
        return len(self.gpus) > 1 and "gpu" in each.about.bindings

    def requirements(self, environment: Environment) -> Requirements:
        """Return what every package requires in an environment."""
        return requirements_of(environment, self.others)


def has_amd(environment: Environment) -> bool:
    """Return whether a visible GPU is AMD's: the tables hold releases for CUDA only."""
    vendors = (environment.fact(f"{gpu.subject}.vendor") for gpu in visible_gpus(environment))
    return any(isinstance(vendor, Known) and vendor.value == "amd" for vendor in vendors)


class Base(msgspec.Struct, frozen=True):
    """What is known of the environment before any change."""

    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    left_out: frozenset[str] = frozenset()
    """Ids of rules that are ignored, or that broke."""


def _is_same(choice: Choice, environment: Environment) -> bool:
    """Return whether a choice is what is installed already, of the same build."""
    version = environment.fact(f"{choice.package}.version")
    build = choice.facts.get("torch.build")
    if not isinstance(version, Known) or version.value != choice.version:
        return False
    if is_damaged(environment.facts, choice.package):
        return False
    if choice.package != "torch":
        return choice.kind is Kind.INSTALL
    here = environment.fact("torch.build")
    return isinstance(here, Known) and isinstance(build, Known) and here.value == build.value


def _offers(findings: Iterable[Finding]) -> dict[str, tuple[Choice, ...]]:
    """Return what the rules' fixes install, for packages that no table has the releases of."""
    found: dict[str, dict[str, Choice]] = {}
    tabled = {*_ORDER, *RELEASES}
    for finding in findings:
        if finding.severity is Severity.NOTE:
            continue
        for fix in finding.fixes:
            for step in fix.steps:
                for item in step.items if step.kind is StepKind.INSTALL else ():
                    choice = offer(item, step.index)
                    if choice is not None and choice.package not in tabled:
                        found.setdefault(choice.package, {})[choice.key] = choice
    return {package: tuple(choices.values()) for package, choices in found.items()}


def offer(requirement: str, index: str = "") -> Choice | None:
    """Return the choice to install a requirement; judged as the lowest version that it allows."""
    match = _SPECIFIER.fullmatch(requirement.replace(" ", ""))
    if match is None:
        return None
    name = re.sub(r"[-_.]+", "-", match[1]).lower()
    package = package_of(name, name)
    lowest = _LOWEST.search(match[2] or "")
    version = lowest[1] if lowest and parse_version(lowest[1]) else ""
    facts = {}
    if package in PACKAGES:
        facts = common(package, version)
        unknown = Unknown("the installer chooses it", AFTER)
        if not version:
            facts[f"{package}.version"] = unknown
    requirement = f"{distribution_of(package)}{match[2] or ''}"
    return Choice(package, Kind.INSTALL, requirement, version, requirement, index, facts=facts)
