"""Looking up rows: keys that are known, absent, unknown; rows that agree or do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.knowledge.matrix import query
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from tests.unit.judging.engine.builders import ABSENT, UNREAD, fact_of, table

if TYPE_CHECKING:
    from fadoctor.model.rule import Table


def cell(one: Table, column: str, **keys: Any) -> Fact:
    facts = {name: fact_of(value) for name, value in keys.items()}
    return Matrix({one.table: one}).find(one.table, facts).cell(column)


def words(kind: str, text: Any) -> Table:
    return table("t", {"k": kind}, {"c": "text"}, [{"k": text, "c": "yes"}])


@pytest.mark.parametrize(
    ("kind", "text", "value", "matches"),
    [
        ("word", "linux", "linux", True),
        ("word", "linux windows", "windows", True),
        ("word", "linux windows", "linux windows", False),
        ("word", "linux", "lin", False),
        ("word", "linux", "", False),
        ("word", "2.1 2.10", "2.1", True),
        ("word", "2.10", "2.1", False),
        ("word", "2.1.0", "2.1", False),
        ("word", "12", 12, True),
        ("word", 12, "12", True),
        ("word", "true", True, True),
        ("word", "*", "anything", True),
        ("word", "*", "", True),
        ("word", "a *", "b", False),
        ("word", "linux", "*", False),
        ("release", "2.8.0", "2.8.0+cu128", True),
        ("release", "2.7.0 2.8.0", "2.8.0", True),
        ("release", "2.8.0", "2.8.0a0+nv25.01", False),
        ("release", "2.8.0", "2.8.0.post1", False),
        ("release", "weird", "weird", True),
        ("release", "*", "weird", True),
        ("range", ">=2.6,<2.8", "2.7", True),
        ("range", ">=2.6,<2.8", "2.8", False),
        ("range", "*", "2.8", True),
        ("range", ">=2.6", "weird", False),
        ("range", ">=2", ("2.6",), False),
    ],
)
def test_how_keys_match(kind: str, text: Any, value: Any, matches: bool) -> None:  # noqa: FBT001
    found = cell(words(kind, text), "c", k=value)
    assert isinstance(found, Known) is matches
    if not matches and not isinstance(value, tuple):
        assert found == Unknown(f"the tables have no row for k {value}", "matrix t")


def test_a_star_matches_everything_also_in_a_range() -> None:
    assert isinstance(cell(words("range", "*"), "c", k="custom build"), Known)


DRIVERS = table(
    "drivers",
    {"cuda": "word", "os": "word"},
    {"driver": "version", "names": "list", "count": "integer", "open": "boolean", "env": "mapping"},
    [
        {"cuda": "12", "os": "linux", "driver": "525.60.13", "names": "a b", "count": 2,
         "open": False, "env": {"A": "1"}},
        {"cuda": "13", "os": "linux", "driver": {"unknown": "not measured"}, "names": ["a b", "c"],
         "env": None},
    ],
)  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("driver", "525.60.13"),
        ("names", ("a", "b")),
        ("count", 2),
        ("open", False),
        ("env", {"A": "1"}),
    ],
)
def test_cells_have_the_type_of_their_column(column: str, value: Any) -> None:
    assert cell(DRIVERS, column, cuda="12", os="linux") == Known(value, "matrix drivers")


def test_cells_that_are_not_known() -> None:
    assert cell(DRIVERS, "names", cuda="13", os="linux") == Known(("a b", "c"), "matrix drivers")
    assert cell(DRIVERS, "driver", cuda="13", os="linux") == Unknown(
        "not measured", "matrix drivers"
    )
    blank = Unknown("matrix drivers does not say open there", "matrix drivers")
    assert cell(DRIVERS, "open", cuda="13", os="linux") == blank
    assert cell(DRIVERS, "env", cuda="13", os="linux") == Absent("matrix drivers has no env there")


@pytest.mark.parametrize(
    ("cuda", "os", "expected"),
    [
        (ABSENT, "linux", Absent("cuda is absent: test")),
        (UNREAD, "linux", UNREAD),
        (ABSENT, UNREAD, Absent("cuda is absent: test")),
        (UNREAD, ABSENT, UNREAD),
        ("12", ABSENT, Absent("os is absent: test")),
        (
            "11",
            "linux",
            Unknown("the tables have no row for cuda 11, os linux", "matrix drivers"),
        ),
    ],
)
def test_keys_that_are_not_known_and_keys_without_a_row(cuda: Any, os: Any, expected: Fact) -> None:
    assert cell(DRIVERS, "driver", cuda=cuda, os=os) == expected


BLANK = Unknown("matrix t does not say c there", "matrix t")


def overlapping(*rows: dict[str, Any], kind: str = "text") -> Table:
    return table("t", {"k": "word"}, {"c": kind}, [{"k": "x", **row} for row in rows])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"c": "a"}, {"c": "a"}, {"c": "a"}], Known("a", "matrix t")),
        ([{"c": "a"}, {"c": "b"}], Unknown("the tables disagree about c", "matrix t")),
        ([{"c": "a"}, {}], BLANK),
        ([{}, {}], BLANK),
        ([{"c": None}, {}], BLANK),
        ([{"c": None}, {"c": None}], Absent("matrix t has no c there")),
        (
            [{"c": None}, {"c": "a"}],
            Unknown("the tables disagree about c", "matrix t"),
        ),
        (
            [{"c": "a"}, {"c": {"unknown": "why"}}],
            Unknown("the tables disagree about c", "matrix t"),
        ),
        ([{"c": {"unknown": "why"}}] * 2, Unknown("why", "matrix t")),
        ([{"c": "a", "verified": "reported"}], Known("a", "matrix t")),
        ([{"c": "a", "verified": "unverified"}], Unknown("c is not verified", "matrix t")),
    ],
)
def test_a_cell_is_known_only_where_all_rows_agree(
    rows: list[dict[str, Any]], expected: Fact
) -> None:
    assert cell(overlapping(*rows), "c", k="x") == expected


def test_a_missing_cell_of_a_row_that_is_not_verified_is_unknown() -> None:
    assert isinstance(cell(overlapping({"verified": "unverified"}), "c", k="x"), Unknown)


def test_it_does_not_matter_which_of_two_rows_is_not_verified() -> None:
    sure, unsure = {"c": "a"}, {"c": "a", "verified": "unverified"}
    first = cell(overlapping(sure, unsure), "c", k="x")
    assert type(first) is type(cell(overlapping(unsure, sure), "c", k="x"))


def test_lists_that_are_written_differently_agree() -> None:
    found = cell(overlapping({"c": "8.0 9.0"}, {"c": ["8.0", "9.0"]}, kind="list"), "c", k="x")
    assert found == Known(("8.0", "9.0"), "matrix t")


COMPLETE = table(
    "t", {"v": "range", "os": "word"}, {"c": "text"},
    [{"v": ">=2.6,<2.8", "os": "linux", "c": "a"}], complete=True,
)  # fmt: skip


@pytest.mark.parametrize("version", ["2.8", "2.5", "1.0"])
def test_a_complete_table_knows_that_there_is_no_such_thing(version: str) -> None:
    assert cell(COMPLETE, "c", v=version, os="linux") == Absent(
        f"matrix t: nothing for v {version}, os linux"
    )


@pytest.mark.parametrize("version", [UNREAD, ABSENT])
def test_a_complete_table_knows_nothing_of_a_key_that_is_not_known(version: Any) -> None:
    assert type(cell(COMPLETE, "c", v=version, os="linux")) is type(version)


@pytest.mark.parametrize("version", ["custom build", "2.6.0a0+nv25.01", "2.8.0.dev1"])
def test_a_complete_table_is_silent_about_what_lies_on_neither_side(version: str) -> None:
    assert isinstance(cell(COMPLETE, "c", v=version, os="linux"), Unknown)


def test_what_a_table_remembers_is_not_another_ones() -> None:
    before, after = words("word", "x"), words("word", "x")
    after = msgspec.structs.replace(after, rows=({"k": "x", "c": "changed"},))
    for one, expected in ((before, "yes"), (after, "changed")) * 2:
        assert cell(one, "c", k="x") == Known(expected, "matrix t")
    assert cell(msgspec.structs.replace(before, rows=()), "c", k="x") == cell(
        table("t", {"k": "word"}, {"c": "text"}, []), "c", k="x"
    )


def test_only_so_many_answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "ANSWERS_KEPT", 2)
    one = words("word", "1 2 3 4 5")
    for number in (1, 2, 3, 4, 5, 1, 6):
        assert isinstance(cell(one, "c", k=number), Known) is (number < 6)
        assert len(query.Index.of(one)) <= 2
