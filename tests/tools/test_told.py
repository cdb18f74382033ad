"""What tables of classes say is so in every release, whoever of a class and its bases says it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import yaml
from packaging.version import Version

from tests.tools.test_drawn_names import is_there
from tools.refresh.names import attributes
from tools.refresh.names.attributes import History
from tools.refresh.names.families import Body, Classes, Family, Seen, by_name
from tools.refresh.names.told import Others

if TYPE_CHECKING:
    from collections.abc import Iterable

    Row = dict[str, object]

NAMES = "abcdefg"
CLASSES = ("Root", "Base", "Mixin", "Left", "Right", "Heir", "Late")
OTHERS = Others({"Foreign": frozenset("ab")}, {"Foreign": frozenset("abc")})


def rows_of(lines: Iterable[str]) -> list[Row]:
    found: list[Row] | None = yaml.safe_load("".join(lines))
    return found or []


def said(history: History) -> tuple[dict[tuple[str, str], Row], dict[str, list[str]]]:
    """Return the row of each class and name, and the families of each class."""
    rows = rows_of(history.given_rows("pack"))
    bases = rows_of(history.base_rows())
    return (
        {(owner, name): row for row in rows
         for owner in str(row["class"]).split() for name in str(row["name"]).split()},
        {name: str(row["bases"]).split() for row in bases for name in str(row["class"]).split()},
    )  # fmt: skip


def nearest(history: History, owner: str, name: str) -> tuple[str, Row]:
    """Return who speaks of a name of a class, and what is said."""
    rows, families = said(history)
    lineage = (owner, *families.get(owner, []))
    return next(((each, rows[each, name]) for each in lineage if (each, name) in rows), ("", {}))


def history(*releases: Classes, others: Others = OTHERS) -> History:
    return History(
        {Version(f"1.{minor}.0"): each for minor, each in enumerate(releases)}, (), others
    )


def of(*names: str, bases: tuple[str, ...] = ()) -> Seen:
    return Seen(frozenset(names), bases)


@pytest.fixture
def _small_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributes, "_FAMILY", 2)


def drawn(dice: random.Random) -> Classes:
    """Return the classes of one release, some of two modules, that inherit as they may."""
    bodies: dict[str, Body] = {}
    order = dice.sample(CLASSES, k=len(CLASSES))
    for place, name in enumerate(order):
        for module in dice.choice(["m", "m", "mn", ""]):
            bases = dice.sample([*order[:place], "Foreign"], k=min(place, dice.randint(0, 2)))
            bodies[f"pack.{module}.{name}"] = Body(tuple(bases), set(dice.sample(NAMES, k=2)))
    family = Family(bodies)
    return {name: family.seen(name) for name in bodies}


@pytest.mark.sampled(every=2)
@pytest.mark.usefixtures("_small_families")
@pytest.mark.parametrize("number", range(150))
def test_whoever_says_it_it_is_so(number: int) -> None:
    dice = random.Random(number)  # noqa: S311 -- a draw
    seen = {Version(f"1.{minor}.0"): drawn(dice) for minor in range(5)}
    rows, families = said(History(by_name(seen), (), OTHERS))
    rows |= {("Foreign", name): {} for name in OTHERS.told["Foreign"]}
    for version, classes in seen.items():
        for owner in {each.rpartition(".")[2] for each in classes}:
            alike = [each for key, each in classes.items() if key.endswith(f".{owner}")]
            for name in NAMES:
                lineage = (owner, *families.get(owner, []))
                row = next((rows[each, name] for each in lineage if (each, name) in rows), None)
                has = {name in each.names for each in alike}
                if row:
                    assert has == {is_there(row, version)}, (owner, name, row, lineage)


@pytest.mark.usefixtures("_small_families")
def test_a_namesake_of_another_time_does_not_speak_for_a_class() -> None:
    """The BaseTrainer of trl up to 0.13 was none that SFTTrainer ever inherited from."""
    old = {"Base": of("step", "loss"), "Sft": of("train"), "Dpo": of("train")}
    gap = {"Sft": of("train"), "Dpo": of("train")}
    new = {"Base": of("card"), **{each: of("train", "card", bases=("Base",)) for each in gap}}
    found = history(old, gap, new)
    assert nearest(found, "Base", "step")[1]["last"] == "1.0.0"
    assert nearest(found, "Sft", "step")[1].get("never") is True
    assert nearest(found, "Sft", "card")[1]["first"] == "1.2.0"


@pytest.mark.usefixtures("_small_families")
def test_a_family_of_old_that_is_mostly_wrong_of_a_class_is_none_of_it() -> None:
    heirs = {each: of("old", bases=("Base",)) for each in ("One", "Two")}
    apart = {each: of("old") for each in heirs}
    found = history({"Base": of("old"), **heirs}, {"Base": of("x", "y"), **apart}, others=Others())
    assert said(found)[1] == {}
    assert nearest(found, "One", "x") == ("", {})


@pytest.mark.usefixtures("_small_families")
def test_the_nearest_that_is_wrong_is_not_overheard_for_one_that_is_right() -> None:
    first = {"Near": of("x"), "Far": of("x")}
    heirs = {each: of("x", bases=("Near", "Far")) for each in ("One", "Two")}
    after = {each: of(bases=("Near", "Far")) for each in heirs}
    found = history({**first, **heirs}, {"Near": of("x"), "Far": of(), **after},
                    {"Near": of(), "Far": of(), **after})  # fmt: skip
    assert nearest(found, "One", "x")[0] == "One"


def test_what_a_class_overrides_for_a_while_it_still_has_from_another_package() -> None:
    old, new = (("a", "c", "x"), ())
    found = history({"Mine": of(*old, bases=("Foreign",))}, {"Mine": of(*new, bases=("Foreign",))})
    assert nearest(found, "Mine", "a") == nearest(found, "Mine", "c") == ("", {})
    assert nearest(found, "Mine", "x")[1]["last"] == "1.0.0"


def test_what_a_class_always_has_no_other_package_says_of_it() -> None:
    found = history({"Mine": of("a", bases=("Foreign",))}, {"Mine": of("a", bases=("Foreign",))})
    assert nearest(found, "Mine", "a") == (
        "Mine",
        {"package": "pack", "class": "Mine", "name": "a"},
    )


@pytest.mark.usefixtures("_small_families")
def test_a_family_leaves_to_another_package_what_its_heirs_had_from_there() -> None:
    """_BaseConfig of trl says again what its heirs had from TrainingArguments before it came."""
    heirs = {each: of(bases=("Foreign",)) for each in ("One", "Two")}
    after = {each: of("a", bases=("Base", "Foreign")) for each in heirs}
    found = history(heirs, {"Base": of("a", bases=("Foreign",)), **after})
    assert nearest(found, "One", "a") == nearest(found, "Base", "a") == ("", {})
