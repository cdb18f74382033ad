"""General causes that the facts of a text make special: torch sees no GPU, and the card is AMD's.

Rules say it in `refines`. It holds for each wording that shows the general cause, and for what a
person tells.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.symptoms import SymptomMatch
from fadoctor.judging.explain.fixes.made_for import FACT as MADE_FOR
from fadoctor.judging.explain.fixes.made_for import made_for
from fadoctor.judging.explain.fixes.vendor import FACT as VENDOR
from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity
from fadoctor.model.rule import COMPLAINT, kept_with
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.join import Surroundings
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
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
        self._ignore = ignore

    @cached_property
    def _text(self) -> str:
        return "\n".join(line.text for line in ends_of(self._lines, ENDS))

    @cached_property
    def _environment(self) -> Environment:
        around = self._around
        texts = [line.text for line in self._lines]
        here = {VENDOR: self._vendor(), MADE_FOR: made_for(texts, around.matrix.tables)}
        facts = {**around.environment.facts, **around.places, **here}
        return msgspec.structs.replace(around.environment, facts=facts)

    def refine(self, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
        """Return causes; what is general is the consequence of what the facts make of it."""
        shown = {name for cause in causes for name in (cause.rule.id, *cause.consequences)}
        return tuple(self._refined(cause, shown) for cause in causes)

    def of_complaint(self, loud: Iterable[Line]) -> tuple[Cause, ...]:
        """Return what a complaint is about in which no cause is found; the first of its lines."""
        line = next(iter(loud), None)
        found = self._special(COMPLAINT, set()) if line is not None else None
        if line is None or found is None:
            return ()
        rule, refined = found
        severity = refined.severity or rule.severity
        return (
            line_cause(
                rule, refined.message, line, severity=severity, confidence=refined.confidence
            ),
        )

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
        return all(compiled(each).search(self._text) for each in refined.near) and not any(
            compiled(each).search(self._text) for each in refined.absent
        )

    def _holds(self, rule: Rule, refined: Refinement) -> bool:
        scope = Scope(self._environment, self._around.matrix, rule, dict(_BINDINGS))
        return not refined.given or holds(refined.given, scope) is Truth.TRUE


def _by_general(knowledge: Knowledge) -> Mapping[str, list[tuple[Rule, Refinement]]]:
    found: _Of = {}
    for rule in knowledge.rules:
        for refined in rule.refines:
            for general in refined.of:
                found.setdefault(general, []).append((rule, refined))
    return found


def _under(cause: Cause, rule: Rule, refined: Refinement) -> Cause:
    """Return a cause as what explains it, as grave as it was at most."""
    weights = (cause.severity, rule.severity, refined.severity or rule.severity)
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
        cause, rule=rule, match=match, severity=severity, consequences=tuple(sorted(ids))
    )
