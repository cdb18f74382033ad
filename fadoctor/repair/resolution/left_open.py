"""What a release that the files leave open would do, where an installer takes its newest."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.judging.diagnose import foresee
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.knowledge.matrix.whole import whole_matrix
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import NUMPY, TORCH, package_of
from fadoctor.model.plan import Action, ActionKind
from fadoctor.model.plan_words import OPEN_NOTE
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.release_months import ReleaseMonths
from fadoctor.repair.plan.choices.released import within_both
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.planner import outcome_of
from fadoctor.repair.plan.states.compiled import ASSUMED
from fadoctor.repair.plan.written.dialect import choose_dialect
from fadoctor.repair.resolution.labelled import labelled, settled
from fadoctor.repair.resolution.resolver_worlds import (
    name_of,
    newest_of,
    newest_of_open,
    newest_within,
    oldest_of_open,
    resolved_today,
)
from fadoctor.repair.resolution.timely import timely_bound
from fadoctor.repair.resolution.wanted import name_of as requirement_name
from fadoctor.sources.manifests.installed.moved_torch import MOVED_TORCH, MOVED_TORCH_BOUND
from fadoctor.sources.manifests.installed.too_new import TOO_NEW, TOO_NEW_BELOW, bounds_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.plan import Plan
    from fadoctor.model.rule import Knowledge

_AS_RANGE = re.compile(r"^==([0-9]{1,4})[.0-9]*$")
"""An exact release, which what else bounds the package may refuse."""


BOUND_BY_FACTS = {TOO_NEW: TOO_NEW_BELOW, MOVED_TORCH: MOVED_TORCH_BOUND}
"""What tells of releases that are too new -> what bounds them."""

_MINORS = 8
"""Minor releases of torch that are tried: CUDA's major version changes less often."""
_END = re.compile(r"<[0-9][0-9.]{0,30}$")


class _Open(NamedTuple):
    """A package of which nobody knows which release comes, and whose newest one fails."""

    package: str
    findings: tuple[Finding, ...]
    bound: str
    """The bound that ends all of it, as a fix says it; "" for none."""
    asked: str
    """The same, with the end of the time of who pins what requires the package."""
    replaces: bool = False
    """Whether all that the files admit fails, so that the bound takes the place of their range."""


class OpenBound(NamedTuple):
    """What keeps a package of which nobody knows which release comes from those that fail."""

    name: str
    requirement: str
    findings: tuple[Finding, ...]
    """What is wrong with its newest release."""


def open_notes(
    environment: Environment, knowledge: Knowledge, written: Collection[str] = ()
) -> Iterator[str]:
    """Yield what is wrong with the newest release of a package that something else may bound.

    `environment`: as the files describe it. `written`: the packages that a plan bounds in them.
    """
    for package, found, bound, asked, _ in _open(environment, knowledge):
        if name_of(package) in written:
            yield (
                f"{OPEN_NOTE}{name_of(package)} comes: "
                "only the newest that the line admits was judged"
            )
            continue
        told = [e for e in found if _requirement(e, package) == bound] if bound else []
        told = told or list(found)
        for each in told[:1] if bound else told:
            advice = f" Ask for {asked} to be sure" if asked else ""
            yield f"{OPEN_NOTE}{name_of(package)} comes. {each.message}{advice}"


def open_bounds(environment: Environment, knowledge: Knowledge) -> Iterator[OpenBound]:
    """Yield the lines that keep an installer from releases with an error.

    Bounds alone: whatever else bounds the package may refuse an exact release.
    """
    yield from _too_new(environment, knowledge)
    for package, found, bound, asked, replaces in _open(environment, knowledge):
        name = name_of(package)
        # no release of NumPy's next generation helps an old torch, whoever bounds it
        is_sure = name == NUMPY or any(each.severity is Severity.ERROR for each in found)
        is_sure = is_sure or any(map(_is_of_pair, found))
        if bound and (is_sure or not any(_requirement(each, package) for each in found)):
            own = _AS_RANGE.sub(_below_next, asked.removeprefix(name))
            range_ = own if replaces else within_both(environment.bounded[name], own)
            yield OpenBound(name, name + range_, found)


def with_open_bounds(
    plan: Plan, environment: Environment, knowledge: Knowledge
) -> tuple[Plan, frozenset[str]]:
    """Return a plan that bounds what would come with an error, and the names that it bounds.

    Not what it moves itself; and nothing beside a wish that it cannot reach.
    """
    asked = [text for action in plan.actions for text in action.requirements]
    exact = {requirement_name(text) for text in asked if "==" in text}
    moved = {change.distribution for change in plan.changes} & exact
    bounds = [each for each in open_bounds(environment, knowledge) if each.name not in moved]
    if not bounds or plan.conflicts:
        return plan, frozenset()
    dialect = choose_dialect(plan.installer, environment)
    actions = tuple(
        Action(
            ActionKind.INSTALL,
            f"ask for {each.requirement}",
            dialect.install((each.requirement,)),
            requirements=(each.requirement,),
            why=each.findings[0].message,
            findings=tuple(dict.fromkeys(found.rule_id for found in each.findings)),
            undo=f"remove the bound of {each.name}",
        )
        for each in bounds
    )
    texts = {each.name: each.requirement for each in bounds}
    actions = (*actions, *(_without_ranges(each, texts) for each in plan.actions))
    outcome = outcome_of(actions, plan.proof, plan.conflicts)
    bounded = msgspec.structs.replace(plan, actions=actions, outcome=outcome)
    return bounded, frozenset(each.name for each in bounds)


def _without_ranges(action: Action, bounds: Mapping[str, str]) -> Action:
    """Return an action that asks for what is bounded within its bound, too."""
    asked = tuple(bounds.get(requirement_name(text), text) for text in action.requirements)
    return (
        action
        if asked == action.requirements
        else msgspec.structs.replace(action, requirements=asked)
    )


def _too_new(environment: Environment, knowledge: Knowledge) -> Iterator[OpenBound]:
    """Yield the bounds of what comes too new for a pin, and of what would replace torch."""
    bounds = {
        told: bounds_of(environment.facts.get(below)) for told, below in BOUND_BY_FACTS.items()
    }
    if not any(bounds.values()):
        return
    every = foresee(environment, knowledge, predicts=False).assessment.findings
    for told, own in bounds.items():
        found = tuple(f for f in every if any(each.fact == told for each in f.evidence))
        for name, bound in own.items() if found else ():
            yield OpenBound(name, name + bound, found)


def _open(environment: Environment, knowledge: Knowledge) -> Iterator[_Open]:
    """Yield packages, what is wrong with the newest of each, and the bound that ends all of it."""
    if not any(map(package_of, environment.bounded)):
        return
    matrix = whole_matrix(knowledge)
    resolver, taken = resolved_today(environment, matrix)
    known = settled(labelled(resolver.world(taken)))
    told = {each.fingerprint for each in foresee(known, knowledge).assessment.findings}

    def wrong_with(package: str, version: str) -> tuple[Finding, ...]:
        there = settled(labelled(resolver.world({**taken, package: version})))
        found = foresee(there, knowledge, predicts=False).assessment.findings
        return tuple(
            each
            for each in found
            if each.fingerprint not in told
            and (each.severity is not Severity.NOTE or _is_of_pair(each))
            and _is_about(each, package)
        )

    for package, version in newest_of_open(resolver, taken):
        if package == TORCH and not python_of(environment):
            continue  # its newest release is another one for an older Python
        found = wrong_with(package, version)
        if not found:
            continue
        bounds = dict.fromkeys(filter(None, (_requirement(each, package) for each in found)))
        ends = (_END.search(bound) for bound in bounds if any(map(_is_of_pair, found)))
        # as its fix says it, without the beginning: a file may ask for an older one
        bounds = {f"{name_of(package)}{e[0]}": None for e in ends if e} or bounds
        if package == TORCH:  # its builds differ from minor to minor
            bounds |= dict.fromkeys(_below(version, resolver.versions.of(package, "")))
        if not bounds:  # fixes that move what is pinned are none here: it was tried with older ones
            bounds = {f"{name_of(package)}<{version.partition('.')[0]}": None}
        good = (
            bound
            for bound in bounds
            if (newest := newest_within(resolver, package, bound))
            and not wrong_with(package, newest)
        )
        bound = next(good, "")
        # no NumPy that the line admits helps an old torch; of others, what is beside them may move
        is_all = not bound and name_of(package) == NUMPY
        if is_all and wrong_with(package, oldest_of_open(resolver, package)):
            instead = (
                each
                for each in bounds
                if (newest := newest_of(resolver, package, each))
                and not wrong_with(package, newest)
            )
            if bound := next(instead, ""):
                yield _Open(package, found, bound, bound, replaces=True)
                continue
        asked = bound and timely_bound(resolver, package, bound, taken, ReleaseMonths(matrix))
        newest = newest_within(resolver, package, asked) if asked != bound else ""
        is_good = bool(newest) and not wrong_with(package, newest)
        yield _Open(package, found, bound, asked if is_good else bound)


def _below(version: str, listed: Iterable[str]) -> Iterator[str]:
    """Yield the bounds of torch that leave one minor release more out each, from a release down."""
    minors = dict.fromkeys(
        str(version_part(each, "minor"))
        for each in listed
        if version_key(each) <= version_key(version)
    )
    yield from (f"{TORCH}<{minor}" for minor in islice(minors, _MINORS))


def _is_of_pair(finding: Finding) -> bool:
    """Return whether a release does not go with one that the files pin."""
    return any(each.fact.endswith(".pair_told") for each in finding.evidence)


def _below_next(exact: re.Match[str]) -> str:
    return f"<{int(exact[1]) + 1}"


def _is_about(finding: Finding, package: str) -> bool:
    """Return whether a finding rests on a package, and on nothing that is only assumed."""
    is_assumed = any(each.source == ASSUMED for each in finding.evidence)
    return not is_assumed and any(e.fact.startswith(f"{package}.") for e in finding.evidence)


def _requirement(finding: Finding, package: str) -> str:
    """Return which releases of a package a finding's fixes ask for, "" for none."""
    steps = (step for fix in finding.fixes for step in fix.steps if step.kind is StepKind.INSTALL)
    offers = filter(None, (offer(item) for step in steps for item in step.items))
    return next((each.requirement for each in offers if each.package == package), "")
