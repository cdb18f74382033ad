"""Ways to what was asked for that keep what a plan takes back: said before its first step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import is_older, version_key, version_part
from fadoctor.model.fact import Known, Unknown, fact_text
from fadoctor.model.finding import Severity
from fadoctor.model.packages import ATTENTION, COMPILED_BESIDE, PACKAGES, TORCH
from fadoctor.model.plan_words import KEEPING, UNCHANGED
from fadoctor.model.verdict import Predicted
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.repair.plan.states.compiled import ASSUMED
from fadoctor.sources.targets.derived import derive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.verdict import Verdict
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.search.solution import Solution

_HEAVY = (TORCH, *COMPILED_BESIDE)
"""Packages that nobody takes back for nothing: the models that run on them may need them."""

_SDPA = "sdpa-"
_GPU = "gpu["
"""How the subject of a finding about one GPU begins."""


def keeping_notes(
    problem: Problem,
    solution: Solution,
    verdicts: Iterable[Verdict],
    reach: Callable[[Environment], Environment | None],
) -> Iterator[str]:
    """Yield what keeps the releases that a plan takes back.

    `reach`: what a plan for another environment ends in, None where something stays wrong there.
    """
    back = dict(_taken_back(problem, solution))
    if not back:
        return
    yield from _by_driver(problem, back, reach)
    new = [
        PACKAGES[name][0]
        for name in ATTENTION
        if name in problem.wishes.asked and not is_there(problem.environment, name)
    ]
    if new and set(back) == {TORCH} and _may_run_sdpa(verdicts):
        named = ", ".join(new)
        yield f"{KEEPING}torch {back[TORCH]} has attention of its own (sdpa), and needs no {named}"


def unchanged_notes(left: Iterable[Finding], changes: Iterable[Choice]) -> Iterator[str]:
    """Yield what a plan that has steps leaves wrong about a GPU, which those steps are not for.

    Whoever reads the steps alone would think that the program runs afterwards.
    """
    if not any(True for _ in changes):
        return
    errors = (each for each in left if each.severity is Severity.ERROR)
    about = (each for each in errors if each.subject.startswith(_GPU))
    yield from dict.fromkeys(f"{UNCHANGED}{each.message}" for each in about)


def _taken_back(problem: Problem, solution: Solution) -> Iterator[tuple[str, str]]:
    """Yield what becomes an older release, with the one that is there."""
    for choice in solution.changes:
        here = fact_text(problem.environment.fact(f"{choice.package}.version"), "")
        old, new = (version_part(each, "base") or "" for each in (here, choice.version))
        if choice.package in _HEAVY and old and new and is_older(new, old):
            yield choice.package, old


def _by_driver(
    problem: Problem, back: dict[str, str], reach: Callable[[Environment], Environment | None]
) -> Iterator[str]:
    """Yield the driver with which all of it stays, and runs what was asked for."""
    facts = problem.environment.facts
    here, newer = facts.get("driver.version"), facts.get("driver.forward_compat")
    if not isinstance(here, Known) or (isinstance(newer, Known) and newer.value is True):
        return
    system = fact_text(problem.environment.fact("host.os"), "")
    floors = {
        str(row["cuda"]): str(row["driver"])
        for row in problem.session.matrix.tables["driver-floors"].rows
        if row["os"] == system
    }
    newest = max(floors.values(), key=version_key, default="")
    if not newest or not is_older(str(here.value), newest):
        return
    said = {name: each for name, each in facts.items() if name.startswith("driver.")}
    same = [name for name, each in said.items() if fact_text(each, "") == here.value]
    assumed = {**facts, **dict.fromkeys(same, Known(newest, ASSUMED))}
    assumed["driver.cuda"] = Unknown("it follows from the driver", ASSUMED)
    with_driver = msgspec.structs.replace(problem.environment, facts=assumed)
    after = reach(derive(with_driver, problem.session.matrix))
    if after is None:
        return
    names = {TORCH, *back, *problem.wishes.asked}
    there = {name: fact_text(after.fact(f"{name}.version"), "") for name in names}
    major = version_part(fact_text(after.fact("torch.cuda"), ""), "major") or ""
    floor = floors.get(major, "")
    stays = all(there[n] and not is_older(_base(there[n]), old) for n, old in back.items())
    if floor and stays and is_older(str(here.value), floor):
        told = (f"{PACKAGES[name][0]} {there[name]}" for name in sorted(there) if there[name])
        named = " and ".join(told)
        verb = "work" if len(there) > 1 else "works"
        yield f"{KEEPING}with NVIDIA driver {floor} or newer {named} (CUDA {major}) {verb} here"


def _base(version: str) -> str:
    return version_part(version, "base") or version


def _may_run_sdpa(verdicts: Iterable[Verdict]) -> bool:
    return any(
        each.backend.value.startswith(_SDPA) and each.predicted is not Predicted.FAILS
        for each in verdicts
    )
