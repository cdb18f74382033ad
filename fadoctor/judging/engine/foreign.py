"""Fixes that are for another operating system than the one that a text names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import Known
from fadoctor.model.fix import StepKind

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix

TABLE = "system-words"


def is_foreign(fix: Fix, environment: Environment, matrix: Matrix) -> bool:
    """Return whether the words of a fix are those of other systems than the one that is known."""
    system = environment.facts.get("host.os")
    table = matrix.tables.get(TABLE)
    if table is None or not isinstance(system, Known):
        return False
    runs = (step for step in fix.steps if step.kind is not StepKind.ADVICE)
    texts = [fix.title, *(text for step in runs for text in (step.text, step.index))]
    here = {str(row["os"]): row for row in table.rows}
    mine = here.get(str(system.value))
    if mine is None:
        return False
    never = cell_words(mine.get("never"))
    return any(stands(word, text) for word in never for text in texts)


def stands(word: str, text: str) -> bool:
    """Return whether words stand in a text, with no letter beside them."""
    return word in text and _pattern(word).search(text) is not None


@lru_cache(256)
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])")
