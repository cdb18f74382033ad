"""Tables that are compiled apart are decoded one by one, and only when they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fadoctor.knowledge.matrix.lazy_tables import Apart
from fadoctor.model.errors import FadoctorError
from fadoctor.model.packed import pack
from fadoctor.model.rule import Table


def table(name: str) -> Table:
    return Table(name, "A table.", {"key": "word"}, {}, (), "tested", ())


def apart(**damaged: bytes) -> Apart:
    packed = {name: pack(table(name)) for name in ("large", "larger")}
    return Apart({**packed, **damaged}, Path("apart.json"), {"small": table("small")})


def test_they_are_there_beside_those_at_hand() -> None:
    tables = apart()
    assert list(tables) == ["small", "large", "larger"]
    assert len(tables) == 3
    assert {name: each.table for name, each in tables.items()} == {n: n for n in tables}
    assert "large" in tables
    assert "other" not in tables
    assert tables.get("other") is None


def test_a_table_is_decoded_once() -> None:
    tables = apart()
    assert tables["large"] is tables["large"]


def test_what_nobody_asks_for_is_not_decoded() -> None:
    for damaged in (pack({"table": 1}), pack(table("larger"))[:-4], b"{"):
        tables = apart(larger=damaged)
        assert tables["large"].table == "large"
        with pytest.raises(FadoctorError, match=r"apart\.json: the table larger is damaged: "):
            tables["larger"]
