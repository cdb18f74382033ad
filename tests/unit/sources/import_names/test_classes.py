"""Attributes of classes, and the order in which a package is asked for names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.import_names.model import ModuleEntry
from fadoctor.sources.import_names.read import read_contracts

if TYPE_CHECKING:
    from tests.unit.sources.import_names.conftest import Tree

ASKS = "from provider import Thing\nclass Mine(Thing):\n    fields = Thing.gone + ['x']\n"
TOLD_BY_BASE = ["asker/__init__.py:2 provider Thing.gone"]
TOLD = ["asker/__init__.py:3 provider.things Thing.gone"]


def told(tree: Tree, things: str, asker: str = ASKS, **files: str) -> list[str]:
    tree.install("asker", init=asker, **files)
    tree.install("provider", init="from .things import Thing", things=things)
    return tree.told()


@pytest.mark.parametrize(
    "things",
    [
        "class Thing:\n    there = 1\n",
        "class Thing(object): ...\n",
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Thing:\n    x: int = 1\n",
        "class Base:\n    x = 1\nclass Thing(Base):\n    def f(self):\n        gone = 1\n",
    ],
)
def test_an_attribute_that_a_class_has_not_is_told(tree: Tree, things: str) -> None:
    assert told(tree, things) == TOLD


@pytest.mark.parametrize(
    "things",
    [
        "class Thing:\n    gone = 1\n",
        "class Thing:\n    gone: int\n",
        "class Thing:\n    @property\n    def gone(self): ...\n",
        "class Thing:\n    if unknown():\n        gone = 1\n",
        "class Thing:\n    for gone in (1, 2): ...\n",
        "class Thing:\n    from os import path as gone\n",
        "class Thing:\n    locals()['gone'] = 1\n",
        "class Base:\n    gone = 1\nclass Thing(Base): ...\n",
        "class Base:\n    def __init_subclass__(cls): ...\nclass Thing(Base): ...\n",
        "from elsewhere import Base\nclass Thing(Base): ...\n",
        "import enum\nclass Thing(enum.Enum): ...\n",
        "class Thing(metaclass=unknown): ...\n",
        "@unknown\nclass Thing: ...\n",
        "class Thing: ...\nThing.gone = 1\n",
        "class Thing: ...\nsetattr(Thing, 'gone', 1)\n",
        "class Thing: ...\nif unknown():\n    Thing.gone = 1\n",
        "class Thing: ...\nunknown(Thing)\n",
        "class Thing: ...\nunknown.register(Thing)\n",
        "if unknown():\n    class Thing: ...\nelse:\n    class Thing:\n        gone = 1\n",
        "class Thing: ...\nThing = unknown(Thing)\n",
        "class Thing: ...\n\0",
    ],
)
def test_what_a_class_may_have_is_held_against_nobody(tree: Tree, things: str) -> None:
    assert told(tree, things) == []


@pytest.mark.parametrize(
    "asker",
    [
        "from provider import Thing\nclass Mine(Thing):\n    there = getattr(Thing, 'gone', None)",
        "from provider import Thing\nif hasattr(Thing, 'gone'):\n    Thing.gone",
        "from provider import Thing\nif unknown():\n    x = Thing.gone",
        "from provider import Thing\ntry:\n    x = Thing.gone\nexcept AttributeError:\n    x = 1",
        "from provider import Thing\ndef later():\n    return Thing.gone",
        "from provider import Thing\nx = Thing.__gone__",
        "from provider import Thing\nx = Thing().gone",
    ],
)
def test_who_does_without_the_attribute_is_silent(tree: Tree, asker: str) -> None:
    assert told(tree, "class Thing: ...\n", asker) == []


def test_within_one_package_nobody_asks_a_class_in_vain(tree: Tree) -> None:
    tree.install("asker", init="from .other import Thing\nx = Thing.gone", other="class Thing: ...")
    assert tree.told() == []


@pytest.mark.parametrize(
    ("base", "there", "told"),
    [("Thing", "x", TOLD_BY_BASE), ("Thing", "gone", []), ("unknown", "x", []), ("Own", "x", [])],
)
def test_an_attribute_that_the_base_of_a_class_once_had_is_told(
    tree: Tree, base: str, there: str, told: list[str]
) -> None:
    below = f"from provider import Thing\nclass Own: ...\nclass Base({base}): ...\n"
    tree.install("asker", init="from .base import Base\nfields = Base.gone", base=below)
    tree.install("provider", init=f"class Thing:\n    {there} = 1\n")
    assert tree.told() == told


def test_a_package_is_asked_for_all_names_before_it_misses_one(tree: Tree) -> None:
    below = "import importlib\ndef __getattr__(name):\n    if name == 'Second':\n"
    below += "        from third import Gone\n        return Gone\n    raise AttributeError(name)\n"
    tree.install("asker", init="from provider import Missing, Second")
    tree.install("third").install("provider", init=below)
    assert tree.told() == ["asker/__init__.py:1 provider Missing"]
    told = _with_third(tree)
    assert told == ["provider/__init__.py:4 third Gone"]


def _with_third(tree: Tree) -> list[str]:
    entries = {name: ModuleEntry((name,), "entry") for name in ("asker", "provider", "third")}
    broken = read_contracts(tree.site(), entries, None).broken
    return [
        f"{Path(b.file).relative_to(tree.folder)}:{b.line} {b.module} {b.name}"
        for b in broken
        if "import asker" in b.breaks
    ]


def test_a_file_is_asked_for_one_name_after_the_other(tree: Tree) -> None:
    tree.install("asker", init="from provider.file import Missing, Other")
    tree.install("provider", file="")
    assert tree.told() == ["asker/__init__.py:1 provider.file Missing"]
