"""Edits touch what they are about and nothing else."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from fadoctor.knowledge.matrix.yaml_reader import read_yaml
from tools.refresh.document import Cell, Document, Unread
from tools.refresh.errors import RefreshError
from tools.refresh.sources import SOURCES

TABLES = Path(__file__).parents[2] / "rules" / "matrix"

TEXT = """\
table: tiny
doc: A table.
keys: {version: release, platform: word}
columns: {cuda: version, sm: list, ok: boolean, note: text}
references:
  - {type: EVIDENCE, url: "pkg:pypi/torch@1.0"}
  - {type: WEB, url: https://example.test}
rows:
  # first
  - {version: 1.0 1.1,     platform: a, cuda: "9.1", sm: 7.0 8.0,
     ok: true, note: 'say "x"'}
  - {version: 2.0,         platform: a, cuda: {unknown: nobody looked}, sm: "8.0", ok: false}  # end
  # block
  - version: 3.0
    platform: a
"""


def changed(before: str, after: str) -> list[str]:
    """Return the lines that differ."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[:2] in {"- ", "+ "}]


def test_rows_are_read_as_text() -> None:
    first, second, third = Document(TEXT).rows
    assert first.cells["version"] == "1.0 1.1"
    assert (first.cells["note"], first.cells["ok"]) == ('say "x"', "true")
    assert second.cells["cuda"] == Unread("nobody looked")
    assert third.cells == {"version": "3.0", "platform": "a"}


def test_a_cell_is_written_and_columns_stay_aligned() -> None:
    after = Document(TEXT).with_cell(0, "version", "1.0 1.1 1.2").text
    assert "  - {version: 1.0 1.1 1.2, platform: a" in after
    assert len(changed(TEXT, after)) == 2


def test_an_unread_cell_is_filled() -> None:
    after = Document(TEXT).with_cell(1, "cuda", "9.2").text
    assert 'cuda: "9.2", sm: "8.0", ok: false}  # end' in after


@pytest.mark.parametrize("name", ["version", "cuda", "note"])
def test_a_cell_is_taken_away_and_put_back(name: str) -> None:
    document = Document(TEXT)
    cell = document.rows[0].cells[name]
    without = document.with_cell(0, name, None)
    assert name not in without.rows[0].cells
    assert without.with_cell(0, name, None).text == without.text
    assert without.with_cell(0, name, cell).rows[0].cells == document.rows[0].cells


def test_a_row_is_added_in_the_style_of_another() -> None:
    cells: dict[str, Cell] = {
        "version": "1.2",
        "platform": "a",
        "sm": "10.0",
        "cuda": Unread("not read"),
    }
    after = Document(TEXT).with_row(0, cells)
    assert after.rows[1].cells == cells
    assert changed(TEXT, after.text) == [
        '+   - {version: "1.2",       platform: a, cuda: {unknown: not read}, sm: "10.0"}'
    ]


def test_a_reference_is_added_once_and_beside_its_kin() -> None:
    after = Document(TEXT).with_reference("pkg:pypi/torch@1.2")
    assert changed(TEXT, after.text) == ['+   - {type: EVIDENCE, url: "pkg:pypi/torch@1.2"}']
    assert after.with_reference("pkg:pypi/torch@1.2").text == after.text
    assert Document(TEXT).with_reference("pkg:pypi/other@1").text == TEXT


@pytest.mark.parametrize(
    "text",
    ["2.10", "2", "true", "no", "null", "1e3", ">=1.0,<2", "a: b", "a #b", "-", 'x "y" z', ""],
)
def test_what_is_written_is_read_back_as_text(text: str) -> None:
    after = Document(TEXT).with_cell(0, "note", text)
    assert after.rows[0].cells["note"] == text
    assert read_yaml(after.text, "tiny").data["rows"][0]["note"] == text


def test_a_block_row_is_left_to_people() -> None:
    with pytest.raises(RefreshError, match="by hand"):
        Document(TEXT).with_cell(2, "version", "4.0")


def test_what_is_no_table() -> None:
    with pytest.raises(RefreshError):
        Document("- a\n- b\n")


@pytest.mark.parametrize("table", sorted({source.table for source in SOURCES}))
def test_the_real_tables_survive_rewriting_of_their_cells(table: str) -> None:
    text = (TABLES / f"{table}.yaml").read_text("utf-8")
    document = Document(text)
    for row in document.rows[-3:]:
        for name in document.columns:
            document = document.with_cell(row.number, name, row.cells.get(name))
    assert read_yaml(document.text, table).data == read_yaml(text, table).data
    assert document.text.count("\n") == text.count("\n")
