"""One planning problem: the environment, the wishes, and what may be chosen for each package."""

# Circles with `domain`, `broken_requirements`, `far_back`, `follow_ups`, `compatible_newest` and
# `hub_preconditions`, by types alone: each is a part of the problem, and is handed it.

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.verdicts.predict import concerns, decides, decides_a_verdict, forbids
from fadoctor.knowledge.matrix.kernels import Kernels, visible_gpus
from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import Absent, Known, fact_mapping, fact_text
from fadoctor.model.finding import Finding, Severity
from fadoctor.model.packages import (
    ATTENTION,
    COMPILED_BESIDE,
    FRAMEWORKS,
    ORDER,
    PACKAGES,
    PLANNED,
    TABLED_FRAMEWORKS,
    package_of,
)
from fadoctor.model.verdict import Backend, Predicted, Verdict
from fadoctor.repair.plan.choices.candidates import Candidates
from fadoctor.repair.plan.choices.domain import (
    decided_in_order,
    domain,
    is_of_another_vendor,
    packages_of,
)
from fadoctor.repair.plan.choices.far_back import oldest_torch
from fadoctor.repair.plan.choices.indexes import CPU
from fadoctor.repair.plan.choices.name_bounds import NameBounds
from fadoctor.repair.plan.choices.offers import offers_of
from fadoctor.repair.plan.choices.pair_bounds import PairBounds
from fadoctor.repair.plan.choices.release_months import ReleaseMonths
from fadoctor.repair.plan.choices.released import accepts, is_there
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.ruled_out import RuledOut
from fadoctor.repair.plan.hub.hub_preconditions import offers_beside_pair
from fadoctor.repair.plan.hub.hub_route import HubRoute, hub_packages, is_offered
from fadoctor.repair.plan.search.lessons import Lessons
from fadoctor.repair.plan.search.suiting import Suiting
from fadoctor.repair.plan.search.tabled_ends import TabledEnds
from fadoctor.repair.plan.search.wishes import HALF, PAIR, may_work, without_hub
from fadoctor.repair.plan.states.backend_predictions import Cells
from fadoctor.repair.plan.states.broken_requirements import Quarrels
from fadoctor.repair.plan.states.contract_state import contract_packages
from fadoctor.repair.plan.states.deciding import Deciding
from fadoctor.repair.plan.states.left_unmet import LeftUnmet, other_askers
from fadoctor.repair.plan.states.post_state import PostState
from fadoctor.repair.plan.states.relations import Judge, placed, relations_of
from fadoctor.repair.plan.states.requirements import (
    Requirements,
    requirements_of,
    told_by_facts,
    violations,
    with_pairs,
)
from fadoctor.sources.targets.tegra import is_tegra

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.knowledge.matrix.kernels import Gpu
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.wishes import Wishes
    from fadoctor.repair.plan.states.backend_predictions import Memory
    from fadoctor.repair.plan.states.relations import Relation

NO_GPU = "--gpu none"
"""The overlay that says that there is none."""


class Session:
    """What planning needs of the knowledge base, whatever the environment."""

    def __init__(self, knowledge: Knowledge, matrix: Matrix) -> None:
        """Take the knowledge, and all tables: those that are compiled apart included."""
        self.knowledge, self.matrix = knowledge, matrix
        self.candidates = Candidates(self.matrix)
        self.hub = HubRoute(self.matrix, self.candidates.helpers)
        self.post = PostState(self.matrix)
        self.bounds = NameBounds(self.matrix)
        self.pairs = PairBounds(self.matrix)
        self.months = ReleaseMonths(self.matrix)
        self.relations = relations_of(knowledge.rules)
        self.judge = Judge(self.matrix)
        self.verdicts: Memory = {}
        self.tabled = TabledEnds(self.matrix, self.candidates.listed)
        self._suiting: dict[tuple[str, str], Suiting] = {}

    def suiting(self, environment: Environment) -> Suiting:
        """Return what is known of the releases for the Python and platform of an environment."""
        place = (python_of(environment), fact_text(environment.fact("host.platform"), ""))
        if place not in self._suiting:
            helpers = self.candidates.helpers
            self._suiting[place] = Suiting(environment, helpers, self.bounds, self.pairs)
        return self._suiting[place]


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
        self.ruled_out = RuledOut(environment, session.matrix)
        self.others = {**told_by_facts(environment), **requirements}
        self.lessons = base.lessons
        self.kernels = Kernels(environment, session.matrix)
        self.has_amd = has_amd(environment)
        self.is_from_nothing = isinstance(environment.fact("torch.version"), Absent)
        self.hub = hub_packages(session.hub, self.kernels, wishes, base.findings)
        tabled = {*ORDER, *PLANNED, PAIR[1]}
        ahead = offers_beside_pair(session, environment, self.hub, wishes.asked, tabled)
        self.offers = ahead | offers_of(base.findings, tabled, environment)
        self.offers |= other_askers(self, self.offers)
        there = (*self.offers, *self.hub, *offered_to_ask(base.findings), *self.lessons.named)
        there += session.candidates.listed.drawn_by_frameworks(
            name
            for name in TABLED_FRAMEWORKS
            if name in wishes.asked or is_there(environment, name)
        )
        self.packages = () if self.has_amd else packages_of(environment, wishes.asked, there)
        self.left_unmet = LeftUnmet(self)
        self.by_age = tuple(sorted(self.packages, key=lambda name: name not in FRAMEWORKS))
        """The packages whose newest release matters most come first."""
        self.wishes = wishes if self._can_come_from_the_hub() else without_hub(wishes)
        present = {"", *self._present()}
        judged = (r for r in session.relations if r.rule.id not in base.left_out)
        deciding = Deciding(environment, session.matrix, session.post.same_folder)
        contracts = contract_packages(environment)
        self.relations = tuple(placed(judged, present, contracts, deciding.of))
        self.worked = frozenset(
            (v.gpu, v.backend, v.dtype) for v in base.verdicts if v.predicted is Predicted.WORKS
        )
        self.computes = any(backend is Backend.SDPA_MATH for _, backend, _ in self.worked)
        """Whether the torch that is here computes on one of the GPUs."""
        self.oldest_torch = oldest_torch(self, base.findings)
        self.gpus = visible_gpus(environment)
        self.can_work = frozenset(
            (gpu, backend) for gpu, backend in wishes.cells if may_work(self.kernels, backend, gpu)
        )
        """Wished cells that some release is known to serve: the others stay undecided at best."""
        machine = [(gpu.label, str(gpu.capability)) for gpu in self.gpus]
        system = fact_text(environment.fact("host.os"), "")
        self.cells = Cells(self.kernels, (*machine, system), self.worked, session.verdicts)
        self.post = PostState(session.matrix, environment)
        self.trial = self.post.without_advice()
        self.judge = session.judge.within(environment).judge
        self.quarrels = Quarrels(self)
        needs = self.requirements(environment)
        self.broken_before = {(v.distribution, v.needs) for v in violations(environment, needs)}
        self.there = frozenset(name for name in self.packages if is_there(environment, name))
        """Of the packages that are decided those that are installed."""
        self.steps = 0
        """Of searches for its plan until now."""
        self.order = decided_in_order(self.packages, self.there, wishes, self._idle())

    def _can_come_from_the_hub(self) -> bool:
        return PAIR[1] in self.packages or is_there(self.environment, PAIR[1])

    def _idle(self) -> set[str]:
        """Return the packages for attention that are there, and bring nothing that works."""
        backends = {backend for _, backend, _ in self.worked}
        of_use = {name for backend in backends for name in self.kernels.brought_by(backend)}
        return {name for name in ATTENTION if name in self.there} - of_use

    def _present(self) -> tuple[str, ...]:
        """Return the packages that are there, or may be afterwards."""
        facts = self.environment.fact
        return tuple(
            name
            for name in PACKAGES
            if name in self.packages or not isinstance(facts(f"{name}.version"), Absent)
        )

    def domain(
        self, package: str, environment: Environment, decided: Collection[str] = ()
    ) -> list[Choice]:
        """Return what may be chosen for a package beside what is chosen already, best first."""
        return domain(self, package, environment, decided)

    def packages_after(self, state: Collection[str]) -> frozenset[str]:
        """Return the packages that a state has not decided about."""
        return frozenset(name for name in self.packages if name not in state)

    def is_needed_no_more(self, package: str, environment: Environment) -> bool:
        """Return whether something required a package, and nothing of a state does."""
        before = requirements_of(self.environment, self.others)
        if not any(package in needs for needs in before.values()):
            return False
        there = fact_mapping(environment.fact("packages.installed"))
        after = requirements_of(environment, self.others)
        return not any(package in needs for name, needs in after.items() if there.get(name))

    def lowers(self, choice: Choice) -> bool:
        """Return whether a choice takes a framework back to a release before the installed one."""
        here = self.environment.fact(f"{choice.package}.version")
        if choice.package not in FRAMEWORKS or not isinstance(here, Known):
            return False
        return bool(choice.version) and is_older(choice.version, str(here.value)) is True

    def is_left_open(self, choice: Choice) -> bool:
        """Return whether a choice is in the range in which a file leaves its package open."""
        asked = self.environment.ranges.get(choice.distribution)
        return asked is not None and bool(choice.version) and accepts(asked, choice.version)

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
        failing = [j for j in judgements if forbids(j) and decides_a_verdict(j)]
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
        if self._is_of_nobody(each):
            return True
        others = {g.label for g in self.gpus if g.subject != each.about.bindings["gpu"]}
        return any(
            v.predicted is Predicted.WORKS
            and v.gpu in others
            and concerns(each, self.kernels, v.backend)
            for v in verdicts
        )

    def may_be_excused(self, _: Iterable[Verdict], each: Judgement) -> bool:
        """Return whether it is about one of several GPUs, or what nobody asked for."""
        return self._is_of_nobody(each) or (len(self.gpus) > 1 and "gpu" in each.about.bindings)

    def _is_of_nobody(self, each: Judgement) -> bool:
        """Return whether a rule keeps only backends from working that nobody asked for.

        Where nothing is there yet that is no reason for an older torch: a triton that wants a newer
        driver comes along with each that flash-attn has files for.
        """
        affects = each.rule.affects
        if not self.is_from_nothing or affects is None or affects.extension:
            return False
        if self._is_about_what_was_asked(each):
            return False
        wished = {backend for _, backend in self.wishes.cells}
        return bool(affects.backends and wished) and wished.isdisjoint(affects.backends)

    def _is_about_what_was_asked(self, each: Judgement) -> bool:
        """Return whether a rule tells how what comes along goes with what was asked for."""
        asked = {*self.wishes.asked} - {"torch"}
        return any(
            r.rule.id == each.rule.id and not asked.isdisjoint(r.mentions) for r in self.relations
        )

    def needs_gpu(self, package: str) -> bool:
        """Return whether a package computes on GPUs alone: a file for CUDA, or one that needs it.

        What its newest release requires for attention has no kernels for a CPU.
        """
        if package in ATTENTION or package in COMPILED_BESIDE:
            return True
        newest = self.session.candidates.listed.every(package) if package in PLANNED else ()
        needs = fact_mapping(newest[0].facts[f"{package}.requires"]) if newest else {}
        return any(package_of(name, name) in ATTENTION for name in needs)

    @property
    def is_without_gpu(self) -> bool:
        """Whether there surely is no GPU: an image for one may be built where none is seen.

        Somebody said so, or has installed the torch for a CPU there.
        """
        facts = self.environment.fact
        seen = facts("gpu.count")
        has_none = isinstance(seen, Known) and seen.value == 0
        is_for_cpu = has_none and fact_text(facts("torch.build"), "") == CPU
        return NO_GPU in self.environment.overlays or is_for_cpu

    @property
    def is_beyond_tables(self) -> bool:
        """Whether nobody has written down what there is: for ROCm, this platform, this JetPack."""
        known = self.session.candidates.indexes.knows(self.platform)
        return self.has_amd or not known or self.is_left_to_jetpack

    @property
    def is_left_to_jetpack(self) -> bool:
        """Whether this is a Jetson on which no build of the tables is known to run."""
        jetson = is_tegra(self.environment.facts, self.session.matrix)
        return jetson and not self.session.candidates.torch(self.environment)

    @property
    def has_no_index(self) -> bool:
        """Whether the tables have PyPI's builds of torch for this platform, and no others."""
        found = self.session.candidates.torch(self.environment)
        return bool(found) and not any(choice.index for choice in found)

    @property
    def platform(self) -> str:
        """The platform that is planned for, "" where it is not known."""
        return fact_text(self.environment.fact("host.platform"), "")

    def requirements(self, environment: Environment) -> Requirements:
        """Return what every package requires in an environment, and what it goes with."""
        found = self._with_what_comes(requirements_of(environment, self.others), environment)
        return with_pairs(found, environment, self.session.matrix, self.session.bounds)

    def _with_what_comes(self, found: Requirements, environment: Environment) -> Requirements:
        """Return the requirements with those of releases that come: only tables have read them.

        What the release that goes requires says nothing of the one in its place. An installer
        adds what is missing, so only what is there can be of a wrong version.
        """
        needs = self.session.candidates.helpers.needs
        before = fact_mapping(self.environment.fact("packages.installed"))
        there = fact_mapping(environment.fact("packages.installed"))
        for name, version in there.items():
            if name in self.others and version != before.get(name) and not package_of(name):
                found.pop(name, None)
            if version and name not in found:
                asked = needs(name, version, self.platform)
                bounds = {each: s for each, s in asked.items() if each in there}
                if bounds:
                    found[name] = bounds
        return found


def has_amd(environment: Environment) -> bool:
    """Return whether a visible GPU is AMD's: the tables hold releases for CUDA only.

    ROCm is for Linux and Windows: on a Mac an AMD GPU changes no build of torch.
    """
    system = environment.fact("host.os")
    if isinstance(system, Known) and system.value == "macos":
        return False
    vendors = (environment.fact(f"{gpu.subject}.vendor") for gpu in visible_gpus(environment))
    return any(isinstance(vendor, Known) and vendor.value == "amd" for vendor in vendors)


def is_on_amd(environment: Environment) -> bool:
    """Return whether GPU or torch are AMD's, and the first GPU is not NVIDIA's."""
    is_amd = has_amd(environment) or is_for_rocm(environment)
    return is_amd and not is_of_another_vendor(environment)


def is_for_rocm(environment: Environment) -> bool:
    """Return whether torch is a build for AMD's GPUs, by what it says or by its label."""
    has_hip = isinstance(environment.fact("torch.hip"), Known)
    return has_hip or fact_text(environment.fact("torch.build"), "") == "rocm"


def offered_to_ask(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the packages for attention that a fix installs, and that are decided about then."""
    return tuple(name for name in ATTENTION if is_offered(name, findings))


class Base(msgspec.Struct, frozen=True):
    """What is known of the environment before any change."""

    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    left_out: frozenset[str] = frozenset()
    """Ids of rules that broke."""
    lessons: Lessons = Lessons()
    """What an installer has refused."""
