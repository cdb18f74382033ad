"""Tables of released sources: they stand for files that are what was released, and for no other."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from fadoctor.sources.import_names.child._fadoctor_find import Finder
from fadoctor.sources.import_names.child._fadoctor_lazy import lazy_from_files, python_files
from fadoctor.sources.import_names.child._fadoctor_lower import lower
from fadoctor.sources.import_names.child._fadoctor_shipped import (
    Shipped,
    digest_of,
    listing_of,
    nearest,
    read_lines,
    releases_of,
)
from fadoctor.sources.import_names.child._fadoctor_sources import Sources
from fadoctor.sources.import_names.read import SHIPPED, read_contracts
from tests.unit.sources.import_names.conftest import ENTRIES
from tools.refresh.shipped.cli import RELEASES, SIZE_LIMIT
from tools.refresh.shipped.layers import packed

if TYPE_CHECKING:
    from fadoctor.sources.import_names.model import NameAnswer
    from tests.unit.sources.import_names.conftest import Tree

EXPORTING = 'x = 1\n__all__ = ["One"]\n'
SIZE = len(EXPORTING)
"""Of each file: names of three letters."""
ASKING = "from provider import Gone"


def line_of(file: Path) -> tuple[str, bytes]:
    text = file.read_bytes()
    return digest_of(text), json.dumps(lower(text)).encode()


def table(tree: Tree, folder: Path, *, version: str = "1.0") -> Path:
    """Write tables of what lies in a tree."""
    folder.mkdir(exist_ok=True)
    for name in tree.installed:
        lines = dict(line_of(file) for file in (tree.folder / name).rglob("*.py"))
        (folder / f"{name}.names").write_bytes(packed({version: lines}))
    return folder


def read(tree: Tree, tables: Path) -> NameAnswer:
    return read_contracts(tree.site(), ENTRIES, None, shipped=tables)


@pytest.fixture
def filled(tree: Tree) -> Tree:
    return tree.install("asker", init=ASKING).install("provider", init="Other = 1")


def test_what_was_released_is_not_parsed_and_the_answer_is_the_same(
    filled: Tree, tmp_path: Path
) -> None:
    plain, told = filled.read(), read(filled, table(filled, tmp_path / "tables"))
    assert plain.source == "2 of 2 files parsed"
    assert told.source == "0 of 2 files parsed"
    assert told.broken == plain.broken != ()


def test_an_edited_file_is_never_judged_by_a_table(filled: Tree, tmp_path: Path) -> None:
    tables = table(filled, tmp_path / "tables")
    file = filled.folder / "provider" / "__init__.py"
    seen = file.stat()
    file.write_text("Gone_ = 1"[:4] + "  = 1")  # as long as it was, and as old
    assert file.stat().st_size == seen.st_size
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    answer = read(filled, tables)
    assert answer.broken == ()
    assert answer.source == "1 of 2 files parsed"


def test_a_release_without_a_table_takes_the_same_files_of_another_one(
    filled: Tree, tmp_path: Path
) -> None:
    tables = table(filled, tmp_path / "tables", version="2.0")
    assert read(filled, tables).source == "0 of 2 files parsed"
    (filled.folder / "provider" / "__init__.py").write_text("Gone = 1")
    answer = read(filled, tables)
    assert (answer.source, answer.broken) == ("1 of 2 files parsed", ())


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        ("2.1", "2.1"), ("2.0.9", "2.1"), ("0.1", "1.0"), ("2.2", "10.0"), ("11", "10.0"),
        ("10.0.dev1", "10.0"), ("of my own", ""),
    ],
)  # fmt: skip
def test_the_nearest_release_is_the_next_newer_one_or_the_newest(version: str, taken: str) -> None:
    assert nearest(["10.0", "2.1", "1.0", "no version"], version) == taken
    assert nearest([], version) == ""


def test_a_local_version_is_its_release(tree: Tree, tmp_path: Path) -> None:
    tree.install("asker", init=ASKING).install("provider", version="1.0+cpu")
    assert read(tree, table(tree, tmp_path / "tables")).source == "0 of 2 files parsed"


@pytest.mark.parametrize(
    "spoiled",
    [
        lambda _: b"",
        lambda data: data[:-9],
        lambda data: data[:-150],
        lambda data: data.replace(b'"form":', b'"form":1'),
        lambda data: data.replace(b"[[0,", b"[[9,"),
        lambda data: data.replace(b'{"1.0":[0]}', b'{"1.0":[7]}'),
        lambda data: data.replace(b'{"1.0":[0]}', b'["1.0"]'),
        lambda data: b"[" * 90_000 + data,
        lambda data: b"\0" + data,
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_read_is_not_there(tmp_path: Path, spoiled: object) -> None:
    lines = {digest_of(b"%d" % number): b"[%d]" % number for number in range(90)}
    file = tmp_path / "p.names"
    file.write_bytes(spoiled(packed({"1.0": lines})))  # type: ignore[operator]
    assert dict(read_lines(str(file), "1.0")) == {}


def test_a_tree_beside_a_spoiled_table_is_parsed(filled: Tree, tmp_path: Path) -> None:
    tables = table(filled, tmp_path / "tables")
    for file in tables.iterdir():
        file.write_bytes(file.read_bytes()[:-40])
    answer = read(filled, tables)
    assert (answer.source, answer.problem) == ("2 of 2 files parsed", "")


def test_releases_share_what_is_the_same() -> None:
    old = {digest_of(b"%d" % number): b"[%d]" % number for number in range(40)}
    new = {**old, digest_of(b"x"): b'["x"]'}
    few = {digest_of(b"y"): b'["y"]'}
    data = packed({"2": new, "1": old, "0": few})
    head = json.loads(data.partition(b"\n")[0])
    assert head["releases"] == {"2": [0], "1": [0], "0": [1]}
    assert len(head["layers"]) == 2


def test_every_release_of_a_table_has_its_lines(tmp_path: Path) -> None:
    lines = {digest_of(b"%d" % number): b"[%d]" % number for number in range(40)}
    more = {**lines, digest_of(b"x"): b'["x"]'}
    (tmp_path / "p.names").write_bytes(packed({"1": lines, "2": more}))
    assert dict(read_lines(str(tmp_path / "p.names"), "2")) == more
    assert Shipped(str(tmp_path), {"p": "2+cu1"}).find("p", digest_of(b"x")) == ["x"]
    near = Shipped(str(tmp_path), {"p": "3"})
    assert (near.find("p", digest_of(b"x")), near.is_exact("p")) == (["x"], False)
    assert Shipped(str(tmp_path), {"p": "2+cu1"}).is_exact("p")
    assert not Shipped(str(tmp_path), {"q": "2"}).is_exact("q")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    for name in ("one", "two"):
        (folder / name).mkdir(parents=True)
        (folder / name / "modeling.py").write_text(EXPORTING.replace("One", name.title()))
    (tmp_path / "RECORD").write_text("")
    return folder


def structure(models: Path, version: str = "1") -> tuple[dict[str, list[str]], bool]:
    """Return an import structure, and whether it comes from a table that says Shipped."""
    finder = Finder([])
    names = [name for name, _ in python_files(str(models), "", finder)]
    key = listing_of("models", [(name, SIZE) for name in names])
    (models.parent / "p.names").write_bytes(packed({"1": {key: b'{"models.one": ["Shipped"]}'}}))
    shipped = Shipped(str(models.parent), {"p": version})
    records = {"p": str(models.parent / "RECORD")}
    found = Sources("", {}, records, shipped).lazy(str(models), "models", "p", finder)
    return found, "Shipped" in str(found)


def test_a_structure_is_that_of_a_release_where_sizes_and_times_say_so(models: Path) -> None:
    assert structure(models)[1]
    found, is_shipped = structure(models, "1.1")  # another release, with files of the same sizes
    assert (found["models.one.modeling"], is_shipped) == (["One"], False)
    file = models / "one" / "modeling.py"
    file.write_text("x = 1\n")
    os.utime(file, ns=(0, 0))
    found, is_shipped = structure(models)
    assert (found["models.one.modeling"], is_shipped) == ([], False)


def test_a_file_that_is_newer_than_the_record_is_read(models: Path) -> None:
    assert structure(models)[1]
    file = models / "one" / "modeling.py"
    later = (models.parent / "RECORD").stat().st_mtime_ns + 5_000_000_000
    os.utime(file, ns=(later, later))
    found, is_shipped = structure(models)
    assert (found["models.one.modeling"], is_shipped) == (["One"], False)
    (models.parent / "RECORD").unlink()
    assert not structure(models)[1]


def test_a_structure_made_from_files_names_what_they_export(models: Path) -> None:
    (models / "two" / "modeling.py").write_text(
        '__all__ = ["A"]\n__all__ += ["B"]\nx__all__ = ["C"]'
    )
    assert lazy_from_files(str(models), "m", Finder([]))["m.two.modeling"] == ["A", "B"]


def test_the_tables_that_are_shipped_have_the_form_of_today_and_are_small() -> None:
    files = sorted(SHIPPED.glob("*.names"))
    assert sum(file.stat().st_size for file in files) <= SIZE_LIMIT
    for file in files:
        head = json.loads(file.read_bytes().partition(b"\n")[0])
        newest = next(iter(head["releases"]))
        assert dict(read_lines(str(file), newest)), (
            f"{file.name}: run python -m tools.refresh.shipped"
        )


def test_each_release_that_is_listed_is_in_a_table() -> None:
    """Beside them torchao: transformers and peft load 84 of its files where it is installed."""
    listed = yaml.safe_load(RELEASES.read_text("utf-8"))["sets"]
    for name, _, version in (text.partition("==") for each in listed for text in each["with"]):
        assert version in releases_of(str(SHIPPED / f"{name}.names")), f"{name} {version}"
    assert any(text.startswith("torchao==") for text in listed[0]["with"])


def test_the_table_of_torch_is_what_its_sources_say() -> None:
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("no torch is installed here")
    from importlib.metadata import version  # noqa: PLC0415 -- not asked where there is no torch

    lines = dict(read_lines(str(SHIPPED / "torch.names"), version("torch").partition("+")[0]))
    if not lines:
        pytest.skip("this torch is not in the tables")
    folder = Path(spec.origin).parent
    names = ("nn/__init__.py", "nn/functional.py", "utils/__init__.py", "library.py")
    known = [file for name in names if digest_of((file := folder / name).read_bytes()) in lines]
    assert len(known) >= 2
    for file in known:
        digest, _ = line_of(file)
        assert json.loads(lines[digest]) == json.loads(line_of(file)[1]), file.name
