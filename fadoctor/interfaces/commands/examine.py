"""Read what a request is about. Imports late: the facts are read meanwhile."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fadoctor.model.environment import BY_RESOLVER, RESOLVED
from fadoctor.model.errors import UsageError, did_you_mean
from fadoctor.model.fact import Unknown, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.examine.request import Request


FOLLOWING = "following what the installed packages import of each other, once for these releases"
"""What a person reads who waits for it."""


def ignoring_nothing(_: Knowledge) -> tuple[str, ...]:
    """Return no rule: all findings are shown."""
    return ()


def look(
    request: Request,
    rules: Sequence[Path] = (),
    needed: Iterable[str] = (),
    announce: Callable[[], None] = lambda: None,
) -> tuple[Knowledge, Environment]:
    """Return knowledge base and environment; load the modules that are needed next meanwhile.

    `announce` is called before what takes seconds.
    """
    from importlib import import_module

    from fadoctor.sources.examine.examination import Examination

    examination = Examination(request, os.environ, announce, _complaints)
    for name in needed:
        import_module(name)
    from fadoctor.knowledge.matrix.load import load_knowledge

    knowledge = load_knowledge(tuple(rules))
    return knowledge, examination.environment(knowledge)


def _complaints(data: bytes, name: str, knowledge: Knowledge) -> tuple[Finding, ...]:
    """Return what a text shows by its words; few requests are about a text."""
    from fadoctor.judging.explain.pasted_complaints import complaints_in

    return complaints_in(data, name, knowledge)


def foreseen(
    environment: Environment,
    knowledge: Knowledge,
    ignore: tuple[str, ...] = (),
    limit: int | None = None,
) -> tuple[Prognosis, Prognosis]:
    """Return what the facts say, and what fixes are planned on: of a plan, as it comes today.

    `limit`: how many other choices of releases are worth waiting for; None for all.
    """
    if is_planned(environment):
        from fadoctor.repair.resolution.judge import foresee_planned

        found = foresee_planned(environment, knowledge, ignore, limit)
        return found.shown, found.planned
    from fadoctor.judging.diagnose import foresee

    prognosis = foresee(environment, knowledge, ignore)
    if any(each.startswith("--gpu ") for each in environment.overlays):
        from fadoctor.interfaces.commands.what_if import answered_by_tables, needs_tables

        if needs_tables(prognosis.environment):
            return answered_by_tables(prognosis), prognosis
    return prognosis, prognosis


def is_planned(environment: Environment) -> bool:
    """Return whether an environment is what manifests describe, read or replayed."""
    return environment.target.kind == "manifest" or bool(environment.ranges)


def is_unresolved(facts: Mapping[str, Fact]) -> bool:
    """Return whether a resolver should have decided what files leave open, and none answered.

    A pasted text says nothing about resolvers either, but there none was asked.
    """
    fact = facts.get(RESOLVED)
    return isinstance(fact, Unknown) and fact.source == BY_RESOLVER


def retired_ids(named: Sequence[str], knowledge: Knowledge, what: str) -> tuple[str, ...]:
    """Return a sentence for each id that has another name; UsageError for one that no rule has.

    A typing error would silently ignore nothing. `what` names the option.
    """
    ids = {rule.id for rule in knowledge.rules}
    told = []
    for rule_id, current in zip(named, knowledge.current(named), strict=True):
        if current not in ids:
            raise UsageError(f"{what}: {no_such_rule(rule_id, ids)}")
        if current != rule_id:
            told.append(f"{what}: {is_retired(rule_id, current)}")
    return tuple(told)


def is_retired(rule_id: str, current: str) -> str:
    """Return the sentence about an id that was given once."""
    return f"{rule_id} is retired: {current} replaces it"


def no_such_rule(rule_id: str, known: Iterable[str]) -> str:
    """Return the sentence about an id that no rule has, with those that are near."""
    otherwise = " `fadoctor rules list` names them all."
    return f"there is no rule {printable(rule_id, 60)!r}.{did_you_mean(rule_id, known, otherwise)}"
