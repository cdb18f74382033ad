"""The route by the Hub: the exact transformers and kernels by which an attention comes from there.

Where flash-attn is not installed, transformers fetches a compiled kernel through the package
kernels, if that is one that it accepts. A release of kernels is chosen for the transformers that
is there by then, never by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.kernels import computing_gpus
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Absent, Known, fact_text
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import HUGGINGFACE_HUB, KERNELS, TORCH, TRANSFORMERS
from fadoctor.model.verdict import Backend
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.wheel_facts import text_of
from fadoctor.repair.plan.search.wished_names import HUB
from fadoctor.repair.plan.search.wishes import PAIR, has_kernel, wanted_of_hub
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fadoctor.knowledge.matrix.kernels import Kernels
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.choices.helpers import Helpers
    from fadoctor.repair.plan.search.wishes import Wishes

COST = (
    "compiled code is downloaded from the Hub when a program first asks for it, which needs the "
    "network once: 0.45 GB (FlashAttention-2) to 1.7 GB (FlashAttention-3); only what takes its "
    "attention through transformers or kernels finds it, not a program that imports flash_attn"
)
"""What the route costs, in words; sizes as the Hub showed them."""

LIBRARY = HUGGINGFACE_HUB
"""What both of the pair require: it moves with transformers."""

_YES = ("1", "ON", "YES", "TRUE")
"""What huggingface_hub takes for yes, in capitals."""
_OF_THE_HUB = "kernel"
"""The kind of repository that the Hub still has for kernels."""
_PAIRS = 4
"""Releases of transformers that are tried beside the one that is there."""


class HubRoute:
    """The pairs that the tables list."""

    def __init__(self, matrix: Matrix, helpers: Helpers) -> None:
        """Take the matrix, and the exact releases."""
        self.matrix = matrix
        self.helpers = helpers
        self._found: dict[object, list[Choice]] = {}

    def kernels(
        self, environment: Environment, wanted: Iterable[Backend] = (Backend.HUB_FA2,)
    ) -> list[Choice]:
        """Return the release of kernels that goes with transformers; none where none can be had.

        Where kernels is not there yet, only one whose wanted kernel lies in the cache,
        or may be asked for on the Hub with a build for this system.
        """
        version = self._installable(environment)
        if not version or not python_of(environment):
            return []
        fitting = self.helpers.fitting(KERNELS, environment, [f"=={version}"], {})
        found = [self._with_needs(choice, 0) for choice in fitting]
        if is_there(environment, KERNELS):
            return found
        generations = [backend.value.removeprefix("hub-") for backend in wanted]
        return [choice for choice in found if self._is_had(environment, choice, generations)]

    def transformers(
        self, environment: Environment, specifiers: Iterable[str] = ()
    ) -> list[Choice]:
        """Return releases of transformers with a kernels that can be had, newest first.

        Of those that take the same kernels and the same branch of a kernel the newest alone.
        """
        torch = environment.fact("torch.version")
        here = text_of(environment, "transformers.version")
        wanted = tuple(sorted(specifiers))
        version = text_of(environment, "torch.version")
        asked = (version, torch.__class__, here, python_of(environment), wanted)
        if asked not in self._found:  # every state of a search asks, and few differ in these
            self._found[asked] = self._transformers(environment, wanted, here)
        return list(self._found[asked])

    def newest_transformers(self, environment: Environment, specifier: str = "") -> list[Choice]:
        """Return the newest transformers in a range, whether its kernels can be had or not."""
        there = {TORCH: text_of(environment, "torch.version")}
        releases = self.helpers.fitting(TRANSFORMERS, environment, (specifier,), there)
        return [self._with_needs(release, 0) for release in releases[:1]]

    def _transformers(
        self, environment: Environment, specifiers: Iterable[str], here: str
    ) -> list[Choice]:
        there = {TORCH: text_of(environment, "torch.version")}
        releases = self.helpers.fitting(TRANSFORMERS, environment, specifiers, there)
        found: dict[tuple[str, str], Choice] = {}
        for age, release in enumerate(releases):
            takes = self._takes(release.version, environment)
            if takes is not None and release.version != here:
                found.setdefault(takes, self._with_needs(release, age))
        return list(found.values())[:_PAIRS]

    def _takes(self, transformers: str, environment: Environment) -> tuple[str, str] | None:
        """Return the kernels and the branch that a transformers takes; None where none is had."""
        version = Known(transformers, AFTER)
        row = self.matrix.find("transformers-hub-kernels", {"version": version})
        kernels = row.cell("installable")
        if not isinstance(kernels, Known):
            return None
        if not self._asks_for_what_is_there(kernels):
            return None
        from fadoctor.sources.targets.hub import GENERATIONS  # noqa: PLC0415 -- as below

        keys = {
            "version": version,
            "generation": Known(GENERATIONS[0], AFTER),
            "torch": environment.fact("torch.version"),
        }
        branch = self.matrix.find("transformers-hub-branches", keys).cell("branch")
        return str(kernels.value), fact_text(branch, "")

    def _installable(self, environment: Environment) -> str:
        """Return the kernels that goes with transformers, the newest where there is none."""
        transformers = environment.fact("transformers.version")
        if isinstance(transformers, Absent):
            known = (
                version
                for row in self.helpers.rows
                if row["package"] == KERNELS
                for version in cell_words(row["version"])
            )
            return max(known, key=version_key, default="")
        found = self.matrix.find("transformers-hub-kernels", {"version": transformers})
        cell = found.cell("installable")
        return str(cell.value) if isinstance(cell, Known) else ""

    def _with_needs(self, choice: Choice, age: int) -> Choice:
        """Return a choice with what it requires of the other packages of a plan."""
        needs = self.helpers.needs(choice.distribution, choice.version)
        facts = {**choice.facts, f"{choice.package}.requires": Known(needs, AFTER)}
        return msgspec.structs.replace(choice, facts=facts, age=age)

    def _is_had(
        self, environment: Environment, kernels: Choice, generations: Iterable[str]
    ) -> bool:
        """Return whether a kernels finds a kernel: in the cache, or on the Hub as far as known."""
        facts: dict[str, Fact] = {**environment.facts, **kernels.facts}
        release = self.matrix.find("kernels-releases", {"version": facts["kernels.version"]})
        offline = must_not_ask(environment)
        reads = fact_text(release.cell("offline"), "none") != "none"
        asks = not offline and self._asks_for_what_is_there(kernels.facts["kernels.version"])
        # Late: few environments take their attention from the Hub.
        from fadoctor.sources.targets.hub import hub_facts  # noqa: PLC0415

        found = hub_facts(facts, self.matrix)
        heads = [f"hub.{name}" for name in generations]
        return any(
            (isinstance(found.get(f"{head}.build"), Known) and (not offline or reads))
            or (asks and not isinstance(found.get(f"{head}.download"), Absent))
            for head in heads
            if not (offline and _is_false(found.get(f"{head}.offline")))
        )

    def _asks_for_what_is_there(self, kernels: Fact) -> bool:
        """Return whether a kernels asks the Hub for repositories of the kind that it still has."""
        release = self.matrix.find("kernels-releases", {"version": kernels})
        return fact_text(release.cell("repositories"), "") == _OF_THE_HUB


def hub_packages(
    hub: HubRoute, kernels: Kernels, wishes: Wishes, findings: Iterable[Finding]
) -> tuple[str, ...]:
    """Return the packages of the pair about which there is something to decide; none as a rule.

    Where it was asked for, where a finding says so, or where it can stand in for what fails. What
    is there already may be repaired whatever was forbidden.
    """
    environment = kernels.environment
    found = set(PAIR) & set(wishes.asked)
    named = {name for name in PAIR if is_offered(name, findings)}
    if is_there(environment, PAIR[1]):
        found |= named & {PAIR[1]}
    if wishes.no_hub or not _has_kernels(kernels, wishes, named):
        return tuple(name for name in PAIR if name in found)
    found.add(PAIR[1])
    if not hub.kernels(environment, wanted_of_hub(wishes)):
        found.add(PAIR[0])
    moves = PAIR[0] in found and is_there(environment, LIBRARY)
    return (*(name for name in PAIR if name in found), *((LIBRARY,) if moves else ()))


def _has_kernels(kernels: Kernels, wishes: Wishes, named: Collection[str]) -> bool:
    """Return whether a kernel of the Hub exists for a GPU on which one is needed."""
    needed = [(gpu, HUB[backend]) for gpu, backend in wishes.cells if backend in wishes.instead]
    needed += [(gpu, backend) for gpu, backend in wishes.cells if backend in HUB.values()]
    if PAIR[1] in named:
        needed += [(gpu, HUB[Backend.FA2]) for gpu in computing_gpus(kernels.environment)]
    return any(has_kernel(kernels, backend, gpu) for gpu, backend in needed)


def is_offered(package: str, findings: Iterable[Finding]) -> bool:
    """Return whether a fix of a finding installs a package."""
    return any(
        (choice := offer(item)) is not None and choice.package == package
        for finding in findings
        if finding.severity is not Severity.NOTE
        for fix in finding.fixes
        for step in fix.steps
        if step.kind is StepKind.INSTALL
        for item in step.items
    )


def opens_route(choice: Choice, there: Collection[str]) -> bool:
    """Return whether a choice opens the way to the Hub, where there was none."""
    return choice.package == PAIR[1] and choice.is_change and choice.package not in there


def effects_of_hub(environment: Environment, choices: Iterable[Choice]) -> tuple[str, ...]:
    """Return what it costs that attention comes from the Hub, where nothing came before."""
    there = {PAIR[1]} if is_there(environment, PAIR[1]) else set()
    return (COST,) if any(opens_route(choice, there) for choice in choices) else ()


def partner_of_kernels(environment: Environment, choices: Iterable[Choice]) -> tuple[str, ...]:
    """Return the requirement on the transformers that a kernels was chosen for, if it stays.

    An installer then agrees to the pair, or refuses it.
    """
    packages = {choice.package for choice in choices}
    asker, name = PAIR
    version = version_part(text_of(environment, f"{asker}.version"), "base")
    own = isinstance(environment.fact(f"{asker}.direct_url"), Known)
    if name not in packages or asker in packages or not version or own:
        return ()
    return (f"{asker}=={version}",)


def _is_false(fact: Fact | None) -> bool:
    return isinstance(fact, Known) and fact.value is False


def must_not_ask(environment: Environment) -> bool:
    """Return whether a variable forbids to ask the Hub, and none names a folder instead."""
    named = text_of(environment, "env.LOCAL_KERNELS")
    return text_of(environment, "env.HF_HUB_OFFLINE").upper() in _YES and not named
