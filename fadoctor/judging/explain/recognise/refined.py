"""General causes that the facts of a text make special: torch sees no GPU, and the card is AMD's.

Rules say it in `refines`. It holds for each wording that shows the general cause, and for what a
person tells.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.possible import QUESTION, possible_fixes
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.symptoms import SymptomMatch
from fadoctor.judging.explain.fixes.made_for import FACT as MADE_FOR
from fadoctor.judging.explain.fixes.made_for import made_for
from fadoctor.judging.explain.fixes.vendor import FACT as VENDOR
from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.judging.explain.recognise.proved import complaining
from fadoctor.judging.explain.recognise.unfit_wheel import FACT as UNFIT
from fadoctor.judging.explain.recognise.unfit_wheel import unfit_wheel
from fadoctor.judging.explain.recognise.unpublished import FACT as UNPUBLISHED
from fadoctor.judging.explain.recognise.unpublished import unpublished
from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity
from fadoctor.model.rule import COMPLAINT, kept_with, with_fixes
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.either import either

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.join import Surroundings
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Knowledge, Refinement, Rule
    from fadoctor.sources.logs.cleaning import Line

ENDS = 400
"""Lines at the beginning and at the end of a log in which patterns are looked for."""

_BINDINGS = {"gpu": "gpu[0]", "toolkit": "toolkit[0]"}
"""What conditions mean where a text is about one GPU."""

_SEVERITIES = list(Severity)
_Of = dict[str, list[tuple["Rule", "Refinement"]]]


class Refiner:
    """Finds the special rules of general causes in one text."""

    def __init__(
        self,
        lines: tuple[Line, ...],
        around: Surroundings,
        vendor: Callable[[], Fact],
        knowledge: Knowledge,
        ignore: tuple[str, ...],
    ) -> None:
        """Take a text and its facts; `vendor` is asked only where a general cause shows."""
        self._lines, self._around, self._vendor = lines, around, vendor
        self._of = kept_with(knowledge, "refinements", _by_general)
        self._knowledge, self._ignore = knowledge, ignore

    @cached_property
    def _text(self) -> str:
        return "\n".join(line.text for line in ends_of(self._lines, ENDS))

    @cached_property
    def _environment(self) -> Environment:
        around = self._around
        texts = [line.text for line in self._lines]
        tables = around.matrix.tables
        here = {
            VENDOR: self._vendor(),
            MADE_FOR: made_for(texts, tables),
            UNFIT: unfit_wheel(texts, around.environment.facts),
            UNPUBLISHED: unpublished(texts, tables),
        }
        facts = {**around.environment.facts, **around.places, **here}
        return msgspec.structs.replace(around.environment, facts=facts)

    def refine(
        self, shown: tuple[Cause, ...], told: tuple[Cause, ...], *, is_quiet: bool
    ) -> tuple[tuple[Cause, ...], tuple[Cause, ...]]:
        """Return the causes of wordings, and those that are told, as the facts refine them.

        Where there are none in a report without an error, a complaint is refined. A named
        environment decides by itself: then nothing is.
        """
        if self._around.assessment is not None:
            return shown, told
        if is_quiet and not shown and not told:
            return shown, self._of_complaint()
        made: dict[str, Cause] = {}
        return self._all(shown, made), self._all(told, made)

    def _all(self, causes: tuple[Cause, ...], made: dict[str, Cause]) -> tuple[Cause, ...]:
        """Return causes, refined; what several general ones become is one cause, the first."""
        known = {name for cause in causes for name in (cause.rule.id, *cause.consequences)}
        kept = []
        for cause in causes:
            each = self._refined(cause, known)
            if each is cause:
                kept.append(cause)
            elif each.rule.id not in made:
                made[each.rule.id] = each
                kept.append(each)
        return tuple(kept)

    def _of_complaint(self) -> tuple[Cause, ...]:
        """Return what a complaint is about in which no cause is found; the first of its lines."""
        line = next(iter(complaining(self._lines, self._knowledge)), None)
        found = self._special(COMPLAINT, set()) if line is not None else None
        if line is None or found is None:
            return ()
        rule, refined = found
        weight, sure = refined.severity or rule.severity, refined.confidence
        return (line_cause(rule, refined.message, line, severity=weight, confidence=sure),)

    def _refined(self, cause: Cause, shown: set[str]) -> Cause:
        found = self._special(cause.rule.id, shown)
        return _under(cause, *found) if found is not None else cause

    def _special(self, general: str, shown: set[str]) -> tuple[Rule, Refinement] | None:
        """Return the first rule that the facts make of a general one, which does not show itself.

        Facts are asked last: patterns cost less.
        """
        return next(
            (
                (rule, refined)
                for rule, refined in self._of.get(general, ())
                if rule.id not in shown and rule.id not in self._ignore
                if self._is_said(refined) and self._holds(rule, refined)
            ),
            None,
        )

    def _is_said(self, refined: Refinement) -> bool:
        facts = self._around.environment
        if any(isinstance(facts.fact(path), Known) for path in refined.untold):
            return False
        return all(either(each).stands(self._text) for each in refined.near) and not any(
            either(each).stands(self._text) for each in refined.absent
        )

    def _holds(self, rule: Rule, refined: Refinement) -> bool:
        scope = Scope(self._environment, self._around.matrix, rule, dict(_BINDINGS))
        return not refined.given or holds(refined.given, scope) is Truth.TRUE


def fixes_of(
    cause: Cause, scope: Scope, lines: tuple[str, ...], said: tuple[str, ...]
) -> tuple[Fix, ...]:
    """Return the fixes of a cause, after those that its general rule has for words of the log."""
    own = possible_fixes(scope, lines, said)
    if cause.general is None:
        return own
    worded = tuple(fix for fix in cause.general.fixes if fix.logged)
    general = with_fixes(cause.general, worded)
    aside = Scope(scope.environment, scope.matrix, general, scope.bindings)
    kept = [fix for fix in possible_fixes(aside, lines, said) if fix.id != QUESTION]
    ids = {fix.id for fix in kept}
    return (*kept, *(fix for fix in own if fix.id not in ids))


def _by_general(knowledge: Knowledge) -> Mapping[str, list[tuple[Rule, Refinement]]]:
    found: _Of = {}
    for rule in knowledge.rules:
        for refined in rule.refines:
            for general in refined.of:
                found.setdefault(general, []).append((rule, refined))
    return found


def _under(cause: Cause, rule: Rule, refined: Refinement) -> Cause:
    """Return a cause as what explains it, as grave as it was at most."""
    weights = (cause.severity, refined.severity or rule.severity)
    severity = max(weights, key=_SEVERITIES.index)
    match = SymptomMatch(
        rule_id=rule.id,
        index=-1,
        severity=severity,
        confidence=refined.confidence,
        captures={},
        message=refined.message,
        specific=0,
        start=cause.match.start,
        end=cause.match.end,
    )
    ids = {cause.rule.id, *cause.consequences} - {rule.id}
    return msgspec.structs.replace(
        cause,
        rule=rule,
        match=match,
        severity=severity,
        consequences=tuple(sorted(ids)),
        general=cause.rule if refined.keeps else None,
    )
