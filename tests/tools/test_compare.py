"""A table and a derived row: agreement, gaps, contradictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from tools.refresh.artefact import Value
from tools.refresh.compare import Comparison, Report
from tools.refresh.derive import DerivedRow
from tools.refresh.document import Cell, Document, Unread

if TYPE_CHECKING:
    from collections.abc import Mapping

RELEASES = """\
keys: {version: release, platform: word}
columns: {cuda: version, sm: list, pin: text, marker: text, ok: boolean}
references:
  - {type: EVIDENCE, url: "pkg:pypi/torch@1.0"}
rows:
  - {version: 1.0, platform: a, cuda: "9.0", sm: 7.0 8.0, pin: "==1.0,>0.9", ok: true}
  - {version: 2.0 2.1, platform: a, cuda: "9.1", sm: 7.0 8.0, ok: true}
  - {version: 2.1, platform: b, cuda: {unknown: not read}, sm: "8.0"}
"""
RANGES = """\
keys: {package: word, version: range}
columns: {glibc: version}
references: []
rows:
  - {package: vllm x,  version: ">=1.0,<1.2",  glibc: "2.17"}
  - {package: vllm,    version: ">=1.2,<1.10", glibc: "2.28"}
  - {package: other,   version: "==1.0",       glibc: "2.28"}
"""


def merged(
    text: str, row: tuple[str, dict[str, str], Mapping[str, str | None]], **options: bool
) -> tuple[Document, Report]:
    version, keys, cells = row
    report = Report()
    comparison = Comparison("tiny", Document(text), report, grows=frozenset({"sm"}))
    values = {name: Value(cell, "a file") for name, cell in cells.items()}
    comparison.merge("torch", DerivedRow(Version(version), keys, values), **options)
    return comparison.document, report


def cells_of(document: Document, version: str, platform: str = "a") -> dict[str, Cell]:
    (row,) = (
        row
        for row in document.rows
        if version in str(row.cells["version"]).split() and row.cells["platform"] == platform
    )
    return dict(row.cells)


A = {"platform": "a"}


def test_the_same_in_other_words_agrees() -> None:
    cells = {"cuda": "9.0", "sm": "8.0 7.0", "pin": ">0.9,==1.0", "ok": "true", "marker": None}
    document, report = merged(RELEASES, ("1.0", A, cells))
    assert document.text == RELEASES
    assert report.agreements == ["tiny: torch 1.0 a: cuda, sm, pin, ok, marker"]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ({"cuda": "9.1"}, "cuda is 9.0 in the table and 9.1 in the package (a file)"),
        ({"ok": "false"}, "ok is true"),
        ({"pin": None}, "and absent in the package"),
        ({"marker": "x"}, "marker is absent in the table"),
        ({"sm": "7.0 9.0"}, "sm is 7.0 8.0"),
    ],
)
def test_a_contradiction_is_told_and_not_written(cells: dict[str, str | None], told: str) -> None:
    document, report = merged(RELEASES, ("1.0", A, cells))
    assert document.text == RELEASES
    assert told in report.contradictions[0]


def test_overruled_the_file_wins() -> None:
    document, report = merged(RELEASES, ("1.0", A, {"cuda": "9.1"}), overrule=True)
    assert cells_of(document, "1.0")["cuda"] == "9.1"
    assert (report.contradictions, len(report.changes)) == ([], 1)


def test_a_cell_that_nobody_read_is_filled() -> None:
    document, _ = merged(RELEASES, ("2.1", {"platform": "b"}, {"cuda": "9.3"}))
    assert cells_of(document, "2.1", "b")["cuda"] == "9.3"


def test_a_list_that_grows_divides_a_row_of_two_releases() -> None:
    row = ("2.1", A, {"cuda": "9.1", "sm": "7.0 8.0 9.0", "ok": "true"})
    document, report = merged(RELEASES, row)
    assert cells_of(document, "2.0")["sm"] == "7.0 8.0"
    assert cells_of(document, "2.1")["sm"] == "7.0 8.0 9.0"
    assert report.contradictions == []
    again, report = merged(document.text, row)
    assert (again.text, report.changes) == (document.text, [])


FULL: dict[str, str | None] = {"cuda": "9.1", "sm": "7.0 8.0", "pin": None, "marker": None}


def test_a_release_like_the_one_before_joins_its_row() -> None:
    document, _ = merged(RELEASES, ("2.2", A, {**FULL, "ok": "true"}))
    assert document.rows[1].cells["version"] == "2.0 2.1 2.2"
    assert len(document.rows) == 3


def test_a_release_that_differs_gets_a_row_and_a_reference() -> None:
    document, _ = merged(RELEASES, ("2.2", A, {**FULL, "cuda": "9.2", "ok": "true"}))
    assert cells_of(document, "2.2")["cuda"] == "9.2"
    assert (
        '  - {version: "2.2", platform: a, cuda: "9.2", sm: 7.0 8.0, ok: true}\n' in document.text
    )
    assert '"pkg:pypi/torch@2.2"' in document.text


def test_what_cannot_be_derived_is_unknown_in_a_new_row() -> None:
    document, _ = merged(RELEASES, ("2.2", A, {"cuda": "9.2"}))
    assert cells_of(document, "2.2")["pin"] == Unread("not read from the package")


def test_what_is_older_than_the_table_is_left_out() -> None:
    document, report = merged(RELEASES, ("0.9", A, {"cuda": "8.0"}))
    assert (document.text, report) == (RELEASES, Report())


def test_a_key_that_the_table_does_not_know_is_noted() -> None:
    document, report = merged(RELEASES, ("2.2", {"platform": "c"}, {"cuda": "8.0"}))
    assert (document.text, len(report.persons)) == (RELEASES, 1)


def test_a_range_is_widened_to_the_next_minor() -> None:
    document, _ = merged(RANGES, ("1.11.3", {"package": "vllm"}, {"glibc": "2.28"}))
    assert document.rows[1].cells["version"] == ">=1.2,<1.12"
    assert '  - {package: vllm,    version: ">=1.2,<1.12", glibc: "2.28"}\n' in document.text


def test_a_change_behind_a_range_is_a_range_of_its_own() -> None:
    document, _ = merged(RANGES, ("1.11.3", {"package": "vllm"}, {"glibc": "2.34"}))
    assert document.rows[2].cells["version"] == ">=1.11.3,<1.12"


def test_a_range_is_never_changed_inside_even_when_overruled() -> None:
    row = ("1.3", {"package": "vllm"}, {"glibc": "2.34"})
    document, report = merged(RANGES, row, overrule=True)
    assert document.text == RANGES
    assert "glibc is 2.28 in the table" in report.contradictions[0]


def test_a_range_without_an_upper_end_is_not_widened() -> None:
    document, _ = merged(RANGES, ("1.5", {"package": "other"}, {"glibc": "2.28"}))
    assert document.rows[3].cells["version"] == ">=1.5,<1.6"


def test_where_a_table_begins_and_what_it_names() -> None:
    comparison = Comparison("tiny", Document(RELEASES), Report())
    assert comparison.begins("tiny") == Version("1.0")
    assert comparison.named("tiny") == {Version("1.0"), Version("2.0"), Version("2.1")}
    assert Comparison("tiny", Document(RANGES), Report()).named("tiny") is None


OPEN = """\
keys: {version: range, torch: range}
columns: {branch: text, note: text}
references: []
rows:
  - {version: ">=5.0,<5.2", torch: ">=2.10", branch: v4}
  - {version: ">=5.0,<5.2", torch: "<2.10",  branch: v3}
"""
BLANK = """\
keys: {version: range}
columns: {needs: text, note: text}
references: []
rows:
  - {version: ">=5.0,<5.2", needs: ">=1"}
  - {version: ">=5.2", needs: {unknown: not read}, note: {unknown: not read}}
"""
ENDLESS = """\
keys: {version: range}
columns: {needs: text}
references: []
rows:
  - {version: ">=5.0", needs: ">=1"}
"""


def test_a_range_of_another_key_stays_the_range_it_was_tried_of() -> None:
    """Regression: the torch that a branch was tried with was written instead of its range."""
    row = ("5.2.0", {"torch": "2.10"}, {"branch": "v4", "note": None})
    document, report = merged(OPEN, row)
    assert '{version: ">=5.0,<5.3", torch: ">=2.10", branch: v4}' in document.text
    document, _ = merged(OPEN, ("5.2.0", {"torch": "2.0"}, {"branch": "v5", "note": None}))
    assert document.rows[2].cells == {"version": ">=5.2.0,<5.3", "torch": "<2.10", "branch": "v5"}
    assert report.persons == []


def test_a_release_of_a_range_that_nobody_read_joins_the_range_before_it() -> None:
    document, report = merged(BLANK, ("5.2.1", {}, {"needs": ">=1", "note": None}))
    assert [row.cells["version"] for row in document.rows] == [">=5.0,<5.3", ">=5.3"]
    assert report.changes == ["tiny: torch 5.2.1: is as >=5.0,<5.2"]


def test_a_release_of_a_range_that_nobody_read_gets_a_row_and_a_person_its_blanks() -> None:
    document, report = merged(BLANK, ("5.2.1", {}, {"needs": ">=2"}))
    found = {str(row.cells["version"]): row.cells["needs"] for row in document.rows}
    assert found[">=5.2,<5.3"] == ">=2"
    assert isinstance(found[">=5.3"], Unread)
    assert report.persons == ["tiny: torch 5.2.1: note: read by a person"]


def test_a_range_without_an_end_is_cut_only_after_a_release_that_agreed() -> None:
    report = Report()
    comparison = Comparison("tiny", Document(ENDLESS), report)

    def merge(version: str, needs: str) -> None:
        row = DerivedRow(Version(version), {}, {"needs": Value(needs, "a file")})
        comparison.merge("torch", row)

    merge("5.0.0", ">=2")
    assert len(report.contradictions) == 1
    merge("5.1.0", ">=1")
    merge("5.2.0", ">=2")
    assert [row.cells["version"] for row in comparison.document.rows] == [">=5.0,<5.2", ">=5.2"]
    assert len(report.contradictions) == 1


@pytest.mark.parametrize("cell", ["absent", None])
@pytest.mark.parametrize("text", ["absent", None])
def test_what_is_written_as_absent_is_absent(cell: str | None, text: str | None) -> None:
    pin = f", pin: {cell}" if cell else ""
    table = f"{RELEASES.partition('  - {version: 1.0')[0]}  - {{version: 1.0, platform: a{pin}}}\n"
    document, report = merged(table, ("1.0", A, {"pin": text}))
    assert document.text == table
    assert report.contradictions == []
    _, report = merged(table, ("1.0", A, {"pin": "==1.0"}))
    assert len(report.contradictions) == 1
