"""The rows of what people tell in words of their own, and those whose trouble is told apart."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise.contexts import told_apart
from fadoctor.judging.explain.recognise.ideas import as_words, ideas_of
from fadoctor.knowledge.matrix.lazy_tables import rows_once

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.rule import Knowledge

CAUSES = "told-causes"

FAILURE = "failure-told"
"""The idea without which a row that `asks` is a question, and no failure."""

GPU_FAILURE = f"{FAILURE}|gpu-trouble-told|gpu-unused-told|processor-alone-told"
"""The same of a row about a GPU out of reach."""

COMPLAINT = f"{GPU_FAILURE}|trouble-in-words"
"""What is told in a sentence that names its trouble, and not what it is about."""


class ToldRow(msgspec.Struct, frozen=True):
    """One row: the ideas that tell a cause, and the cause."""

    says: tuple[str, ...]
    beside: tuple[str, ...]
    unless: tuple[str, ...]
    least: str
    below: str
    rule: str
    message: str
    others: bool
    """Whether it is about a program with a CUDA of its own."""

    asks: bool
    """Whether a question tells it: only a note then, unless a failure is told beside it."""

    weighs: str
    """How severe it is where it is less than its rule: what is told makes it likely, not sure."""

    reach: str
    """The program whose builds run on none of the GPUs that the text names."""

    partly: bool
    """Whether they run on some of these GPUs, and not on the others."""

    apart: tuple[str, ...] = ()
    """All ideas of a row whose trouble is told in another sentence than what it is about."""


def told_rows(knowledge: Knowledge) -> tuple[ToldRow, ...]:
    """Return the rows, and behind them those whose trouble may be told apart from its context."""
    rows = tuple(map(_row, rows_once(knowledge.tables, CAUSES)))
    return (*rows, *(apart for row in rows if (apart := _apart(row, knowledge))))


def _apart(row: ToldRow, knowledge: Knowledge) -> ToldRow | None:
    trouble = told_apart(row.says, ideas_of(knowledge))
    if not trouble:
        return None
    beside = (*row.beside, *(each for each in row.says if each not in trouble))
    return msgspec.structs.replace(
        row, says=(*trouble, COMPLAINT), beside=beside, apart=(*row.says, *row.beside)
    )


def _row(row: Row) -> ToldRow:
    says, beside, unless = (tuple(map(intern, as_words(row.get(key)).split()))
                            for key in ("says", "beside", "unless"))  # fmt: skip
    least, below = as_words(row.get("least")), as_words(row.get("below"))
    rule, message, weighs = (as_words(row.get(key)) for key in ("rule", "message", "weighs"))
    others, asks, partly = (row.get(key) is True for key in ("others", "asks", "partly"))
    reach = as_words(row.get("reach"))
    return ToldRow(
        says, beside, unless, least, below, rule, message, others, asks, weighs, reach, partly
    )
