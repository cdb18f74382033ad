"""Each table has a program that can refute it, or says why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.load import load_apart, load_knowledge
from tools.refresh import clones
from tools.refresh.drawn import DRAWABLE
from tools.refresh.sources import SOURCES
from tools.refresh.unheld import group_of_tables, groups

if TYPE_CHECKING:
    from fadoctor.model.rule import Table

NAMES = {"names-arguments", "names-attributes", "names-given"}
"""Drawn by tests/tools/test_drawn_names.py."""
HELD = {
    *(each.table for each in SOURCES),
    *(each.table for each in DRAWABLE),
    *NAMES,
    *clones.HELD,
}


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return dict(load_apart(load_knowledge().tables))


def test_each_table_is_held_or_says_why_not(tables: dict[str, Table]) -> None:
    told = group_of_tables().keys()
    assert sorted(tables.keys() - HELD - told) == []
    assert sorted(told - tables.keys()) == []
    assert sorted(told & HELD) == []


def test_a_table_is_in_one_group() -> None:
    listed = [table for each in groups().values() for table in each["tables"].split()]
    assert len(listed) == len(set(listed))
