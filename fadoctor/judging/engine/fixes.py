"""Write out the fixes of a rule with the facts of one scope."""

from __future__ import annotations

import re
import shlex
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.settings import setting_steps, shown_frameworks
from fadoctor.judging.engine.shell_lines import assignment, unassignment
from fadoctor.model.environment import OF_A_LOG
from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.packages import PACKAGES
from fadoctor.model.rule import with_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.model.fix import Effect
    from fadoctor.model.rule import FixTemplate, StepTemplate

_REQUIREMENT = (
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}(\[[A-Za-z0-9,._ -]{0,100}\])?"
    r"( ?(===?|~=|!=|<=?|>=?) ?[A-Za-z0-9.*+!_-]{1,60},?){0,24}"
)
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,80}(=[^\n]{0,500})?"
_SPECIAL = r"[^A-Za-z0-9_.:/+=-]"
_OR = "Or "
_INDEX = r"(https://[A-Za-z0-9./_-]{1,200})?"


def offered_fixes(scope: Scope) -> tuple[Fix, ...]:
    """Return the fixes whose conditions surely hold and that can be written out whole."""
    return begun(
        found
        for fix in scope.rule.fixes
        if _truth(scope, fix) is Truth.TRUE and _can_write(_aside(scope, fix), fix)
        if (found := _fix(_aside(scope, fix), fix, ())).steps
    )


def begun(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Return fixes of which the first stands behind no other: it does not begin with "Or"."""
    found = tuple(fixes)
    if not found or not found[0].title.startswith(_OR):
        return found
    title = found[0].title.removeprefix(_OR)
    return (msgspec.structs.replace(found[0], title=title[:1].upper() + title[1:]), *found[1:])


def possible_fixes(
    scope: Scope, log: tuple[str, ...] = (), said: tuple[str, ...] = ()
) -> tuple[Fix, ...]:
    """Return the fixes that may hold; one that hangs on facts nobody knows says on which.

    `log`: the lines that were read. What they show to be tried already comes last, and says so;
    before it comes what hangs on packages that the log does not name. `said`: those lines with
    which the program fails; what stands in them is its own advice.
    """
    tells = any(step.settings for fix in scope.rule.fixes for step in fix.steps)
    named = (shown_frameworks(line, scope.matrix) for line in (log if tells else ()))
    shown = tuple({name for names in named for name in names})
    fresh, of_others, tried = [], [], []
    for fix in scope.rule.fixes:
        truth = _truth(scope, fix)
        may_hold = truth in (Truth.TRUE, Truth.UNKNOWN)
        if not (may_hold and (written := _possible(scope, fix, shown)).steps):
            continue
        if _is_tried(fix, tuple(line for line in log if line not in said)):
            tried.append(_tried(written))
        elif truth is Truth.UNKNOWN and _is_of_others(scope, fix):
            of_others.append(written)
        else:
            fresh.append(written)
    by_title: dict[str, Fix] = {}
    for each in (*fresh, *of_others, *tried):
        # What differs only by a fact that nobody knows reads alike.
        by_title.setdefault(each.title.removeprefix("Or ").casefold(), each)
    return begun(tuple(by_title.values()))


def _is_of_others(scope: Scope, fix: FixTemplate) -> bool:
    """Return whether a fix needs facts of a package that a log, read as it is, does not name."""
    fact = scope.environment.facts.get("log.packages")
    named = fact.value if isinstance(fact, Known) else ()
    if scope.environment.target.kind != OF_A_LOG or not isinstance(named, tuple):
        return False
    aside = _aside(scope, fix)
    holds(fix.when, aside)  # what it reads is what it needs
    about = {name.partition(".")[0] for name in aside.unknown_facts()} & PACKAGES.keys()
    return not about <= {*named, scope.rule.subject.replace("-", "_")}


def _possible(scope: Scope, fix: FixTemplate, shown: tuple[str, ...]) -> Fix:
    aside = _aside(scope, fix)
    return _fix(aside, fix, shown) if _is_sure(scope, fix) else _open_fix(aside, fix, shown)


def _is_tried(fix: FixTemplate, log: tuple[str, ...]) -> bool:
    """Return whether a log shows that somebody has done this already."""
    patterns = [re.compile(pattern) for pattern in fix.tried]
    return any(pattern.search(line) for line in log for pattern in patterns)


def _tried(fix: Fix) -> Fix:
    said = Step(StepKind.ADVICE, "The log shows that this was tried.")
    return msgspec.structs.replace(fix, steps=(*fix.steps, said))


def _is_sure(scope: Scope, fix: FixTemplate) -> bool:
    return _truth(scope, fix) is Truth.TRUE and _can_write(_aside(scope, fix), fix)


_FROM_A_LOG = (
    "What fits depends on the environment: name it with --python PATH, and fadoctor works it out."
)


def _open_fix(aside: Scope, fix: FixTemplate, shown: tuple[str, ...]) -> Fix:
    """Return a fix with those of its steps that can be written out, and what the others need."""
    if fix.when:
        holds(fix.when, aside)
    can_run = _can_write(aside, fix)
    written = [
        _steps(aside, template, shown)
        if all(aside.can_fill(text) for text in _texts(template))
        and (can_run or not (template.install or template.uninstall))  # half of it may harm
        else ()
        for template in fix.steps
    ]
    unknown = (n for n in aside.unknown_facts() if n.partition(".")[0] not in aside.matrix.tables)
    needs = ", ".join(unknown) or "this environment"
    is_log = aside.environment.target.kind == OF_A_LOG
    advice = _FROM_A_LOG if is_log else f"It depends on {needs}, which could not be read."
    return Fix(
        id=fix.id,
        title=aside.fill(fix.title) if aside.can_fill(fix.title) else fix.id.replace("-", " "),
        safety=fix.safety,
        steps=() if _is_unsaid(fix, written) else (*chain(*written), Step(StepKind.ADVICE, advice)),
        side_effects=aside.fill(fix.side_effects) if aside.can_fill(fix.side_effects) else "",
    )


def _aside(scope: Scope, fix: FixTemplate) -> Scope:
    """Return a scope of its own: what a fix reads is no evidence of the finding."""
    return Scope(scope.environment, scope.matrix, with_rows(scope.rule, fix), scope.bindings)


def _truth(scope: Scope, fix: FixTemplate) -> Truth:
    return holds(fix.when, _aside(scope, fix)) if fix.when else Truth.TRUE


def _can_write(aside: Scope, fix: FixTemplate) -> bool:
    """Return whether a fix can be written out without a hole, and its commands safely so."""
    texts = (fix.title, fix.side_effects, *(text for step in fix.steps for text in _texts(step)))
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


def _texts(step: StepTemplate) -> tuple[str, ...]:
    lists = (*step.install, *step.uninstall, *step.set, *step.unset)
    return (*lists, step.index, step.setting, step.system, step.advice)


def _fix(aside: Scope, fix: FixTemplate, shown: tuple[str, ...]) -> Fix:
    """Return the fix written out; without steps where no framework has such settings."""
    steps = [_steps(aside, step, shown) for step in fix.steps]
    return Fix(
        id=fix.id,
        title=aside.fill(fix.title),
        safety=fix.safety,
        steps=() if _is_unsaid(fix, steps) else tuple(chain(*steps)),
        side_effects=aside.fill(fix.side_effects),
    )


def _is_unsaid(fix: FixTemplate, written: Sequence[tuple[Step, ...]]) -> bool:
    """Return whether a fix is to tell frameworks something, and none has words for it."""
    told = [found for step, found in zip(fix.steps, written, strict=True) if step.settings]
    return bool(told) and not any(told)


def _steps(scope: Scope, step: StepTemplate, shown: tuple[str, ...]) -> tuple[Step, ...]:
    """Return the steps that a template stands for: settings are one for each framework."""
    if step.settings:
        return tuple(setting_steps(step.settings, scope.environment, scope.matrix, shown))
    return (_step(scope, step),)


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
            windows = _is_windows(scope)
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


def _is_windows(scope: Scope) -> bool:
    system = scope.environment.facts.get("host.os")
    return isinstance(system, Known) and system.value == "windows"


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
            before = ("pip", "uninstall")
        case StepKind.SET:
            return assignment(*items, windows=windows)
        case _:
            return unassignment(*items, windows=windows)
    if windows:
        return " ".join(
            (*before, *(f'"{item}"' if re.search(_SPECIAL, item) else item for item in items))
        )
    return shlex.join((*before, *items))
