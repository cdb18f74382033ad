"""Judge what an installer would really do, and learn from what it refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_version, version_part
from fadoctor.model.fact import fact_mapping
from fadoctor.model.packages import PACKAGES, package_of
from fadoctor.model.plan import ActionKind, Answer
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.proof import prove

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan, Verification
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.lessons import Lessons
    from fadoctor.repair.plan.search.problem import Problem

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class OutcomeDifference(msgspec.Struct, frozen=True):
    """In what the result of an installer is worse than what was planned."""

    errors: tuple[str, ...] = ()
    """Ids of rules that find an error there, and not in the plan."""
    requirements: tuple[str, ...] = ()
    """Requirements that break there, and not in the plan."""
    lowered: tuple[str, ...] = ()
    """What goes back to a release that the plan does not name: ``sglang 0.5.23 to 0.5.2``."""
    extra: tuple[str, ...] = ()
    """Fact prefixes of the packages of the stack that come in another release than planned."""

    @property
    def is_worse(self) -> bool:
        """Whether the result is not what was promised."""
        return bool(self.errors or self.requirements or self.lowered)

    @property
    def text(self) -> str:
        """Return it in words."""
        found = [f"{each} would be downgraded" for each in self.lowered]
        found += [f"{name} would fail" for name in self.errors]
        return "; ".join((*found, *self.requirements))


def difference(
    problem: Problem, planned: Environment, plan: Plan, installs: Mapping[str, str]
) -> OutcomeDifference:
    """Return in what the set that an installer would install is worse than the plan.

    `planned`: the facts as the plan foresees them. `installs`: distribution -> version.
    """
    there = fact_mapping(planned.fact("packages.installed"))
    other = {
        name: version
        for name, version in installs.items()
        if not name.startswith("nvidia-") and there.get(name) != version
    }
    choices = [choice for name in other if (choice := _choice(problem, planned, name, other[name]))]
    after = problem.post.after(planned, choices)
    proof = prove(problem, after)[0] if choices else plan.proof
    return OutcomeDifference(
        errors=tuple(sorted({*proof.errors} - {*plan.proof.errors})),
        requirements=tuple(sorted({*proof.requirements} - {*plan.proof.requirements})),
        lowered=tuple(_lowered(problem, plan, other)),
        extra=tuple(choice.package for choice in choices if choice.package in PACKAGES),
    )


def _choice(problem: Problem, planned: Environment, name: str, version: str) -> Choice | None:
    """Return the installation of an exact release, with the facts of its table if it has one."""
    package = package_of(name, name)
    if package == "torch":
        found = problem.session.candidates.torch(planned)
    else:
        found = tuple(problem.session.candidates.releases(package, planned))
    exact = (each for each in found if each.version == version)
    return next(exact, None) or offer(f"{name}=={version}")


def _lowered(problem: Problem, plan: Plan, installs: Mapping[str, str]) -> Iterator[str]:
    """Yield what would go back in time, and is not among the changes of the plan."""
    before = fact_mapping(problem.environment.fact("packages.installed"))
    said = {change.distribution for change in plan.changes if parse_version(change.after)}
    for name, version in sorted(installs.items()):
        old, new = parse_version(before.get(name, "")), parse_version(version)
        if name not in said and old is not None and new is not None and new < old:
            yield f"{name} {before[name]} to {version}"


def learned(
    lessons: Lessons, plan: Plan, verification: Verification, found: OutcomeDifference
) -> Lessons:
    """Return the lessons with what an answer of the installer teaches; the same where nothing."""
    if verification.answer is Answer.REFUSED:
        return _from_refusal(lessons, plan, verification.detail)
    named = tuple(dict.fromkeys((*lessons.named, *found.extra)))
    if found.is_worse and named != lessons.named:
        return msgspec.structs.replace(lessons, named=named)
    if found.is_worse:
        return _without(lessons, _exact_in(plan, ""))
    return lessons


def _from_refusal(lessons: Lessons, plan: Plan, detail: str) -> Lessons:
    """Return what a refusal teaches: who cannot move along, else what does not go together."""
    free = {change.distribution for change in plan.changes if not parse_version(change.after)}
    free &= {name for action in plan.actions for name in _bounded(action.requirements)}
    if stuck := free - lessons.stuck:
        return msgspec.structs.replace(lessons, stuck=lessons.stuck | stuck)
    return _without(lessons, _exact_in(plan, detail))


def _without(lessons: Lessons, group: frozenset[tuple[str, str]]) -> Lessons:
    if not group or group in lessons.refused:
        return lessons
    return msgspec.structs.replace(lessons, refused=(*lessons.refused, group))


def _bounded(requirements: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of requirements that leave the release to the installer."""
    for item in requirements:
        match = _WORD.match(item)
        if match and "==" not in item and " @ " not in item:
            yield match[0]


def _exact_in(plan: Plan, detail: str) -> frozenset[tuple[str, str]]:
    """Return the exact releases of a plan that a text names; all of them where it names none."""
    exact = {
        (change.distribution, change.after)
        for change in plan.changes
        if version_part(change.after, "base") and _is_pinned(plan, change.distribution)
    }
    words = {word.lower().replace("_", "-").rstrip(".") for word in _WORD.findall(detail)}
    named = {each for each in exact if any(_is_about(word, each[0]) for word in words)}
    return frozenset(named or exact)


def _is_about(word: str, name: str) -> bool:
    return word == name or word.startswith((f"{name}==", f"{name}>", f"{name}<"))


def _is_pinned(plan: Plan, name: str) -> bool:
    items = (
        item
        for action in plan.actions
        if action.kind is ActionKind.INSTALL
        for item in action.requirements
    )
    return any(item.startswith((f"{name}==", f"{name} @ ")) for item in items)
