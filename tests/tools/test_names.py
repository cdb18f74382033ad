"""The tables of names: what sources ask, what they give, and since when."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from tools.refresh.cli import TABLES
from tools.refresh.names.archive import Sources
from tools.refresh.names.asked import Asked, asked_names
from tools.refresh.names.given import Giver
from tools.refresh.names.history import end_of, follow, spans
from tools.refresh.names.packages import remote_names
from tools.refresh.names.rows import asked_rows, given_rows, unsteady
from tools.refresh.names.survey import Survey
from tools.refresh.names.tables import read_rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

MODULES = frozenset({"transformers", "torch"})

SOURCE = """
import transformers
import transformers.utils as utils
from transformers import AutoModel, Trainer as T
from . import other
from torch.library import custom_op

if utils.flag:
    from transformers.cache_utils import HybridCache

def late():
    from transformers.late import Thing
    return utils.is_there(), transformers.__version__, other.x

try:
    from transformers import Old
except ImportError:
    Old = None
"""


def test_what_a_file_asks_for_sure_and_under_a_condition() -> None:
    sure, maybe = asked_names(SOURCE, MODULES)
    assert {(each.module, each.name) for each in sure} == {
        ("transformers.utils", ""),
        ("transformers.utils", "is_there"),
        ("transformers", "AutoModel"),
        ("transformers", "Trainer"),
        ("transformers", "__version__"),
        ("torch.library", "custom_op"),
        ("transformers.late", "Thing"),
    }
    assert maybe == {
        Asked("transformers.cache_utils", "HybridCache"),
        Asked("transformers", "Old"),
        Asked("transformers.utils", "flag"),
    }


@pytest.mark.parametrize("text", ["from transformers import (", "import os\n", "\0import torch"])
def test_what_asks_nothing_or_is_no_python(text: str) -> None:
    assert asked_names(text, MODULES) == (frozenset(), frozenset())


class Texts(Sources):
    """Sources that are given."""

    def __init__(self, **texts: str) -> None:
        super().__init__()
        self.texts = {name.replace("__", "/") + ".py": text for name, text in texts.items()}
        self.texts = {k.replace("/init", "/__init__"): text for k, text in self.texts.items()}
        self.digests = {name: f"{name} {text}" for name, text in self.texts.items()}
        self.others = {"a/_C.abi3.so"}

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self.texts[path] for path in paths}


GIVER = Giver(
    Texts(
        a__init=(
            "from .b import *\nx: int = 1\nif x:\n    y = 2\n"
            "try:\n    import z\nexcept E:\n    w = 1"
        ),
        a__b="def f(): hidden = 1\nclass C: inner = 1\nfor i in (): pass",
        a__lazy__init="_import_structure = {'one': ['Name']}\nsys.modules[x] = _LazyModule()",
        a__lazy__one="__all__ = ['Listed']",
        a__open="def __getattr__(name): ...\nknown = 1",
        a__all__init="define_import_structure(1)",
        a__all__deep="__all__ = ['Deep', \"Deeper\"]\n",
        a__broken="def (",
    ),
    {},
    {},
)


@pytest.mark.parametrize(
    ("module", "names", "state"),
    [
        ("a", "x y z w f C i b lazy _C", True),
        ("a", "hidden inner none", False),
        ("a.lazy", "Name one", True),
        ("a.lazy", "Listed", False),
        ("a.open", "known", True),
        ("a.open", "other", None),
        ("a.all", "Deep Deeper deep", True),
        ("a.all", "Shallow", False),
        ("a.broken", "x", None),
        ("a._C", "x", None),
        ("a.gone", "x", False),
    ],
)
def test_what_a_module_gives(module: str, names: str, state: bool | None) -> None:  # noqa: FBT001
    assert {GIVER.has(Asked(module, name)) for name in names.split()} == {state}


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("a", "x y z w"),  # what a star brings is left out
        ("a.lazy", "one Name"),
        ("a.gone", ""),
    ],
)
def test_the_names_at_the_top_of_a_module(module: str, names: str) -> None:
    assert GIVER.exported(module) == {*names.split()}
    assert not {name for name in GIVER.exported(module) if name.startswith("_")}


def versions(*texts: str) -> list[Version]:
    return [Version(text) for text in texts]


def test_history_finds_the_release_of_a_change_without_reading_all() -> None:
    every = [Version(f"1.{minor}.{patch}") for minor in range(3) for patch in range(16)]
    read: list[Version] = []

    def look(version: Version) -> bool:
        read.append(version)
        return version >= Version("1.1.11")

    seen = follow(every, look)
    assert spans(list(seen.items())) == [(Version("1.1.11"), Version("1.2.15"))]
    assert seen[Version("1.1.10")] is False
    assert len(read) == len(set(read)) < 12


def test_what_was_not_read_is_as_the_release_before_it() -> None:
    every = versions("4.57.0", "4.57.6", "5.0.0", "5.0.1")
    seen = versions("4.57.0", "5.0.0")
    assert end_of(seen[0], seen, every) == Version("4.57.6")
    assert end_of(seen[1], seen, every) == Version("5.0.1")
    assert end_of(seen[0], seen, ()) == seen[0]


def test_a_stretch_that_comes_back() -> None:
    states = zip(versions("1", "2", "3", "4"), (True, False, True, True), strict=True)
    assert [(str(a), str(b)) for a, b in spans(list(states))] == [("1", "1"), ("3", "4")]


def test_rows_share_what_names_have_in_common() -> None:
    one, two, three = versions("1.0", "1.1", "2.0")
    a, b, c, d = (Asked("m", name) for name in ("a", "b", "c", ""))
    seen: dict[Version, dict[Asked, bool | None]] = {
        one: {a: True, b: True, c: None, d: True},
        two: {a: True, b: True, c: True, d: True},
        three: {a: False, b: False, c: True, d: True},
    }
    assert list(given_rows("p", seen)) == [
        "  - {package: p, module: m, name: (module)}\n",
        "  - {package: p, module: m, name: a b, last: 1.1}\n",
    ]
    assert set(unsteady(seen)) == {a, b, c}
    asks = {
        one: (frozenset({a, d}), frozenset[Asked]()),
        two: (frozenset({a, b, d}), frozenset[Asked]()),
        three: (frozenset({b, d}), frozenset({a})),
    }
    assert list(asked_rows("q", asks, {a, b, c})) == [
        "  - {asker: q, module: m, name: b, first: 1.1}\n",
        "  - {asker: q, module: m, name: a, last: 1.1, gone: 2.0, then: true}\n",
    ]


def test_members_of_a_wheel_are_read_by_few_ranges(tmp_path: object) -> None:
    from tools.refresh.index import File  # noqa: PLC0415
    from tools.refresh.names.archive import WheelSources  # noqa: PLC0415
    from tools.refresh.transport import Answer  # noqa: PLC0415

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(50):
            archive.writestr(f"a/m{number}.py", f"x{number} = 1\n" * 50)
        archive.writestr("a/_C.so", b"\0" * 5_000_000)
    body = packed.getvalue()

    class Ranges:
        asked = 0

        def part(self, url: str, start: int, length: int) -> Answer:
            self.asked += 1
            piece = body[start : start + length] if start >= 0 else body[-length:]
            return Answer(piece, url, total=len(body))

    ranges = Ranges()
    file = File("a-1-py3-none-any.whl", "https://x/a-1-py3-none-any.whl", Version("1"))
    sources = WheelSources(ranges, file)  # type: ignore[arg-type] # it answers as one does
    texts = sources.read([f"a/m{number}.py" for number in range(50)])
    assert texts["a/m49.py"] == "x49 = 1\n" * 50
    assert sources.others == {"a/_C.so"}
    assert ranges.asked <= 3


def test_each_table_is_said_to_be_read_to_where_it_was_read() -> None:
    survey = Survey()
    survey.versions["transformers"] = [Version(each) for each in ("1.0", "1.1", "1.3")]
    survey.withdrawn["transformers"] = [Version("1.2")]
    known = {"transformers": {"package": "transformers", "last": "1.1", "asked": "1.0"}}
    [row] = read_rows(survey, known, ("last",))
    assert "last: 1.3, asked: 1.0, attributes: 1.1, unread: 1.2, releases: 1.0 1.1 1.3" in row
    [row] = read_rows(survey, known, ("asked",))
    assert "last: 1.1, asked: 1.3, attributes: 1.1, releases: 1.0 1.1}" in row


def test_names_that_code_on_the_hub_asks_are_in_the_table() -> None:
    """Nothing in an index asks for is_torch_fx_available, and many models of the Hub do."""
    listed = {
        (str(row["module"]), name)
        for row in rows_of(TABLES / "names-given.yaml")
        for name in str(row["name"]).split()
    }
    asked = {(module, name) for module, names in remote_names().items() for name in names}
    undecided = {name for module, name in asked - listed if module == "transformers.modeling_utils"}
    assert len(asked - listed) == len(undecided) <= 3  # code decides what this module imports
    assert ("transformers.utils.import_utils", "is_torch_fx_available") in listed
