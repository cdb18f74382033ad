"""Beside which releases a release can be imported: what its import surely asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.names.archive import Sources
from tools.refresh.names.asked import Asked
from tools.refresh.names.bounds import bound_rows, fits, given_of
from tools.refresh.names.loaded import Loader

if TYPE_CHECKING:
    from collections.abc import Iterable

FILES = {
    "peft/__init__.py": "from .model import A\nfrom . import late, config\nimport torch\n",
    "peft/model.py": "from transformers import HybridCache\nfrom peft.utils.deep import B\n",
    "peft/config.py": "import transformers.cache_utils\ntry:\n    from transformers import Old\n"
    "except ImportError: ...\n",
    "peft/utils/__init__.py": "from transformers.utils import *\n",
    "peft/utils/deep.py": "from ..model import A\nif x:\n    from transformers import Maybe\n",
    "peft/late.py": "def f():\n    from transformers import InFunction\n",
    "peft/never.py": "from transformers import Never\n",
    "peft/broken.py": "from transformers import (",
}  # fmt: skip


OWN: dict[str, object] = {"package": "transformers", "module": "transformers"}


class Files(Sources):
    def __init__(self, files: dict[str, str]) -> None:
        super().__init__()
        self.files = files
        self.digests = dict(files)

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self.files[path] for path in paths}


def asked(*starts: str) -> set[tuple[str, str]]:
    loader = Loader("peft", frozenset({"transformers", "torch"}), starts)
    return {(each.module, each.name) for each in loader.asks(Files(FILES))}


def test_what_is_surely_loaded_asks() -> None:
    assert asked("peft") == {
        ("transformers", "HybridCache"),
        ("transformers.cache_utils", ""),
        ("transformers.utils", ""),
    }


def test_a_module_that_is_used_asks_too_and_one_that_is_not_there_asks_nothing() -> None:
    assert ("transformers", "Never") in asked("peft", "peft.never")
    assert asked("peft", "peft.gone") == asked("peft") == asked("peft", "peft.broken")


def test_what_a_class_is_made_of_is_asked_for_and_what_a_function_does_is_not() -> None:
    text = """
import pyarrow as pa
import torch
class A(pa.PyExtensionType):
    kind = pa.int32()
    def f(self, one=pa.default): return pa.in_function
if pa.condition and pa.second: pa.below
names = [pa.each for each in some]
torch.anything
"""
    loader = Loader("datasets", frozenset({"pyarrow", "torch"}), ("datasets",))
    found = loader.asks(Files({"datasets/__init__.py": text}))
    assert {each.name for each in found} == {"PyExtensionType", "int32", "default", "condition"}


def test_the_first_and_the_last_release_that_has_all_names() -> None:
    rows: list[dict[str, object]] = [
        {**OWN, "name": "A B", "first": "4.44.0"},
        {**OWN, "name": "C", "last": "4.57.6"},
        {**OWN, "name": "D", "first": "5.5.0", "earlier": "4.36.0 to 5.3.0"},
        {**OWN, "name": "E", "never": True},
        {"package": "torch", "module": "torch.x", "name": "(module)", "first": "2.6.0"},
    ]  # fmt: skip
    given = given_of(rows)
    releases = {
        "transformers": [Version(text) for text in ("4.44.0", "4.57.6", "5.0.0", "5.1.0")],
        "torch": [Version("2.6.0")],
    }
    names = [("transformers", name) for name in "ABCDEF"] + [("torch.x", "")]
    found = fits([Asked(*each) for each in names], given, releases)
    assert found == (("torch", ">=2.6.0"), ("transformers", ">=4.44.0,<5.0.0"))
    assert fits([Asked("transformers", "F")], given, releases) == ()


def test_bounds_that_no_release_is_in_are_not_believed() -> None:
    row = {"package": "t", "module": "t"}
    rows: list[dict[str, object]] = [
        {**row, "name": "A", "first": "2.0"},
        {**row, "name": "B", "last": "1.0"},
    ]
    assert fits([Asked("t", "A"), Asked("t", "B")], given_of(rows), {"t": []}) == ()


def test_releases_with_the_same_bounds_are_one_row() -> None:
    seen = {
        Version(f"0.{minor}"): ((("t", "<5"),) if minor in (2, 3) else ()) for minor in range(6)
    }
    every = [Version(f"0.{minor}") for minor in range(6)]
    assert bound_rows("p", seen, every) == [
        '  - {package: p, version: ">=0.2,<0.4", beside: t, fits: "<5"}\n'
    ]
    seen[Version("0.5")] = (("t", ">=4"),)
    assert '">=0.5,<0.5.1"' in bound_rows("p", seen, every)[1]
