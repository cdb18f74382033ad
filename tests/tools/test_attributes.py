"""The tables of classes: what their objects have, what they inherit, and since when."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.names.archive import Sources
from tools.refresh.names.attributes import History, Reader, classes_of
from tools.refresh.names.families import Seen, by_name
from tools.refresh.names.packages import PACKAGES, class_files
from tools.refresh.names.told import Others

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCE = """
if True:
    class Cache(Generic[T]):
        limit: int = 3
        a, b = 1, 2
        class Inner: ...
        def __init__(self):
            self.made = 1
            self._build()
            other.foreign = 2
        def _build(self):
            self.built = 1
        def later(self):
            self.late = 1

class Old(Cache, base.Mixin): ...
class Circle(Circle): ...
"""


class Texts(Sources):
    def __init__(self, **texts: str) -> None:
        super().__init__()
        self._texts = {f"pack/{name}.py": text for name, text in texts.items()}
        self.digests = {path: f"{zlib.crc32(text.encode())}" for path, text in self._texts.items()}

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self._texts[path] for path in paths}


def test_a_class_has_what_its_body_binds_and_what_its_objects_are_made_with() -> None:
    found = classes_of(SOURCE)
    assert found["Cache"].bases == ("Generic",)
    assert found["Cache"].names == {
        "limit", "a", "b", "Inner", "__init__", "_build", "later", "made", "built",
    }  # fmt: skip
    assert found["Old"].bases == ("Cache", "Mixin")
    assert classes_of("class (") == {}


def test_what_is_inherited_counts_and_what_python_itself_names_does_not() -> None:
    reader = Reader(["pack/a*.py"])
    found = reader.classes(Texts(a1=SOURCE, b1="class Hidden: ..."))
    assert found["pack.a1.Old"].names == {
        "limit",
        "a",
        "b",
        "Inner",
        "_build",
        "later",
        "made",
        "built",
    }
    assert found["pack.a1.Old"].bases == ("Cache", "Mixin", "Generic")
    assert found["pack.a1.Circle"].names == frozenset()
    assert not any("Hidden" in each for each in found)


def test_classes_of_one_name_in_two_modules_stay_apart() -> None:
    first = "class Embedding(Base):\n    here = 1\nclass Base:\n    low = 1\n"
    other = "from .first import Base as Base\nclass Embedding(Base):\n    there = 1\n"
    third = "class Base:\n    high = 1\nclass Alone: ...\n"
    found = Reader(["pack/*.py"]).classes(Texts(first=first, other=other, third=third))
    assert found["pack.first.Embedding"].names == {"here", "low"}
    assert found["pack.other.Embedding"].names == {"there", "low"}
    named = by_name({Version("1.0"): found})[Version("1.0")]
    assert {name: set(seen.names) for name, seen in named.items()} == {
        "Alone": set(),
        "Base": set(),
        "pack.first.Base": {"low"},
        "pack.third.Base": {"high"},
        "Embedding": {"low"},
        "pack.first.Embedding": {"here"},
        "pack.other.Embedding": {"there"},
    }
    assert named["Embedding"].bases == ("Base",)


def test_what_namesakes_have_alike_in_each_release_is_told_of_the_name() -> None:
    """In 1.0 one module has the class, in 2.0 two, in 3.0 another one."""
    one = {"a.Judge": Seen(frozenset({"ask", "old"}), ())}
    two = {**one, "b.Judge": Seen(frozenset({"ask", "new"}), ("Base",))}
    named = by_name({Version("1.0"): one, Version("2.0"): two, Version("3.0"): two})
    assert {name: set(seen.names) for name, seen in named[Version("1.0")].items()} == {
        "Judge": {"ask"},
        "a.Judge": {"old"},
    }
    assert {name: set(seen.names) for name, seen in named[Version("3.0")].items()} == {
        "Judge": {"ask"},
        "a.Judge": {"old"},
        "b.Judge": {"new"},
    }


def test_namesakes_that_are_the_same_have_no_module() -> None:
    both = {f"{module}.Judge": Seen(frozenset({"ask"}), ()) for module in "ab"}
    assert by_name({Version("1.0"): both})[Version("1.0")].keys() == {"Judge"}


def test_stand_ins_and_templates_of_files_are_no_classes_of_a_release() -> None:
    real, stand_in = "class Pipe:\n    run = 1\n", "class Pipe:\n    _backends = 1\n"
    texts = {"utils/dummy_pt_objects": stand_in, "diff_pipe": stand_in, "modular_pipe": stand_in}
    found = Reader(["pack/*.py"]).classes(Texts(pipe=real, **texts))
    assert found.keys() == {"pack.pipe.Pipe"}


def test_a_class_inherits_from_one_of_its_name_that_its_file_imports() -> None:
    """diffusers 0.26 moved its classes, and left one of each name that inherits from the moved."""
    old = "from .new.blocks import Block as Block\nclass Block(Block):\n    notice = 1\n"
    alone = "import torch\nclass Alone(torch.Alone):\n    here = 1\n"
    texts = {"new/blocks": "class Block:\n    act = 1\n", "two": "class Alone:\n    there = 1\n"}
    found = Reader(["pack/*.py"]).classes(Texts(blocks=old, one=alone, **texts))
    assert found["pack.blocks.Block"].names == {"notice", "act"}
    assert found["pack.one.Alone"].names == {"here"}


def history(*releases: dict[str, Seen]) -> History:
    seen = {Version(f"1.{minor}.0"): classes for minor, classes in enumerate(releases)}
    has = {"Foreign": frozenset({"loud", "always"})}
    others = Others({"Foreign": frozenset({"loud"})}, has)
    return History(seen, [*seen, Version("1.1.7")], others)


def of(*names: str, bases: tuple[str, ...] = ()) -> Seen:
    return Seen(frozenset(names), bases)


def test_only_what_came_or_went_while_the_class_was_there_is_told() -> None:
    releases = (
        {"Cache": of("always", "gone", "_gone")},
        {"Cache": of("always", "gone", "_gone"), "Late": of("own")},
        {"Cache": of("always", "new", "_new", "_NEW"), "Late": of("own")},
    )
    assert list(history(*releases).given_rows("pack")) == [
        "  - {package: pack, class: Cache, name: _NEW new, first: 1.2.0}\n",
        "  - {package: pack, class: Cache, name: _gone gone, last: 1.1.7}\n",
    ]


def test_what_a_family_gives_is_written_once_and_what_differs_is_not_left_out() -> None:
    heirs = {f"Heir{number}": of("gone", bases=("Base",)) for number in range(9)}
    after = {f"Heir{number}": of(bases=("Base",)) for number in range(8)}
    kept = {"Heir8": of("gone", "more", bases=("Base",))}
    releases = ({"Base": of("gone"), **heirs}, {"Base": of(), **after, **kept})
    found = history(*releases)
    assert list(found.given_rows("pack")) == [
        "  - {package: pack, class: Base, name: gone, last: 1.0.0}\n",
        "  - {package: pack, class: Heir8, name: gone}\n",
        "  - {package: pack, class: Heir8, name: more, first: 1.1.0}\n",
    ]
    [row] = found.base_rows()
    assert row.startswith("  - {class: Heir0 Heir1")
    assert row.endswith("bases: Base}\n")


def test_what_a_class_had_before_its_family_was_there_is_its_own() -> None:
    """diffusers 0.27 moved what its pipelines could into a class of its own."""
    old = {f"Pipe{number}": of("slice") for number in range(9)}
    new = {f"Pipe{number}": of("slice", bases=("Mixin",)) for number in range(9)}
    end = {f"Pipe{number}": of(bases=("Mixin",)) for number in range(9)}
    found = history(old, {"Mixin": of("slice"), **new}, {"Mixin": of(), **end})
    pipes = " ".join(f"Pipe{number}" for number in range(9))
    assert list(found.given_rows("pack")) == [
        "  - {package: pack, class: Mixin, name: slice, first: 1.1.0, last: 1.1.7}\n",
        f"  - {{package: pack, class: {pipes}, name: slice, last: 1.1.7}}\n",
    ]


def test_a_base_that_its_file_imports_by_another_name_is_known() -> None:
    """trl has trainers that inherit from those of their own name."""
    texts = {
        "trainer/grpo": "class Trainer:\n    step = 1\n",
        "more/grpo_token": "from ..trainer.grpo import Trainer as _T\nclass Trainer(_T): x = 1\n",
    }
    found = Reader(["pack/*.py"]).classes(Texts(**texts))
    assert found["pack.more.grpo_token.Trainer"].names == {"step", "x"}
    named = by_name({Version("1.0"): found})[Version("1.0")]
    assert named["Trainer"].names == {"step"}


def test_bases_of_another_package_are_known_by_its_classes() -> None:
    found = history({"Mine": of(bases=("Near", "Foreign"))}, {"Mine": of("x", bases=("Foreign",))})
    assert list(found.given_rows("pack")) == [
        "  - {package: pack, class: Mine, name: x, first: 1.1.0}\n"
    ]
    assert list(found.base_rows()) == ["  - {class: Mine, bases: Foreign}\n"]


def test_files_of_classes_belong_to_packages_whose_releases_are_read() -> None:
    tops = {each.distribution: each.module for each in PACKAGES}
    for name, patterns in class_files().items():
        assert all(each.startswith(f"{tops[name]}/") for each in patterns)
