"""What is told of an attribute that an object lacks: which releases of its class have it."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.explain import asked_names
from fadoctor.judging.explain.asked_names import name_facts
from fadoctor.model.fact import Known
from tests.unit.judging.engine.builders import environment, table

ATTRIBUTES: list[dict[str, Any]] = [
    {"class": "Cache Static", "name": "seen", "last": "4.53.3"},
    {"class": "Trainer", "name": "brand new", "first": "5.1.0"},
    {"class": "Cache", "name": "back", "first": "5.13.0", "earlier": "4.36.0 to 4.48.3"},
]
ARGUMENT = {"class": "Trainer", "name": "seen", "last": "4.40.2"}
CELLS: dict[str, Any] = dict.fromkeys(("first", "last", "earlier", "never"))
WORDS = {"class": "word", "name": "word"}


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [{"package": "transformers", **CELLS, **row} for row in ATTRIBUTES]
    read = {
        "package": "transformers",
        "module": "transformers",
        "first": "4.36.0",
        "last": "5.23.0",
    }
    instead = {"class": "Cache", "name": "seen", "instead": "get_seq_length()"}
    columns = {"package": "text", **dict.fromkeys(CELLS, "text")}
    found = [
        table("names-read", {"package": "word", "module": "word"},
              {"first": "version", "last": "version"}, [read]),
        table("names-asked", {"asker": "word", "module": "word", "name": "word"}, {}, []),
        table("names-attributes", WORDS, columns, given),
        table("names-arguments", WORDS, columns,
              [{"package": "transformers", **CELLS, **ARGUMENT}]),
        table("names-bases", {"class": "word"}, {"bases": "list"},
              [{"class": "Dynamic", "bases": "Odd Cache"}]),
        table("names-instead", WORDS, {"instead": "text"}, [instead]),
    ]  # fmt: skip
    tables = {each.table: each for each in found}
    monkeypatch.setattr(asked_names, "load_apart", lambda: tables)


def facts(owner: str, name: str, **there: str) -> dict[str, Any]:
    known = {f"{key}.version": value for key, value in there.items()}
    found = name_facts({"class": owner, "name": name}, "", environment(known))
    return {
        key.removeprefix("log.name_"): fact.value
        for key, fact in found.items()
        if isinstance(fact, Known)
    }


def test_an_attribute_that_is_gone_and_what_took_its_place() -> None:
    assert facts("Cache", "seen", transformers="5.2.0") == {
        "told": "transformers has it up to 4.53.3; 5.2.0 is installed.",
        "other": "transformers>=4.36.0,<=4.53.3",
        "nearest": "4.53.3",
        "way": "gone",
        "instead": "get_seq_length()",
    }


def test_what_a_class_inherits_is_told_of_it_too() -> None:
    found = facts("Dynamic", "seen")
    assert found["told"] == "transformers has it up to 4.53.3."
    assert found["instead"] == "get_seq_length()"


def test_an_attribute_that_came_later() -> None:
    found = facts("Trainer", "brand", transformers="4.57.1")
    assert found["told"] == "transformers has it since 5.1.0; 4.57.1 is installed."
    assert (found["way"], found["other"]) == ("new", "transformers>=5.1.0,<=5.23.0")


@pytest.mark.parametrize(("owner", "name"), [("Trainer", "seen"), ("Mine", "seen"), ("Cache", "x")])
def test_of_what_no_table_has_nothing_is_told(owner: str, name: str) -> None:
    assert facts(owner, name) == {}


@pytest.mark.parametrize(
    ("installed", "way", "other"),
    [
        (None, "gone", "transformers>=4.36.0,<=4.48.3"),
        ("4.57.1", "gone", "transformers>=4.36.0,<=4.48.3"),
        ("5.14.0", None, "transformers>=5.13.0,<=5.23.0"),
    ],
)
def test_what_came_back_is_asked_by_code_from_before(
    installed: str | None, way: str | None, other: str
) -> None:
    """Regression: a model's own code of 2024 was told to take the next major release."""
    facts = {"transformers.version": installed} if installed else {}
    found = name_facts({"class": "Cache", "name": "back"}, "", environment(facts))
    ways = found["log.name_way"]
    assert (ways.value if isinstance(ways, Known) else None) == way
    others = found["log.name_other"]
    assert isinstance(others, Known)
    assert others.value == other


def test_an_argument_is_told_of_by_its_own_table() -> None:
    known = environment({"transformers.version": "4.50.0"})
    found = name_facts({"class": "Trainer", "setting": "seen"}, "", known)
    told = found["log.name_told"]
    assert isinstance(told, Known)
    assert told.value == "transformers has it up to 4.40.2; 4.50.0 is installed."
