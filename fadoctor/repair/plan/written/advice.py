"""What the rules' fixes say beside versions: variables, settings, system packages, advice."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.shell_lines import assignment, unassignment
from fadoctor.model.fact import Absent, Known
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.plan import Action, ActionKind
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix, Step
    from fadoctor.repair.plan.choices.choice import Choice

_Key = tuple[StepKind, str]
"""A step of a fix: its kind, and what it says."""

_BY_HAND = {
    StepKind.SETTING: ActionKind.SETTING,
    StepKind.SYSTEM: ActionKind.SYSTEM,
    StepKind.ADVICE: ActionKind.ADVICE,
}
_COMMANDS = (StepKind.UNINSTALL, StepKind.SET, StepKind.UNSET, StepKind.INSTALL)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PACKAGES = (StepKind.UNINSTALL, StepKind.INSTALL)
_VARIABLES = (StepKind.SET, StepKind.UNSET)


def variable_actions(environment: Environment, findings: Iterable[Finding]) -> Iterator[Action]:
    """Yield the variables that findings want set or unset, each once.

    Only of fixes that are about variables alone: beside an installation they are a part of it.
    """
    seen = set()
    for finding in findings:
        if finding.severity is Severity.NOTE:
            continue
        for fix in finding.fixes[:1]:
            if any(step.kind in (StepKind.INSTALL, StepKind.UNINSTALL) for step in fix.steps):
                continue
            for step in fix.steps:
                for name, value in _assignments(environment, step):
                    if name not in seen:
                        seen.add(name)
                        yield _variable(environment, name, value, finding, fix)


def _assignments(environment: Environment, step: Step) -> Iterator[tuple[str, str]]:
    """Yield name and value, empty to unset; what is not set needs no unsetting."""
    for item in step.items if step.kind in _VARIABLES else ():
        name, _, value = item.partition("=")
        if step.kind is StepKind.SET or isinstance(environment.fact(f"env.{name}"), Known):
            yield name, value


def _variable(
    environment: Environment, name: str, value: str, finding: Finding, fix: Fix
) -> Action:
    kind = ActionKind.SET if value else ActionKind.UNSET
    return Action(
        kind,
        f"set {name} to {value}" if value else f"unset {name}",
        env={name: value},
        why=finding.title,
        findings=(finding.rule_id,),
        side_effects=(fix.side_effects,) if fix.side_effects else (),
        undo=undo_of_variable(environment, name),
        safety=fix.safety.value,
    )


def undo_of_variable(environment: Environment, name: str) -> str:
    """Return the line that gives a variable its value of before; a sentence where it is unknown."""
    before, windows = environment.fact(f"env.{name}"), environment.is_windows
    if isinstance(before, Known):
        return assignment(f"{name}={before.value}", windows=windows)
    line = unassignment(name, windows=windows)
    return line if isinstance(before, Absent) else f"{line}, or set what it was before"


def advice_for(
    before: Iterable[Finding],
    after: Iterable[Finding],
    changes: Iterable[Choice],
    holds: Callable[[Finding, Fix], bool],
    *,
    commands: bool = False,
) -> Iterator[Action]:
    """Yield what is for a person to do, each once; nothing of a fix that does not hold.

    For what is left: its best fix that needs no package. Of a warning, for which nothing is
    planned, its best fix whatever it needs, and of an error where there is no other: that is what
    `check` advises. For what a removal ends: the settings without which code would go on asking for
    the package. With `commands` a fix's installations are advice too: where nothing could be
    planned they are the best there is.
    """
    kinds_left = (*_BY_HAND, *_COMMANDS) if commands else tuple(_BY_HAND)
    removed = any(choice.kind is ChoiceKind.REMOVE for choice in changes)
    left = list(after)
    there = {finding.fingerprint for finding in left}
    gone = [f for f in before if f.fingerprint not in there] if removed else []
    found: dict[_Key, Action] = {}
    items: dict[_Key, frozenset[str]] = {}
    told: dict[_Key, tuple[Finding, Fix]] = {}
    fixes: dict[_Key, int] = {}
    for number, finding in enumerate((*left, *gone)):
        if finding.severity is Severity.NOTE:
            continue
        is_open = finding.severity is Severity.WARNING and finding.fingerprint in there
        kinds = kinds_left if finding in left else (StepKind.SETTING,)
        kinds = (*_BY_HAND, *_PACKAGES) if is_open and not commands else kinds
        fix = _by_hand(finding, kinds, holds)
        if fix is None and finding in left:
            kinds = (*kinds, *_PACKAGES)
            fix = _by_hand(finding, kinds, holds)
        if fix is None:
            continue
        for step in fix.steps:
            if step.kind in kinds:
                _add(found, finding, fix, step)
                fixes.setdefault((step.kind, step.text), number)
                if step.kind is StepKind.INSTALL:
                    items[step.kind, step.text] = frozenset(step.items)
                    told.setdefault((step.kind, step.text), (finding, fix))
    _without_parts(found, items)
    _without_rivals(found, items, told, holds)
    yield from _by_fix(found, fixes)


def _by_fix(found: Mapping[_Key, Action], fixes: Mapping[_Key, int]) -> Iterator[Action]:
    """Yield settings before commands before prose, and the steps of one fix as the fix has them.

    A fix counts by the first of its steps in that order: an export belongs before the command that
    reads it, and a sentence may be about the line before.
    """
    order = list(ActionKind)
    first: dict[int, int] = {}
    for key, action in found.items():
        rank = order.index(action.kind)
        first[fixes[key]] = min(rank, first.get(fixes[key], rank))
    keys = sorted(found, key=lambda key: (first[fixes[key]], fixes[key]))
    yield from (found[key] for key in keys)


def _without_parts(found: dict[_Key, Action], items: Mapping[_Key, frozenset[str]]) -> None:
    """Leave out the installations that another one does as well, which is for both then."""
    for part, some in items.items():
        whole = next((key for key, more in items.items() if some < more and key in found), None)
        if whole is not None:
            _take_over(found, whole, part)


def _without_rivals(
    found: dict[_Key, Action],
    items: Mapping[_Key, frozenset[str]],
    told: Mapping[_Key, tuple[Finding, Fix]],
    holds: Callable[[Finding, Fix], bool],
) -> None:
    """Leave out one of two installations of a package: what settles the other's finding stays.

    The second would take back what the first has done.
    """
    names = {key: names_of(items[key]) for key in items if key in found}
    for one, other in combinations(names, 2):
        if one not in found or other not in found or names[one].isdisjoint(names[other]):
            continue
        is_other_better = not holds(told[other][0], told[one][1]) and holds(
            told[one][0], told[other][1]
        )
        _take_over(found, *((other, one) if is_other_better else (one, other)))


def _take_over(found: dict[_Key, Action], stays: _Key, goes: _Key) -> None:
    both = (*found[stays].findings, *found.pop(goes).findings)
    findings = tuple(dict.fromkeys(both))
    found[stays] = msgspec.structs.replace(found[stays], findings=findings)


def names_of(items: Iterable[str]) -> frozenset[str]:
    """Return the names of the packages that requirements are about."""
    return frozenset(normalise_name(match[0]) for item in items if (match := _NAME.match(item)))


def _by_hand(
    finding: Finding, kinds: tuple[StepKind, ...], holds: Callable[[Finding, Fix], bool]
) -> Fix | None:
    """Return the first fix that holds and says something of these kinds."""
    for fix in finding.fixes:
        if any(step.kind in kinds for step in fix.steps) and holds(finding, fix):
            return fix
    return None


def _add(found: dict[_Key, Action], finding: Finding, fix: Fix | None, step: Step) -> None:
    earlier = found.get((step.kind, step.text))
    findings = (*(earlier.findings if earlier else ()), finding.rule_id)
    effects = (fix.side_effects,) if fix is not None and fix.side_effects else ()
    found[step.kind, step.text] = Action(
        _BY_HAND.get(step.kind, ActionKind.ADVICE),
        step.text,
        why=finding.message,
        findings=tuple(dict.fromkeys(findings)),
        side_effects=effects,
        safety=fix.safety.value if fix is not None else "",
    )
