"""Write out the fixes of a rule with the facts of one scope."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.engine.condition import Truth, holds
from fadoctor.engine.scope import Scope
from fadoctor.model.fix import Fix, Step, StepKind

if TYPE_CHECKING:
    from fadoctor.model.rule import FixTemplate, StepTemplate

_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}(\[[A-Za-z0-9,._ -]{0,100}\])?"
    r"( ?(===?|~=|!=|<=?|>=?) ?[A-Za-z0-9.*+!_-]{1,60},?){0,8}"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}(=[^\n]{0,500})?")
_INDEX = re.compile(r"(https://[A-Za-z0-9./_-]{1,200})?")


def offered_fixes(scope: Scope) -> tuple[Fix, ...]:
    """Return the fixes whose conditions surely hold and whose commands can be written out."""
    return tuple(
        _fix(_aside(scope), fix)
        for fix in scope.rule.fixes
        if _truth(scope, fix) is Truth.TRUE and _can_write(_aside(scope), fix)
    )


def possible_fixes(scope: Scope) -> tuple[Fix, ...]:
    """Return the fixes that may hold; one that hangs on facts nobody knows says on which."""
    return tuple(
        _fix(_aside(scope), fix) if _is_sure(scope, fix) else _open_fix(_aside(scope), fix)
        for fix in scope.rule.fixes
        if _truth(scope, fix) is not Truth.FALSE
    )


def _is_sure(scope: Scope, fix: FixTemplate) -> bool:
    aside = _aside(scope)
    texts = [text for step in fix.steps for text in _texts(step)]
    return (
        _truth(scope, fix) is Truth.TRUE
        and _can_write(aside, fix)
        and all(aside.can_fill(text) for text in texts)
    )


def _open_fix(aside: Scope, fix: FixTemplate) -> Fix:
    """Return a fix with those of its steps that can be written out, and what the others need."""
    if fix.when:
        holds(fix.when, aside)
    steps = [
        _step(aside, template)
        for template in fix.steps
        if all(aside.can_fill(text) for text in _texts(template)) and _is_written(aside, template)
    ]
    needs = ", ".join(aside.unknown_facts()) or "this environment"
    advice = f"It depends on {needs}: name the environment to have it worked out."
    return Fix(
        id=fix.id,
        title=aside.fill(fix.title) if aside.can_fill(fix.title) else fix.id.replace("-", " "),
        safety=fix.safety,
        steps=(*steps, Step(StepKind.ADVICE, advice)),
        side_effects=aside.fill(fix.side_effects) if aside.can_fill(fix.side_effects) else "",
    )


def _aside(scope: Scope) -> Scope:
    """Return a scope of its own: what a fix reads is no evidence of the finding."""
    return Scope(scope.environment, scope.matrix, scope.rule, scope.bindings)


def _truth(scope: Scope, fix: FixTemplate) -> Truth:
    return holds(fix.when, _aside(scope)) if fix.when else Truth.TRUE


def _can_write(aside: Scope, fix: FixTemplate) -> bool:
    return all(_is_written(aside, step) for step in fix.steps)


def _is_written(aside: Scope, step: StepTemplate) -> bool:
    """Return whether a step's commands can be written out, and safely so.

    Values come from outside: a requirement must be a name with a specifier, never an option, a
    path or a URL, whatever the metadata say.
    """
    forms = [
        (pattern, text)
        for pattern, texts in (
            (_REQUIREMENT, (*step.install, *step.uninstall)),
            (_VARIABLE, (*step.set, *step.unset)),
            (_INDEX, (step.index,)),
        )
        for text in texts
    ]
    return all(
        aside.can_fill(text) and all(pattern.fullmatch(item) for item in aside.fill_items(text))
        for pattern, text in forms
    )


def _texts(step: StepTemplate) -> tuple[str, ...]:
    lists = (*step.install, *step.uninstall, *step.set, *step.unset)
    return (*lists, step.index, step.setting, step.system, step.advice)


def _fix(aside: Scope, fix: FixTemplate) -> Fix:
    return Fix(
        id=fix.id,
        title=aside.fill(fix.title),
        safety=fix.safety,
        steps=tuple(_step(aside, step) for step in fix.steps),
        side_effects=aside.fill(fix.side_effects),
    )


def _step(scope: Scope, step: StepTemplate) -> Step:
    lists = {
        StepKind.INSTALL: step.install,
        StepKind.UNINSTALL: step.uninstall,
        StepKind.SET: step.set,
        StepKind.UNSET: step.unset,
    }
    for kind, items in lists.items():
        if items:
            filled = tuple(text for item in items for text in scope.fill_items(item))
            index = scope.fill(step.index)
            text = _sentence(kind, filled, step.options, index)
            return Step(kind, text, filled, index, step.options)
    texts = {
        StepKind.SETTING: step.setting,
        StepKind.SYSTEM: step.system,
        StepKind.ADVICE: step.advice,
    }
    kind, text = next((kind, text) for kind, text in texts.items() if text)
    return Step(kind, scope.fill(text))


def _sentence(kind: StepKind, items: tuple[str, ...], options: tuple[str, ...], index: str) -> str:
    words = " ".join((kind.value, *options, *items))
    return f"{words} (index {index})" if index else words
