"""Releases in the user's data folder: one in use, one before it, and the way back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor import __version__
from fadoctor.knowledge.matrix import fetched
from fadoctor.knowledge.matrix.fetched import (
    FetchedRelease,
    Pointer,
    fetched_folder,
    fetched_knowledge,
    find,
)
from fadoctor.knowledge.matrix.load import FORM
from fadoctor.knowledge.updates import ReleaseError
from fadoctor.knowledge.updates.store import put, undo, unpack, workplace
from fadoctor.model.rule import Knowledge
from tests.unit.knowledge.matrix.folders import rule_text, table_text

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = Knowledge("2026.11.1", "0", (), {})
FIRST, SECOND, THIRD = "2026.12.1", "2026.12.24", "2027.1.1"


def shipped() -> Knowledge:
    return SHIPPED


@pytest.fixture
def pointer(tmp_path: Path) -> Path:
    return tmp_path / "data" / "fadoctor" / "rules" / "current.json"


def take(pointer: Path, version: str, **changes: str) -> None:
    """Put a release there as an update does."""
    files = {
        "knowledge.yaml": f'version: "{version}"\n'.encode(),
        "area/some-rule.yaml": rule_text().encode(),
        "matrix/small-table.yaml": table_text("small-table").encode(),
        "matrix/large-table.yaml": table_text("large-table", apart="true").encode(),
    }
    with workplace(pointer) as folder:
        made = pointer.parent / folder / "release"
        unpack(files, made)
        stated = FetchedRelease(
            version, version[-1] * 64, "a test", "2026-12-02", FORM, __version__
        )
        put(pointer, made, msgspec.structs.replace(stated, **changes))


def used(pointer: Path) -> str:
    return fetched_knowledge(pointer, shipped).version if pointer.exists() else SHIPPED.version


def folders(pointer: Path) -> list[str]:
    return sorted(
        path.name.partition("-")[0] for path in pointer.parent.iterdir() if path != pointer
    )


def test_an_update_is_used_and_says_where_it_came_from(pointer: Path) -> None:
    take(pointer, FIRST)
    found = fetched_knowledge(pointer, shipped)
    assert [rule.id for rule in found.rules] == ["some-rule"]
    assert found.origin == "fetched on 2026-12-02 from a test"
    folder = fetched_folder(pointer, shipped)
    assert folder is not None
    assert b"large-table" in (folder / "apart.json").read_bytes()
    assert (folder / "rules" / "area" / "some-rule.yaml").is_file()


def test_one_before_is_kept_and_the_way_back_leads_to_what_was_shipped(pointer: Path) -> None:
    for version in (FIRST, SECOND, THIRD):
        take(pointer, version)
        assert used(pointer) == version
    assert folders(pointer) == [SECOND, THIRD]
    left = undo(pointer)
    assert left is not None
    assert (left.version, used(pointer)) == (THIRD, SECOND)
    assert folders(pointer) == [SECOND]
    undo(pointer)
    assert (used(pointer), folders(pointer)) == (SHIPPED.version, [])
    with pytest.raises(ReleaseError, match="nothing to undo"):
        undo(pointer)


def test_the_same_release_repairs_what_was_damaged(pointer: Path) -> None:
    take(pointer, FIRST)
    take(pointer, SECOND)
    damaged = next(pointer.parent.glob(f"{SECOND}-*")) / "knowledge.json"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert "damaged" in find(pointer, shipped).problem
    take(pointer, SECOND)
    assert used(pointer) == SECOND
    undo(pointer)
    assert used(pointer) == FIRST


@pytest.mark.parametrize("name", ["apart.json", "cases.json", "knowledge.json", "release.json"])
@pytest.mark.parametrize("how", ["gone", "short", "other", "folder"])
def test_what_is_damaged_is_passed_over_with_one_line(pointer: Path, name: str, how: str) -> None:
    take(pointer, FIRST)
    path = next(pointer.parent.glob(f"{FIRST}-*")) / name
    size = path.stat().st_size
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how != "gone":
        path.write_bytes(b"{" * (size // 2 if how == "short" else size))
    found = fetched_knowledge(pointer, shipped)
    if name in ("apart.json", "cases.json") and how == "other":
        return  # of the same size: `load_apart` falls back by itself
    assert found.version == SHIPPED.version
    assert "damaged" in found.origin
    assert "`fadoctor rules update`" in found.origin
    assert found.origin.isprintable()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"folder": ""}', '{"folder": "../../x"}', "[" * 60_000,
     '{"folder": "2026.1.1-000000000000"}',
     '{"folder": "2026.1.1-000000000000", "before": "/etc"}'],
)  # fmt: skip
def test_a_pointer_that_is_damaged_ends_nothing(pointer: Path, text: str) -> None:
    take(pointer, FIRST)
    pointer.write_text(text)
    assert fetched_folder(pointer, shipped) is None
    assert "what was fetched is damaged" in fetched_knowledge(pointer, shipped).origin
    undo(pointer)
    assert not pointer.exists()


def test_what_another_fadoctor_compiled_is_passed_over(
    pointer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(pointer, FIRST)
    monkeypatch.setattr(fetched, "FORM", "form of tomorrow")
    found = fetched_knowledge(pointer, shipped)
    assert found.version == SHIPPED.version
    assert "made for another version of fadoctor" in found.origin


def test_a_newer_fadoctor_with_newer_rules_says_nothing(
    pointer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(pointer, FIRST)
    monkeypatch.setattr(fetched, "__version__", "99")
    assert used(pointer) == FIRST
    newer = msgspec.structs.replace(SHIPPED, version="2026.12.10")
    assert fetched_knowledge(pointer, lambda: newer) is newer


def test_what_killed_updates_left_behind_goes_with_the_next_one_of_another_day(
    pointer: Path,
) -> None:
    take(pointer, FIRST)
    old, fresh = pointer.parent / ".new-old", pointer.parent / ".new-fresh"
    for folder in (old, fresh):
        (folder / "release").mkdir(parents=True)
    os.utime(old, (1, 1))
    take(pointer, SECOND)
    assert not old.exists()
    assert fresh.exists()
    assert used(pointer) == SECOND


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReleaseError, match="cannot be written to"):
        workplace(tmp_path / "file" / "rules" / "current.json")


def test_a_pointer_is_read_back() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Pointer("a")), type=Pointer) == Pointer("a")


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("level", [0, 1])
def test_a_link_where_rules_are_kept_is_refused(pointer: Path, tmp_path: Path, level: int) -> None:
    """Behind one, folders of somebody else were removed as old releases."""
    (tmp_path / "mine" / "rules" / "precious").mkdir(parents=True)
    place = pointer.parents[level]
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "mine")
    with pytest.raises(ReleaseError, match="is a link"):
        take(pointer, FIRST)
    (tmp_path / "mine" / "current.json").write_text("{}")
    (tmp_path / "mine" / "rules" / "current.json").write_text("{}")
    with pytest.raises(ReleaseError, match="is a link"):
        undo(pointer)
    assert (tmp_path / "mine" / "rules" / "precious").is_dir()


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_rules_behind_a_link_or_of_another_user_are_not_used(
    pointer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(pointer, FIRST)
    assert used(pointer) == FIRST
    with monkeypatch.context() as patched:
        patched.setattr("os.geteuid", lambda: 12_345)
        patched.setattr("os.fstat", lambda _: os.stat_result((0o100600, 0, 0, 1, 54_321, *[0] * 5)))
        assert fetched_knowledge(pointer, shipped).version == SHIPPED.version
    pointer.replace(tmp_path / "elsewhere")
    pointer.symlink_to(tmp_path / "elsewhere")
    assert fetched_knowledge(pointer, shipped).version == SHIPPED.version


def test_a_damaged_table_is_found_before_anything_asks_for_it(pointer: Path) -> None:
    take(pointer, FIRST)
    path = next(pointer.parent.glob(f"{FIRST}-*")) / "knowledge.json"
    text = path.read_bytes()
    table = msgspec.json.decode(text)["tables"]["small-table"]
    other = f"{table[:-8]}{'B' if table[-8] == 'A' else 'A'}{table[-7:]}"
    path.write_bytes(text.replace(table.encode(), other.encode()))
    found = fetched_knowledge(pointer, shipped)
    assert (found.version, found.tables) == (SHIPPED.version, {})
    assert "damaged" in found.origin
