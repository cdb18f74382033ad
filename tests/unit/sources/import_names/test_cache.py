"""What is kept, and when it is not used."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.import_names import verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.sources.import_names.conftest import Tree


def broken(tree: Tree, cache: Path) -> tuple[list[str], str]:
    answer = tree.read(cache)
    return [each.name for each in answer.broken], answer.source


def filled(tree: Tree) -> Tree:
    return tree.install("asker", init="from provider import Gone").install("provider")


def test_an_answer_is_kept_and_used(tree: Tree, tmp_path: Path) -> None:
    filled(tree)
    first, second = broken(tree, tmp_path / "c"), broken(tree, tmp_path / "c")
    assert first == (["Gone"], "2 of 2 files parsed")
    assert second == (["Gone"], "verdict")


def test_a_changed_file_is_read_again_and_it_alone(tree: Tree, tmp_path: Path) -> None:
    broken(filled(tree), tmp_path)
    (tree.folder / "provider" / "__init__.py").write_text("Gone = 1")
    assert broken(tree, tmp_path) == ([], "1 of 2 files parsed")


def test_another_release_is_another_answer(tree: Tree, tmp_path: Path) -> None:
    broken(filled(tree), tmp_path)
    tree.install("provider", version="3", init="Gone = 1")
    assert broken(tree, tmp_path)[0] == []


def test_what_cannot_be_read_is_not_there(tree: Tree, tmp_path: Path) -> None:
    broken(filled(tree), tmp_path)
    for file in tmp_path.glob("*.json"):
        file.write_bytes(file.read_bytes()[:-7])
    assert broken(tree, tmp_path) == (["Gone"], "2 of 2 files parsed")
    for file in tmp_path.glob("*.json"):
        file.write_bytes(b'{"files": [], "lazy": 3, "schema": []}')
    assert broken(tree, tmp_path) == (["Gone"], "2 of 2 files parsed")


def test_a_variable_that_is_set_since_is_another_answer(tree: Tree, tmp_path: Path) -> None:
    tree.install("asker", init="import os\nif os.getenv('X', '1') == '1':\n"
                               "    from provider import Gone").install("provider")  # fmt: skip
    assert [b.name for b in tree.read(tmp_path).broken] == ["Gone"]
    assert tree.read(tmp_path, variables=("X",)).broken == ()


def test_several_at_once_leave_one_that_can_be_read(tree: Tree, tmp_path: Path) -> None:
    filled(tree)
    threads = [threading.Thread(target=tree.read, args=(tmp_path,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert broken(tree, tmp_path) == (["Gone"], "verdict")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".new")]


def test_a_folder_that_cannot_be_written_is_no_cache(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert broken(filled(tree), tmp_path / "file" / "below") == (["Gone"], "2 of 2 files parsed")


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "COUNT_LIMIT", 3)
    for number in range(6):
        (tmp_path / f"{number}.json").write_text("{}")
        verdicts.prune(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    assert (tmp_path / "5.json").exists()


def test_the_cache_is_the_users(tmp_path: Path) -> None:
    assert verdicts.cache_folder({"XDG_CACHE_HOME": "/x"}).as_posix() == "/x/fadoctor/contracts"  # type: ignore[union-attr]
    assert verdicts.cache_folder({"HOME": "/h"}).as_posix() == "/h/.cache/fadoctor/contracts"  # type: ignore[union-attr]
    assert verdicts.cache_folder({"XDG_CACHE_HOME": "relative"}) is None
    assert verdicts.cache_folder({}) is None


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("place", ["fadoctor", "fadoctor/contracts"])
def test_a_cache_behind_a_link_is_not_used(tmp_path: Path, place: str) -> None:
    """What lies there is somebody's: the oldest files of it were deleted where there were many."""
    (tmp_path / "mine" / "contracts").mkdir(parents=True)
    link = tmp_path / "cache" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "mine")
    assert verdicts.made(verdicts.cache_folder({"XDG_CACHE_HOME": str(tmp_path / "cache")})) is None
    assert [path.name for path in (tmp_path / "mine").rglob("*")] == ["contracts"]


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_a_cache_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = verdicts.cache_folder({"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert verdicts.made(folder) == folder
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert verdicts.made(folder) is None
