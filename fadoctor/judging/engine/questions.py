"""What to ask a person where a fact decides between fixes: by the table ``questions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import OF_A_LOG
from fadoctor.model.fact import Known
from fadoctor.model.fact_words import in_words
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from fadoctor.judging.engine.scope import Scope

_PYTHON = "--python PATH"
_GENERAL = "any-package"
"""The row for facts of any package."""


class Question(msgspec.Struct, frozen=True):
    """One question, and how to answer it."""

    title: str
    how: str
    rank: int
    """Of questions that decide alike the first in the table is asked."""


def question_about(fact: str, scope: Scope) -> Question | None:
    """Return the question whose answer gives a fact; None where a person cannot tell it."""
    table = scope.matrix.tables.get("questions")
    if scope.environment.target.kind != OF_A_LOG or table is None:
        return Question("Name the environment", _unread(fact), 0)
    head = scope.bindings.get(fact.partition(".")[0], fact).partition(".")[0].partition("[")[0]
    package = head if head in PACKAGES else ""
    if package and isinstance(scope.environment.facts.get(f"{package}.version"), Known):
        return None  # it was told already, and decides nothing
    for rank, row in enumerate(table.rows):
        about = str(row["about"]).split()
        if head in about or fact in about or (package and about == [_GENERAL]):
            name = PACKAGES[package][0] if package else head
            title, how = (str(row[key]).replace("<name>", name) for key in ("title", "how"))
            return Question(title, how, rank)
    return None


def _unread(fact: str) -> str:
    return f"Not read here: {in_words(fact)}. Name the environment with {_PYTHON}."
