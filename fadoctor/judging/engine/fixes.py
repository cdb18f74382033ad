"""Write out the fixes of a rule with the facts of one scope."""

from __future__ import annotations

import re
import shlex
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.settings import frameworks_at_work, setting_steps
from fadoctor.judging.engine.shell_lines import assignment, unassignment
from fadoctor.judging.engine.vendors import AMD, foreign_words, is_amd_alone, suits
from fadoctor.model.fact import Absent, Known
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.packages import package_of
from fadoctor.model.rule import with_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Effect
    from fadoctor.model.rule import FixTemplate, StepTemplate

UNINSTALL = ("pip", "uninstall", "-y")
"""What removes packages; without -y pip asks, and a line that was pasted waits for ever."""

_REQUIREMENT = (
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}(\[[A-Za-z0-9,._ -]{0,100}\])?"
    r"( ?(===?|~=|!=|<=?|>=?) ?[A-Za-z0-9.*+!_-]{1,60},?){0,24}"
)
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,80}(=[^\n]{0,500})?"
_SPECIAL = r"[^A-Za-z0-9_.:/+=-]"
_OR = "Or "
_INDEX = r"(https://[A-Za-z0-9./_-]{1,200})?"


def offered_fixes(scope: Scope) -> tuple[Fix, ...]:
    """Return the fixes whose conditions surely hold and that can be written out whole.

    Beside AMD's GPUs alone none is offered that is for NVIDIA's, and nowhere one that only removes
    what is not there.
    """
    foreign = _foreign(scope)
    made = (_made(scope, fix, foreign) for fix in scope.rule.fixes)
    return begun(each for each in made if isinstance(each, Fix))


def hindrance(scope: Scope, fix: FixTemplate) -> str:
    """Return why a fix is not offered for what the facts say, "" where it is."""
    found = _made(scope, fix, _foreign(scope))
    return found if isinstance(found, str) else ""


def _made(scope: Scope, fix: FixTemplate, foreign: tuple[str, ...]) -> Fix | str:
    """Return a fix, or why it is not offered; `foreign` are words of a vendor without GPUs here."""
    if fix.logged or fix.otherwise:
        return "it needs a line of a log"
    if _truth(scope, fix) is not Truth.TRUE:
        return "its conditions do not surely hold"
    aside = aside_of(scope, fix)
    if not can_write(aside, fix):
        return "a fact that its text names is unknown, or cannot be part of a command"
    found = written(aside, fix, ())
    return _useless(found, foreign, scope.environment) or found


def _useless(fix: Fix, foreign: tuple[str, ...], environment: Environment) -> str:
    """Return why a fix that can be written out would change nothing here, "" where it would."""
    if not fix.steps:
        return "no framework here has its setting"
    if not suits(fix, foreign):
        return "it is for the GPUs of another vendor"
    if removes_the_absent(fix, environment):
        return "it only removes packages that are not installed"
    return ""


def _foreign(scope: Scope) -> tuple[str, ...]:
    """Return the words of NVIDIA's where all GPUs are AMD's."""
    is_amd = is_amd_alone(scope.environment)
    return foreign_words(scope.matrix.tables, AMD) if is_amd else ()


def removes_the_absent(fix: Fix, environment: Environment) -> bool:
    """Return whether all that a fix does is to remove packages that are not installed."""
    does = [step for step in fix.steps if step.kind is not StepKind.ADVICE]
    removes = [step for step in does if step.kind is StepKind.UNINSTALL]
    items = [item for step in removes for item in step.items]
    return (
        bool(removes)
        and removes == does
        and not any(_is_listed(environment, item) for item in items)
        and all(
            isinstance(environment.facts.get(f"{package_of(item)}.version"), Absent)
            for item in items
        )
    )


def _is_listed(environment: Environment, distribution: str) -> bool:
    """Return whether a distribution is in the list of what is installed."""
    listed = environment.facts.get("packages.installed")
    found = listed.value if isinstance(listed, Known) else None
    return isinstance(found, dict) and distribution in found


def begun(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Return fixes of which the first stands behind no other: it does not begin with "Or"."""
    found = tuple(fixes)
    if not found or not found[0].title.startswith(_OR):
        return found
    title = found[0].title.removeprefix(_OR)
    return (msgspec.structs.replace(found[0], title=title[:1].upper() + title[1:]), *found[1:])


def aside_of(scope: Scope, fix: FixTemplate) -> Scope:
    """Return a scope of its own: what a fix reads is no evidence of the finding."""
    return Scope(scope.environment, scope.matrix, with_rows(scope.rule, fix), scope.bindings)


def _truth(scope: Scope, fix: FixTemplate) -> Truth:
    return holds(fix.when, aside_of(scope, fix)) if fix.when else Truth.TRUE


def can_write(aside: Scope, fix: FixTemplate) -> bool:
    """Return whether a fix can be written out without a hole, and its commands safely so."""
    texts = (fix.title, fix.side_effects, *(text for step in fix.steps for text in texts_of(step)))
    return all(map(aside.can_fill, texts)) and all(_is_written(aside, step) for step in fix.steps)


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
        aside.can_fill(text) and all(re.fullmatch(pattern, item) for item in aside.fill_items(text))
        for pattern, text in forms
    )


def texts_of(step: StepTemplate) -> tuple[str, ...]:
    """Return all texts of a step."""
    lists = (*step.install, *step.uninstall, *step.set, *step.unset)
    return (*lists, step.index, step.setting, step.system, step.advice)


def written(aside: Scope, fix: FixTemplate, shown: tuple[str, ...]) -> Fix:
    """Return the fix written out; without steps where no framework has such settings."""
    steps = [steps_of(aside, step, shown) for step in fix.steps]
    return Fix(
        id=fix.id,
        title=aside.fill(fix.title),
        safety=fix.safety,
        steps=() if is_unsaid(fix, steps) else tuple(chain(*steps)),
        side_effects=aside.fill(fix.side_effects),
    )


def is_unsaid(fix: FixTemplate, written: Sequence[tuple[Step, ...]]) -> bool:
    """Return whether a fix is to tell frameworks something, and none has words for it.

    A variable that the fix sets as well helps programs without such words.
    """
    if any(step.set for step in fix.steps):
        return False
    told = [found for step, found in zip(fix.steps, written, strict=True) if step.settings]
    return bool(told) and not any(told)


def steps_of(scope: Scope, step: StepTemplate, shown: tuple[str, ...]) -> tuple[Step, ...]:
    """Return the steps that a template stands for: settings are one for each framework."""
    if step.settings:
        return tuple(setting_steps(step.settings, scope.environment, scope.matrix, shown))
    if step.frameworks:
        at_work = frameworks_at_work(scope.environment, scope.matrix, shown)
        if at_work and not set(at_work) & set(step.frameworks):
            return ()
    made = _step(scope, step)
    return (made,) if made.text else ()  # all its words stand in brackets, for what is not there


def _step(scope: Scope, step: StepTemplate) -> Step:
    lists = {
        StepKind.INSTALL: step.install,
        StepKind.UNINSTALL: step.uninstall,
        StepKind.SET: step.set,
        StepKind.UNSET: step.unset,
    }
    effects = _effects(scope, step)
    for kind, items in lists.items():
        if items:
            filled = tuple(text for item in items for text in scope.fill_items(item))
            index = scope.fill(step.index)
            windows = scope.environment.is_windows
            text = command(kind, filled, step.options, index, windows=windows)
            return Step(kind, text, filled, index, step.options, effects)
    texts = {
        StepKind.SETTING: step.setting,
        StepKind.SYSTEM: step.system,
        StepKind.ADVICE: step.advice,
    }
    kind, text = next((kind, text) for kind, text in texts.items() if text)
    return Step(kind, scope.fill(text), effects=effects)


def _effects(scope: Scope, step: StepTemplate) -> dict[str, Effect]:
    """Return what a step changes, none where a part of that is not known: then it is prose."""
    texts = [value for value in step.effects.values() if isinstance(value, str)]
    if not all(map(scope.can_fill, texts)):
        return {}
    return {
        _bound(scope, name): scope.fill(value) if isinstance(value, str) else value
        for name, value in step.effects.items()
    }


def _bound(scope: Scope, name: str) -> str:
    """Return the name of a fact for the subject that is judged: ``gpu.visible`` of this GPU."""
    head, dot, rest = name.partition(".")
    return scope.bindings.get(head, head) + dot + rest


def command(
    kind: StepKind,
    items: tuple[str, ...],
    options: tuple[str, ...] = (),
    index: str = "",
    *,
    windows: bool = False,
) -> str:
    """Return what a step is as a line to paste; each installer has its own name for ``pip``."""
    match kind:
        case StepKind.INSTALL:
            before = ("pip", "install", *(("--index-url", index) if index else ()), *options)
        case StepKind.UNINSTALL:
            before = UNINSTALL
        case StepKind.SET:
            return assignment(*items, windows=windows)
        case _:
            return unassignment(*items, windows=windows)
    if windows:
        return " ".join(
            (*before, *(f'"{item}"' if re.search(_SPECIAL, item) else item for item in items))
        )
    return shlex.join((*before, *items))
