"""A telling does not speak for a rule whose own wording stands there and is not meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.rule import Rule
    from fadoctor.sources.logs.cleaning import Line


def is_meant_otherwise(rule: Rule, lines: Iterable[Line]) -> bool:
    """Return whether a text holds a wording of a rule, and what says that it is not meant.

    Node asks for a newer GLIBC: the wording is there, and no program of the stack raised it.
    """
    text = "\n".join(line.text for line in lines)
    return any(
        symptom.anchor in text
        and (not symptom.pattern or compiled(symptom.pattern).search(text))
        and any(compiled(each).search(text) for each in (*symptom.absent, *symptom.others))
        for symptom in rule.symptoms
    )
