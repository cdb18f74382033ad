"""Every check of tables: it names file, line and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.compile import compile_rules
from tests.unit.knowledge.matrix.folders import problems, rule_text, table_text, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("changes", "place", "problem"),
    [
        ({"table": "other"}, ":1 at `table`", "must be the file's name, some-table"),
        ({"verified": "guessed"}, ":7 at `verified`", "must be one of "),
        ({"references": "[]"}, ":5 at `references`", "needs a source"),
        (
            {"keys": "{os: regex, version: range}"},
            ":3 at `keys.os`",
            "must be one of word, release",
        ),
        ({"rows": "[{os: linux}]"}, ":8 at `rows[0].version`", "the key is missing or not text"),
        ({"rows": "[{os: true, version: '*'}]"}, ":8 at `rows[0].os`", "missing or not text"),
        ({"rows": "[{os: [a], version: '*'}]"}, ":8 at `rows[0].os`", "missing or not text"),
        (
            {"rows": "[{os: a, version: '>2.6'}]"},
            ":8 at `rows[0].version`",
            "must be a range of >=",
        ),
        (
            {"rows": "[{os: a, version: '<=2.6'}]"},
            ":8 at `rows[0].version`",
            "must be a range of >=",
        ),
        ({"rows": "[{os: a, version: '2.6'}]"}, ":8 at `rows[0].version`", "must be a range of >="),
        (
            {"rows": "\n  - {os: a, version: '*'}\n  - {os: a, version: '*'}"},
            ":10 at `rows[1]`",
            "an earlier row has the same keys",
        ),
        (
            {"rows": "[{os: a, version: '*', size2: 1}]"},
            ":8 at `rows[0].size2`",
            "the table has no such column",
        ),
        (
            {"rows": "[{os: a, version: '*', driver: x}]"},
            ":8 at `rows[0].driver`",
            "'x' is not a version",
        ),
        (
            {"rows": "[{os: a, version: '*', driver: 12}]"},
            ":8 at `rows[0].driver`",
            "12 is not a version",
        ),
        (
            {"rows": "[{os: a, version: '*', size: '1'}]"},
            ":8 at `rows[0].size`",
            "'1' is not a integer",
        ),
        (
            {"rows": "[{os: a, version: '*', size: true}]"},
            ":8 at `rows[0].size`",
            "is not a integer",
        ),
        (
            {"rows": "[{os: a, version: '*', known: yes}]"},
            ":8 at `rows[0].known`",
            "'yes' is not a boolean",
        ),
        ({"rows": "[{os: a, version: '*', names: 3}]"}, ":8 at `rows[0].names`", "3 is not a list"),
        ({"rows": "[{os: a, version: '*', note2: 3}]"}, ":8 at `rows[0].note2`", "3 is not a text"),
        (
            {"columns": "{told: pattern}", "rows": "[{os: a, version: '*', told: 'no (gpu'}]"},
            ":8 at `rows[0].told`",
            "'no (gpu' is not a pattern",
        ),
        (
            {
                "columns": "{told: pattern}",
                "rows": "[{os: a, version: '*', told: '(?P<it>gpu)|(?P=it)'}]",
            },
            ":8 at `rows[0].told`",
            "is not a pattern",
        ),
        (
            {"rows": "[{os: a, version: '*', by: no-rule}]"},
            ":8 at `rows[0].by`",
            "'no-rule' is not a rule",
        ),
        (
            {"rows": "[{os: a, version: '*', driver: {why: x}}]"},
            ":8 at `rows[0].driver`",
            "is not a version",
        ),
    ],
)
def test_tables(tmp_path: Path, changes: dict[str, str], place: str, problem: str) -> None:
    texts = {"area__some_rule": rule_text(), "matrix__some_table": table_text(**changes)}
    [found] = problems(tmp_path, **texts)
    assert found.startswith(f"matrix/some-table.yaml{place}: ")
    assert problem in found


def test_rows_that_are_right(tmp_path: Path) -> None:
    rows = """
  - {os: a b, version: ">=2.6,<2.8", driver: 525.60, names: x y, size: 3, known: false}
  - {os: 12, version: "~=2.6", driver: {unknown: why}, names: [x y], size: absent, by: some-rule}
  - {os: "*", version: "*", verified: unverified, note: text, references: []}"""
    texts = {"area__some_rule": rule_text(), "matrix__some_table": table_text(rows=rows)}
    assert problems(tmp_path, **texts) == []


def test_a_blank_is_refused_and_absent_is_kept_apart_from_it(tmp_path: Path) -> None:
    """A forgotten value must not read as "there is none"."""
    rows = """
  - {os: a, version: "*", driver: absent}
  - {os: b, version: "*", driver: 525.60}"""
    given = table_text(rows=rows) + "otherwise: {size: absent}\n"
    folder = write(tmp_path, matrix__some_table=given)
    table = compile_rules(folder).knowledge.tables["some-table"]
    first, second = table.rows
    assert (first["driver"], first["size"], "known" in first) == (None, None, False)
    assert second["driver"] == "525.60"
    found = problems(tmp_path, matrix__some_table=table_text(rows=rows.replace("absent", "")))
    place = "matrix/some-table.yaml:9 at `rows[0].driver`"
    assert found == [f"{place}: leave driver out where it is not known, or write absent"]
    found = problems(tmp_path, matrix__some_table=given.replace("size: absent", "sice: absent"))
    assert found[0].endswith("the table has no such column")


def test_a_column_of_an_unknown_type(tmp_path: Path) -> None:
    table = table_text(columns="{driver: float}")
    found = problems(tmp_path, matrix__some_table=table)
    assert found[0].startswith(
        "matrix/some-table.yaml:4 at `columns.driver`: must be one of text, "
    )


@pytest.mark.parametrize("verified", ["unverfied", "12", "{a: b}"])
def test_a_misspelt_word_does_not_make_a_row_verified(tmp_path: Path, verified: str) -> None:
    table = table_text(rows=f"[{{os: a, version: '*', verified: {verified}}}]")
    assert problems(tmp_path, matrix__some_table=table) != []
