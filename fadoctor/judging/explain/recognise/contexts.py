"""What a text names apart from its trouble: the one card, program, package or system it is about.

My card is a GTX 1660. Below that, in a sentence of its own: each picture is black.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.recognise.ideas import BETWEEN, ideas_of
from fadoctor.judging.explain.recognise.program_reach import gpus_told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.explain.recognise.ideas import Ideas
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.facts import LogFacts

CARDS = {"card", "vendor"}
"""Kinds of ideas that name a GPU: by its family, or by who made it."""

STACK, TROUBLE = "stack", "trouble"
"""Kinds of ideas: what nearly every text names, and what may be said of anything."""


def told_apart(says: tuple[str, ...], ideas: Ideas) -> tuple[str, ...]:
    """Return the ideas of a row without those that name a context; none where it has no others.

    What is said of anything is not enough: such a sentence may be about something else.
    """
    if any(BETWEEN in each for each in says):
        return ()
    kinds = {each: ideas.kind(each) for each in says}
    rest = tuple(each for each in says if kinds[each] in ("", TROUBLE))
    is_apart = len(rest) < len(says) and any(not kinds[each] for each in rest)
    return rest if is_apart else ()


def names_one(
    text: str, told: tuple[str, ...], lines: Iterable[Line], facts: LogFacts, knowledge: Knowledge
) -> bool:
    """Return whether a text names no second context of a kind that the ideas of a row name.

    A text that names two cards or two packages may tell of the trouble of either.
    """
    ideas = ideas_of(knowledge)
    kinds = {ideas.kind(each) for each in told} - {"", STACK, TROUBLE}
    if kinds & CARDS:
        named = gpus_told(lines, facts.environment.facts, knowledge)
        if len({tuple(sorted(gpu.items())) for gpu in named}) > 1:
            return False
    return not any(_names_another(text, told, kind, ideas) for kind in kinds)


def _names_another(text: str, told: tuple[str, ...], kind: str, ideas: Ideas) -> bool:
    for each in told:
        if ideas.kind(each) == kind:
            text = ideas.small(each).sub(" ", text)
    others = (each for each in ideas.of_kind(kind) if each not in told)
    return any(ideas.stands(each, text) for each in others)
