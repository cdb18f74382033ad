"""Refuse one root cause under two ids: a rule about facts and a rule about logs with one fix.

What repairs both is one cause, found in two ways: one rule with `when` and `symptoms`. A fix that
leads around a cause says nothing of that; two causes that one repair ends are listed with a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from fadoctor.knowledge.matrix.yaml_reader import Document
    from fadoctor.model.errors import RuleDataError
    from fadoctor.model.rule import Rule

AROUND = "ways_around"
"""The key of the fixes that lead around a cause: id -> why it repairs none."""

APART = "two_causes"
"""The key of the pairs that one repair ends although they are two causes: two ids -> why."""


def same_causes(rules: Iterable[Rule], document: Document) -> Iterator[RuleDataError]:
    """Yield the pairs of rules that are one root cause, and the exceptions that except nothing."""
    around, apart = _reasons(document, AROUND), _reasons(document, APART)
    by_facts = [rule for rule in rules if rule.when and not rule.symptoms]
    by_words = [rule for rule in rules if rule.symptoms and not rule.when]
    open_pairs = dict(apart)
    for one in by_facts:
        for other in by_words:
            shared = _repairs(one) & _repairs(other) - around.keys()
            pair = f"{one.id} {other.id}"
            if shared and open_pairs.pop(pair, None) is None:
                which = f"{one.id} and {other.id} share the fix {', '.join(sorted(shared))}"
                problem = f"{which}: write one rule, or say below {APART} why they are two"
                yield document.error((), problem)
    for pair in open_pairs:
        yield document.error((APART, pair), "these rules share no fix")
    for fix in around.keys() - {fix for rule in (*by_facts, *by_words) for fix in _repairs(rule)}:
        yield document.error((AROUND, fix), "no rule has such a fix")


def _repairs(rule: Rule) -> set[str]:
    return {fix.id for fix in rule.fixes}


def _reasons(document: Document, key: str) -> dict[str, Any]:
    """Return what is excepted with its reason; without one it is not."""
    stated = document.data.get(key) if isinstance(document.data, dict) else None
    found = stated if isinstance(stated, dict) else {}
    return {name: why for name, why in found.items() if isinstance(why, str) and why.strip()}
