"""What is told of a name that a log misses: which releases have it, and who asks."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.explain import asked_names
from fadoctor.judging.explain.asked_names import name_facts
from fadoctor.knowledge.matrix.name_tables import MissingName, NameTables
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Known
from fadoctor.model.rule import Table
from tests.unit.judging.engine.builders import environment

READ: list[dict[str, Any]] = [
    {
        "package": "transformers",
        "module": "transformers",
        "first": "4.36.0",
        "last": "5.23.0",
        "unread": ("5.0.1",),
    },
    {"package": "peft", "module": "peft", "first": "0.7.0", "last": "0.21.2"},
    {"package": "trl", "module": "trl", "first": "0.8.0", "last": "1.16.0"},
]
GIVEN_CELLS: dict[str, Any] = dict.fromkeys(("first", "last", "earlier", "never"))
GIVEN: list[dict[str, Any]] = [
    {"name": "Gone", "last": "4.57.6"},
    {"name": "New", "first": "5.1.0"},
    {"name": "Earlier", "first": "4.51.0"},
    {"name": "Between", "first": "4.40.0", "last": "4.50.0", "earlier": "4.36.0 to 4.37.2"},
    {"name": "Back", "first": "5.0.0", "earlier": "4.36.0 to 4.56.2"},
    {"name": "Always Asked"},
    {"name": "Never", "never": True},
    {"name": "Absent", "module": "transformers.newer", "never": True},
    {"name": "helper other", "module": "transformers.newer", "first": "4.48.0"},
]
ASKED_CELLS: dict[str, Any] = dict.fromkeys(("first", "last", "gone", "then"))
ASKED: list[dict[str, Any]] = [
    {"asker": "peft", "name": "Gone", "first": "0.16.0", "last": "0.17.1", "gone": "0.18.0"},
    {"asker": "trl", "name": "Gone"},
    {"asker": "trl", "name": "Unread", "last": "1.2.0", "gone": "1.3.0"},
    {"asker": "trl", "name": "New", "first": "1.2.0"},
    {"asker": "trl", "name": "Back"},
    {"asker": "peft", "name": "Between", "last": "0.9.0", "gone": "0.10.0", "then": True},
    {"asker": "trl", "name": "Absent other", "module": "transformers.newer", "first": "0.15.0"},
]


def table(name: str, keys: str, rows: list[dict[str, Any]], **cells: Any) -> Table:
    full = tuple({**cells, **row} for row in rows)
    columns = {key: "text" for row in full for key in row if key not in keys.split()}
    return Table(name, "", dict.fromkeys(keys.split(), "word"), columns, (), "source-read", full)


def tables() -> dict[str, Table]:
    transformers = {"module": "transformers", "package": "transformers"}
    return {
        "names-read": table("names-read", "package module", READ),
        "names-given": table("names-given", "module name", GIVEN, **GIVEN_CELLS, **transformers),
        "names-asked": table(
            "names-asked", "asker module name", ASKED, **ASKED_CELLS, module="transformers"
        ),
    }


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_names, "load_apart", tables)


def frame(package: str) -> str:
    return f'  File "/opt/venv/lib/python3.11/site-packages/{package}/x.py", line 3, in <module>\n'


def facts(name: str, text: str = "", module: str = "transformers", **there: str) -> dict[str, Any]:
    known = {f"{key}.version": value for key, value in there.items()}
    found = name_facts({"name": name, "module": module}, text, environment(known))
    return {
        key.removeprefix("log.name_"): fact.value
        for key, fact in found.items()
        if isinstance(fact, Known)
    }


def test_a_name_that_is_gone_and_a_newer_asker_that_does_without() -> None:
    found = facts("Gone", frame("peft"), transformers="5.23.0", peft="0.17.1")
    assert found == {
        "told": "transformers has it up to 4.57.6; 5.23.0 is installed. "
        "peft asks for it from 0.16.0 to 0.17.1, no longer since 0.18.0; 0.17.1 is installed.",
        "upgrade": "peft>=0.18.0,<=0.21.2",
        "other": "transformers>=4.36.0,<=4.57.6",
        "nearest": "4.57.6",
        "way": "gone",
    }


def test_without_a_traceback_everybody_who_asks_is_named() -> None:
    found = facts("Gone")
    assert "peft asks for it from 0.16.0 to 0.17.1" in found["told"]
    assert "trl asks for it in all releases up to 1.16.0." in found["told"]
    assert "upgrade" not in found


def test_a_name_that_came_later() -> None:
    found = facts("New", frame("trl"), transformers="4.57.1")
    assert found["told"].startswith("transformers has it since 5.1.0; 4.57.1 is installed.")
    assert (found["way"], found["other"]) == ("new", "transformers>=5.1.0,<=5.23.0")


def test_a_name_that_came_later_does_not_ask_for_the_next_major_release() -> None:
    """The newest transformers lacks other names of a program that was written for 4.51."""
    found = facts("Earlier", frame("verl"), transformers="4.46.1")
    assert (found["way"], found["other"]) == ("new", "transformers>=4.51.0,<5")


def test_a_name_that_came_and_went() -> None:
    found = facts("Between", frame("peft"))
    assert "from 4.40.0 to 4.50.0, and 4.36.0 to 4.37.2" in found["told"]
    assert "up to 0.9.0, under a condition since 0.10.0" in found["told"]
    assert found["other"] == "transformers>=4.40.0,<=4.50.0"


def test_a_name_that_came_back_in_the_next_major_release_is_sought_in_this_one() -> None:
    """Seen: autoawq, whose name transformers 4.57 lacks, was sent to transformers 5 alone."""
    found = facts("Back", frame("trl"), transformers="4.57.1")
    assert (found["other"], found["way"]) == ("transformers>=4.36.0,<=4.56.2", "gone")
    newer = facts("Back", frame("trl"), transformers="5.1.0")
    assert newer["other"] == "transformers>=5.0.0,<=5.23.0"


def test_a_name_that_every_release_has_points_at_damage() -> None:
    found = facts("Always")
    assert found["told"].startswith("Every release of transformers from 4.36.0 to 5.23.0 has it")
    assert "damaged" in found["told"]
    assert "other" not in found


def test_a_release_that_nobody_has_read_is_not_called_damaged() -> None:
    found = facts("Always", transformers="4.30.0")
    assert found["told"].startswith(
        "transformers has it since 4.36.0, and 4.36.0 is the oldest that was read; 4.30.0 is"
    )
    assert (found["way"], found["other"]) == ("new", "transformers>=4.36.0,<=5.23.0")
    found = facts("Always", transformers="6.1.0")
    assert "up to 5.23.0, and 5.23.0 is the newest that was read" in found["told"]
    assert found["way"] == "gone"


def test_a_name_that_no_release_has() -> None:
    assert facts("Never")["told"].startswith("No release of transformers from 4.36.0 to 5.23.0")


def test_a_name_that_nobody_of_the_stack_asks_for() -> None:
    assert facts("Odd")["told"].startswith("No package that fadoctor has read needs this name")


def test_a_name_of_which_code_decides_tells_who_asks() -> None:
    found = facts("Unread", frame("trl"))
    assert found == {
        "told": "trl asks for it up to 1.2.0, no longer since 1.3.0.",
        "upgrade": "trl>=1.3.0,<=1.16.0",
    }


def test_a_name_that_a_package_asks_for_under_a_condition_is_not_said_to_be_a_programs() -> None:
    told = facts("Odd", frame("trl"))["told"]
    assert told.startswith(
        "The tables do not list the releases of transformers that have it, and trl"
    )


def test_a_module_is_as_old_as_the_name_in_it_that_is_asked_for() -> None:
    log = frame("trl")
    found = name_facts({"module": "transformers.newer"}, log, environment({}))
    told = found["log.name_told"]
    assert isinstance(told, Known)
    assert told.value == "transformers has it since 4.48.0. trl asks for it since 0.15.0."


def test_nothing_is_said_of_an_unknown_name_where_a_package_that_was_not_read_asks() -> None:
    matrix = Matrix(tables())
    wanted = MissingName("transformers", "Odd")
    assert NameTables(matrix, wanted, "setfit", lambda _: "").facts() == {}
    assert NameTables(matrix, wanted, "", lambda _: "").facts()["told"]


def test_a_package_that_asks_itself_is_of_two_releases() -> None:
    found = facts("Gone", frame("peft") + frame("transformers"))
    assert found["mixed"] is True
    assert "mixed" not in facts("Gone", frame("transformers") + frame("peft"))


def test_a_package_that_looks_up_a_name_for_others_does_not_ask() -> None:
    path = "/e/lib/python3.12/site-packages/transformers/utils/import_utils.py"
    lookup = f'  File "{path}", line 2044, in __getattr__\n    module = self._get_module(name)\n'
    assert "mixed" not in facts("Gone", frame("peft") + lookup)


def test_a_package_that_was_not_read_is_not_answered() -> None:
    assert facts("Gone", module="jinja2") == {}
    assert name_facts({}, "", environment({}))["log.name_told"] != Known("", "")


def test_no_name_of_an_environment_is_offered_a_fix() -> None:
    told = name_facts({"module": "cutlass.cute.arch", "name": "fmin"}, "", environment({}))
    assert isinstance(told["contract.asked"], Absent)


def test_of_a_release_between_those_that_were_read_nothing_is_claimed() -> None:
    matrix = Matrix(tables())
    new = NameTables(matrix, MissingName("transformers", "New"), "", lambda _: "")
    assert [new.has(each) for each in ("5.0.0", "5.1.0rc1", "5.1.0", "5.2.0rc1")] == [
        False, None, True, True,
    ]  # fmt: skip
    assert new.has("5.0.1") is None


def test_an_edge_beside_a_release_that_nobody_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Present in A, absent in B, and between them unread: that is all that is known."""
    releases = ("4.36.0", "5.0.0", "5.1.0", "5.23.0")
    row = {**READ[0], "unread": ("5.0.1", "4.38.0"), "releases": releases}
    given = [{"name": "New", "first": "5.1.0"}, {"name": "Old", "last": "5.0.0"}]
    read = table("names-read", "package module", [row])
    keys = {"module": "transformers", "package": "transformers"}
    changed = {
        **tables(),
        "names-read": read,
        "names-given": table("names-given", "module name", given, **GIVEN_CELLS, **keys),
    }
    monkeypatch.setattr(asked_names, "load_apart", lambda: changed)
    told = [str(facts(name)["told"]) for name in ("New", "Old")]
    assert "since 5.1.0. 5.0.0 does not have it; 5.0.1, between them, was not read." in told[0]
    assert "up to 5.0.0. 5.1.0 does not have it; 5.0.1, between them, was not read." in told[1]


def test_who_asks_is_said_up_to_the_release_that_was_read_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table that was read further is no claim about another."""
    trl = {**READ[2], "asked": "1.15.0"}
    changed = {**tables(), "names-read": table("names-read", "package module", [*READ[:2], trl])}
    monkeypatch.setattr(asked_names, "load_apart", lambda: changed)
    assert "trl asks for it in all releases up to 1.15.0" in facts("Gone")["told"]
