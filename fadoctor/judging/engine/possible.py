"""The fixes of a cause that a text shows: what is proved, one question, and advice.

A command is shown only where each of its conditions is known to hold and no table speaks against
it. Where that is open, one question names the fact that decides most.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.contradicted import fitted, is_hopeless
from fadoctor.judging.engine.fixes import (
    aside_of,
    begun,
    can_write,
    is_unsaid,
    removes_the_absent,
    steps_of,
    texts_of,
    written,
)
from fadoctor.judging.engine.log_form import as_the_log_writes
from fadoctor.judging.engine.questions import Question, question_about
from fadoctor.judging.engine.remaining import truth_of
from fadoctor.judging.engine.settings import LIBRARY, named_frameworks, shown_frameworks
from fadoctor.judging.engine.tried import MISFITS, holds_one, is_there, is_tried
from fadoctor.model.environment import OF_A_LOG
from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.packages import PACKAGES
from fadoctor.model.rule import TABLE
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from fadoctor.judging.engine.scope import Scope
    from fadoctor.model.rule import FixTemplate

QUESTION = "question"
"""The id of what is asked where the facts do not decide between fixes."""

HUB = "hub"
"""The area of the rules about kernels of the Hub, for which transformers asks."""

CHOICES = 4
"""Most fixes that one question names."""

_TRIED = "The log shows that this was tried."
_THERE = "The log shows that this is installed already."
_OWNER = "package.distribution"
_OR = "Or "
_UNSAID = "=unsaid"  # the key of a row that reads the fact where its command runs
# flash-attn, flash_attn_2_cuda, FlashAttention, FA2
_FLASH = compiled(r"(?i)flash[-_ ]?att|(?<![a-z])fa-?2(?![a-z])")
_ERROR = compiled(r"\b[A-Z]\w{0,60}(?:Error|Exception)\b")


class _Waiting(msgspec.Struct, frozen=True):
    """A fix with commands whose conditions are open."""

    title: str
    facts: tuple[str, ...]
    """Those that decide."""
    tables: frozenset[str]
    """Those of which it needs a row."""


class _Sorted:
    """The fixes of a rule by how sure they are."""

    def __init__(self, scope: Scope, log: tuple[str, ...], others: tuple[str, ...]) -> None:
        """Take what fixes see, the lines of a log, and those that are not the failure itself."""
        self._scope = scope
        self._shown = _shown(scope, log)
        self._lines = log
        self._log = others
        self.proved: list[Fix] = []
        self.otherwise: list[Fix] = []
        self.advice: list[Fix] = []
        self.of_others: list[Fix] = []
        self.tried: list[Fix] = []
        self.waiting: list[_Waiting] = []
        self.waiting_for_others: list[_Waiting] = []
        self._reading: set[str] = set()
        """Tables of which a proved command looks the row up itself, where it runs."""

    def put(self, template: FixTemplate) -> None:
        """Put one fix where it belongs; one that does not hold nowhere."""
        wanted = (key for key in ("logged", "also") if getattr(template, key))
        is_said = all(holds_one(template, key, self._lines) for key in wanted)
        if not is_said or holds_one(template, "unlogged", self._lines):
            return
        truth = truth_of(self._scope, template)
        aside = aside_of(self._scope, template)
        if truth is Truth.TRUE and can_write(aside, template):
            fix = fitted(written(aside, template, self._shown), aside.environment, aside.matrix)
            rank = self.otherwise if template.otherwise else self.proved
            self._keep(fix, template, rank)
            if fix in rank:
                self._reading |= _tables(template, unsaid=True)
        elif truth in (Truth.TRUE, Truth.UNKNOWN) and not template.otherwise:
            self._put_open(template, aside, truth)

    def _put_open(self, template: FixTemplate, aside: Scope, truth: Truth) -> None:
        is_of_others = truth is Truth.UNKNOWN and (
            _is_of_others(self._scope, template) or self._is_unasked(template)
        )
        if truth is Truth.UNKNOWN and self._is_unnamed(template):
            return
        if not _runs(template):
            rank = self.of_others if is_of_others else self.advice
            self._keep(_told(aside, template, self._shown), template, rank)
        elif not is_tried(template, None, self._log) and not is_hopeless(template.steps, aside):
            waiting = self.waiting_for_others if is_of_others else self.waiting
            tables = _tables(template, unsaid=False)
            waiting.append(_Waiting(_title(aside, template), _deciding(aside, template), tables))

    def unanswered(self) -> list[_Waiting]:
        """Return what waits for a fact that no proved command reads by itself."""
        return [
            each for each in self.waiting if not each.tables or not each.tables <= self._reading
        ]

    def _is_unasked(self, template: FixTemplate) -> bool:
        """Return whether a fix brings FlashAttention, of which no line of the log speaks."""
        is_flash = bool(template.brings) and all(each.value == "fa2" for each in template.brings)
        return is_flash and bool(self._lines) and not any(map(_FLASH.search, self._lines))

    def _is_unnamed(self, template: FixTemplate) -> bool:
        """Return whether a fix is for packages of which no line of the log holds the name."""
        found = aside_of(self._scope, template).resolve(_OWNER)
        wanted = template.when.get(_OWNER)
        names = wanted.get("in", wanted.get("is")) if isinstance(wanted, dict) else wanted
        names = [names] if isinstance(names, str) else names
        if isinstance(found, Known) or not isinstance(names, list) or not self._lines:
            return False
        patterns = [
            re.compile(re.sub(r"[-_.]", "[-_. ]?", str(name)), re.IGNORECASE) for name in names
        ]
        return not any(any(map(pattern.search, self._lines)) for pattern in patterns)

    def _keep(self, fix: Fix | None, template: FixTemplate, rank: list[Fix]) -> None:
        if fix is None or not fix.steps or removes_the_absent(fix, self._scope.environment):
            return
        if is_tried(template, fix, self._log):
            self.tried.append(_marked(fix, _TRIED))
        elif is_there(fix, self._log, forced=self._scope.rule.area == MISFITS):
            self.tried.append(_marked(fix, _THERE))
        else:
            rank.append(fix)


def possible_fixes(
    scope: Scope,
    log: tuple[str, ...] = (),
    said: tuple[str, ...] = (),
    without: Container[str] = (),
) -> tuple[Fix, ...]:
    """Return what is proved, then one question about what else may fit, then advice.

    `log`: the lines that were read. What they show to be tried already comes last, and says so;
    before it comes what depends on packages that the log does not name. `said`: those lines with
    which the program fails; what stands in them is its own advice, except for the words that a
    person writes in front of the error. `without`: ids of fixes that are left out.
    """
    own = tuple(_before_the_error(line) if line in said else line for line in log)
    found = _Sorted(scope, log, tuple(filter(None, own)))
    for template in scope.rule.fixes:
        if template.id not in without:
            found.put(template)
    by_title: dict[str, Fix] = {}
    asked = _asked(found.unanswered(), scope)
    first = found.proved or found.otherwise
    sure = (*first, *asked, *found.advice, *found.of_others)
    rest = () if sure else _asked(found.waiting_for_others, scope)
    for each in (*sure, *rest, *found.tried):
        # What differs only by a fact that nobody knows reads alike.
        by_title.setdefault(each.title.removeprefix(_OR).casefold(), each)
    return begun(tuple(as_the_log_writes(each, log) for each in by_title.values()))


def _before_the_error(line: str) -> str:
    """Return what stands in a line in front of the error that it quotes."""
    error = _ERROR.search(line)
    return line[: error.start()] if error else ""


def _shown(scope: Scope, log: tuple[str, ...]) -> tuple[str, ...]:
    """Return the frameworks that a log shows, where a fix tells frameworks something."""
    if not any(step.settings for fix in scope.rule.fixes for step in fix.steps):
        return ()
    at_work = shown_frameworks("\n".join(log), scope.matrix)
    of_hub = (LIBRARY,) if scope.rule.area == HUB else ()
    return at_work or named_frameworks(log, scope.matrix) or of_hub


def is_marked_tried(fix: Fix) -> bool:
    """Return whether a fix says that the log shows it as tried."""
    return any(step.kind is StepKind.ADVICE and step.text == _TRIED for step in fix.steps)


def _marked(fix: Fix, text: str) -> Fix:
    said = Step(StepKind.ADVICE, text)
    return msgspec.structs.replace(fix, steps=(*fix.steps, said))


def _runs(template: FixTemplate) -> bool:
    """Return whether a fix holds a command."""
    return any(
        step.install or step.uninstall or step.set or step.unset or step.system
        for step in template.steps
    )


def _tables(template: FixTemplate, *, unsaid: bool) -> frozenset[str]:
    """Return the tables of a fix's own look-ups: those whose key no text says, or the others."""
    specs = template.rows.values()
    return frozenset(spec[TABLE] for spec in specs if (_UNSAID in spec.values()) is unsaid)


def _deciding(aside: Scope, template: FixTemplate) -> tuple[str, ...]:
    """Return the facts that nobody knows and a fix waits for; what a table lacks is none."""
    if template.when:
        holds(template.when, aside)
    can_write(aside, template)
    tables = aside.matrix.tables
    return tuple(name for name in aside.unknown_facts() if name.partition(".")[0] not in tables)


def _told(aside: Scope, template: FixTemplate, shown: tuple[str, ...]) -> Fix:
    """Return what can be said of an open fix, which holds no command."""
    parts = [
        steps_of(aside, step, shown) if all(map(aside.can_fill, texts_of(step))) else ()
        for step in template.steps
    ]
    unsaid = is_unsaid(template, parts)
    return Fix(
        id=template.id,
        title=_title(aside, template),
        safety=template.safety,
        steps=() if unsaid else tuple(chain(*parts)),
        side_effects=aside.fill(template.side_effects)
        if aside.can_fill(template.side_effects)
        else "",
    )


def _title(aside: Scope, template: FixTemplate) -> str:
    can_fill = aside.can_fill(template.title)
    return aside.fill(template.title) if can_fill else template.id.replace("-", " ").capitalize()


def _is_of_others(scope: Scope, template: FixTemplate) -> bool:
    """Return whether a fix needs facts of a package that a log, read as it is, does not name."""
    fact = scope.environment.facts.get("log.packages")
    named = fact.value if isinstance(fact, Known) else ()
    if scope.environment.target.kind != OF_A_LOG or not isinstance(named, tuple):
        return False
    aside = aside_of(scope, template)
    holds(template.when, aside)  # what it reads is what it needs
    about = {name.partition(".")[0] for name in aside.unknown_facts()} & PACKAGES.keys()
    return not about <= {*named, "torch", scope.rule.subject.replace("-", "_")}


def _asked(waiting: Iterable[_Waiting], scope: Scope) -> tuple[Fix, ...]:
    """Return the one question that decides most between fixes that wait for facts."""
    votes: Counter[Question] = Counter()
    titles: dict[Question, list[str]] = {}
    for each in waiting:
        plain = each.title.removeprefix(_OR)
        questions = dict.fromkeys(question_about(name, scope) for name in each.facts)
        for question in filter(None, questions):
            votes[question] += 1
            titles.setdefault(question, []).append(plain[:1].upper() + plain[1:])
    if not votes:
        return ()
    best = max(votes, key=lambda each: (votes[each], -each.rank))
    choices = list(dict.fromkeys(titles[best]))[:CHOICES]
    alone = len(choices) == 1
    then = (
        () if alone else (Step(StepKind.ADVICE, f"The answer decides on: {'; '.join(choices)}."),)
    )
    steps = (Step(StepKind.ADVICE, best.how), *then)
    return (Fix(QUESTION, choices[0] if alone else best.title, Safety.SAFE, steps),)
