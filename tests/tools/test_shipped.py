"""The tables of released sources, made from a tiny index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.import_names.child._fadoctor_shipped import digest_of, read_lines
from tests.tools.tiny_index import TinyIndex, metadata, packed
from tools.refresh.errors import RefreshError
from tools.refresh.shipped.cli import write
from tools.refresh.shipped.trees import Shelf, is_safe

if TYPE_CHECKING:
    from pathlib import Path

BESIDE = "beside: {tqdm: tqdm}\nsets:\n  - {name: one, with: [transformers==5.0, peft==1.0]}\n"
PEFT = {
    "peft/__init__.py": b"from .model import Model\nimport tqdm\ntry:\n  import scipy\n"
    b"except ImportError:\n  pass\nelse:\n  from .more import More\n",
    "peft/model.py": b"from transformers import Trainer\nModel = 1\n",
    "peft/more.py": b"More = 1\n",
    "peft/never.py": b"Never = 1\n",
}


def add(index: TinyIndex, name: str, version: str, members: dict[str, bytes]) -> None:
    head = {f"{name}-{version}.dist-info/METADATA": metadata(name, version)}
    index.add(name, (f"{name}-{version}-py3-none-any.whl", packed({**members, **head})))


def made(index: TinyIndex, tmp_path: Path, transformers: bytes = b"Trainer = 1\n") -> Path:
    add(index, "transformers", "5.0", {"transformers/__init__.py": transformers})
    add(index, "peft", "1.0", PEFT)
    (tmp_path / "releases.yaml").write_text(BESIDE)
    shelf = Shelf(index.open(), index.transport(), tmp_path / "sources")
    write(shelf, tmp_path / "releases.yaml", tmp_path / "tables")
    return tmp_path / "tables"


def test_what_was_followed_and_what_another_machine_may_follow_is_written(
    index: TinyIndex, tmp_path: Path
) -> None:
    lines = dict(read_lines(str(made(index, tmp_path) / "peft.names"), "1.0"))
    wanted = {digest_of(text) for name, text in PEFT.items() if "never" not in name}
    assert set(lines) == wanted


def test_the_same_releases_give_the_same_bytes(index: TinyIndex, tmp_path: Path) -> None:
    first = {file.name: file.read_bytes() for file in made(index, tmp_path).iterdir()}
    again = {file.name: file.read_bytes() for file in made(index, tmp_path).iterdir()}
    assert first == again
    assert sorted(first) == ["peft.names", "transformers.names"]


def test_a_set_that_does_not_go_together_is_refused(index: TinyIndex, tmp_path: Path) -> None:
    with pytest.raises(RefreshError, match=r"do not go together: import peft: Trainer"):
        made(index, tmp_path, transformers=b"Other = 1\n")


@pytest.mark.parametrize("path", ["/etc/x.py", "../x.py", "a/../../x.py", "p.data/scripts/x.py"])
def test_a_member_that_lies_elsewhere_is_not_written(path: str) -> None:
    assert not is_safe(path)
    assert is_safe("a/b.py")
