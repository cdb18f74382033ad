"""Fixes that are for another vendor's GPUs: none of them is offered where every GPU is AMD's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Table

AMD = "amd"
_TABLE = "vendor-words"


def foreign_words(tables: Mapping[str, Table], vendor: str) -> tuple[str, ...]:
    """Return what stands only in fixes for the GPUs of other vendors than one."""
    rows = tables[_TABLE].rows
    own = (word for row in rows if row["vendor"] != vendor for word in cell_words(row.get("own")))
    never = (
        word for row in rows if row["vendor"] == vendor for word in cell_words(row.get("never"))
    )
    return (*own, *never)


def suits(fix: Fix, foreign: tuple[str, ...]) -> bool:
    """Return whether nothing in a fix is for another vendor's GPUs alone."""
    texts = tuple(_texts(fix))
    return not any(word in text for word in foreign for text in texts)


def is_amd_alone(environment: Environment) -> bool:
    """Return whether all GPUs are known to be AMD's, and there is one."""
    vendors = [
        environment.fact(f"{subject.text}.vendor") for subject in environment.subjects("gpu")
    ]
    known = [fact.value for fact in vendors if isinstance(fact, Known)]
    return bool(known) and len(known) == len(vendors) and set(known) == {AMD}


def _texts(fix: Fix) -> Iterator[str]:
    yield fix.title
    for step in fix.steps:
        yield from (step.text, step.index, *step.items)
