"""What a plan runs, and in what its result differs from what was planned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.fact import Known
from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.states.requirements import requirements_of
from tests.states.resolver import Refused

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from tests.states.resolver import Resolver, State

Commands = tuple[tuple[str, ...], ...]


def fault(plan: Plan, before: Environment, resolver: Resolver) -> str:
    """Return in what a plan and its commands, or what takes them back, differ; "" where nothing."""
    requires = requirements_of(before, {})
    try:
        after = resolver.after(plan, before, requires)
    except Refused as error:
        return f"refused: {error}"
    return _difference(plan, before, after) or _undone(plan, before, after, resolver)


def _same(one: str | None, other: str | None) -> bool:
    """Return whether two releases are one: 5 is 5.0.0."""
    if one is None or other is None:
        return one is other
    return one == other or parse_version(one) == parse_version(other) is not None


def _difference(plan: Plan, before: Environment, after: State) -> str:
    """Return in what a plan and what its commands leave differ."""
    if loose := [item for item in _installed(plan) if "==" not in item and " @ " not in item]:
        return f"not exact: {loose}"
    expected = installed_in(before)
    for action in plan.actions:
        if action.kind is ActionKind.UNINSTALL:
            expected = {n: v for n, v in expected.items() if n not in action.requirements}
    for change in plan.changes:
        name = change.distribution
        item = _item(plan, name) if change.after else ""
        if item.startswith((" @ ", "==")):
            expected[name] = change.after
        elif change.after and parse_specifier(item or ">=0").contains(after.get(name, "0")):  # type: ignore[union-attr]
            expected[name] = after.get(name, "missing")
    wrong = {
        name: (expected.get(name), after.get(name))
        for name in expected.keys() | after.keys()
        if not _same(expected.get(name), after.get(name))
    }
    return f"planned and done: {wrong}" if wrong else ""


def installed_in(environment: Environment) -> dict[str, str]:
    """Return every distribution that is there."""
    installed = environment.fact("packages.installed")
    assert isinstance(installed, Known)
    assert isinstance(installed.value, dict)
    return dict(installed.value)


def _item(plan: Plan, name: str) -> str:
    """Return what the commands say of a distribution, behind its name."""
    pattern = re.compile(re.escape(name) + r"(?![A-Za-z0-9_-])(.*)")
    return next(found[1] for item in _installed(plan) if (found := pattern.fullmatch(item)))


def _installed(plan: Plan) -> list[str]:
    """Return what the commands install."""
    return [
        item
        for action in plan.actions
        if action.kind is ActionKind.INSTALL
        for item in action.requirements
    ]


def commands(plan: Plan) -> Commands:
    """Return what is run."""
    return tuple(action.argv for action in plan.actions if action.argv)


def _undone(plan: Plan, before: Environment, after: State, resolver: Resolver) -> str:
    """Return in what the steps, taken back by what is printed beside them, miss the beginning."""
    try:
        back = resolver.undone(plan, after, before, requirements_of(before, {}))
    except Refused as error:
        return f"undo is refused: {error}"
    there = installed_in(before)
    moved = {change.distribution for change in plan.changes}
    wrong = {
        name: (there.get(name), back.get(name))
        for name in moved
        if there.get(name) != back.get(name) and name != "flash-attn"
    }
    return f"before and undone: {wrong}" if wrong else ""
