"""The Hub's cache: what is read of it, and what is not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.hub.cache import BRANCH_LIMIT, REPOSITORY_LIMIT, Kernel, find_cache, read_cache
from tests.unit.hub.caches import lay

if TYPE_CHECKING:
    from pathlib import Path

FLASH = "kernels-community/flash-attn2"
STABLE = "torch-stable-abi210-cu130-x86_64-linux"


def test_kernels_and_those_that_lie_as_models_are_told_apart(tmp_path: Path) -> None:
    lay(tmp_path, FLASH, "v3", {STABLE: ["8.0", "9.0a"]})
    lay(tmp_path, FLASH, "main", {"torch28-cxx11-cu128-x86_64-linux": []}, kind="models")
    assert read_cache(tmp_path) == (
        Kernel("kernel", FLASH, "v3", {STABLE: ("8.0", "9.0a")}),
        Kernel("model", FLASH, "main", {"torch28-cxx11-cu128-x86_64-linux": ()}),
    )


def test_other_models_are_not_looked_at(tmp_path: Path) -> None:
    lay(tmp_path, "ada/llama", "main", {"torch-cuda": []}, kind="models")
    (tmp_path / "datasets--ada--words").mkdir()
    assert read_cache(tmp_path) == ()


def test_several_branches(tmp_path: Path) -> None:
    for branch in ("v1", "v2"):
        lay(tmp_path, FLASH, branch, {f"torch21{branch[1]}-cxx11-cu130-x86_64-linux": []})
    assert [kernel.branch for kernel in read_cache(tmp_path)] == ["v1", "v2"]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"KERNELS_CACHE": "/k", "HF_HOME": "/h", "HOME": "/root"}, "/k"),
        ({"HF_HUB_CACHE": "/c", "HF_HOME": "/h"}, "/c"),
        ({"HF_HOME": "/h", "HOME": "/root"}, "/h/hub"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/root"}, "/x/huggingface/hub"),
        ({"HOME": "/root"}, "/root/.cache/huggingface/hub"),
    ],
)
def test_where_it_is(environ: dict[str, str], folder: str) -> None:
    assert str(find_cache(environ)) == folder


def test_without_a_home_there_is_none() -> None:
    assert find_cache({}) is None


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"backend": 1}', '{"backend": {"archs": ["\\u001b[31m"]}}', "[" * 50_000]
)
def test_metadata_that_say_nothing_of_use(tmp_path: Path, text: str) -> None:
    build = lay(tmp_path, FLASH, "v3", {STABLE: ["8.0"]}) / STABLE / "metadata.json"
    build.write_text(text)
    [kernel] = read_cache(tmp_path)
    assert kernel.builds == {STABLE: ()}


def test_a_hostile_cache_costs_little(tmp_path: Path) -> None:
    """Links in circles, pipes, refs that lead out of the cache, more of all than anybody has."""
    for index in range(REPOSITORY_LIMIT + 20):
        (tmp_path / f"kernels--owner--k{index}").mkdir()
    folder = tmp_path / "kernels--owner--k0"
    (folder / "refs").mkdir()
    (folder / "refs" / "up").write_text("../../../../etc")
    os.mkfifo(folder / "refs" / "pipe")
    (folder / "refs" / "self").symlink_to(folder / "refs" / "self")
    (folder / "snapshots").symlink_to(folder)
    for index in range(BRANCH_LIMIT + 20):
        (folder / "refs" / f"v{index}").write_text("ab" * 20)
    found = read_cache(tmp_path)
    assert len(found) <= BRANCH_LIMIT
    assert all(kernel.builds == {} for kernel in found)


def test_snapshots_are_not_walked(tmp_path: Path) -> None:
    lay(tmp_path, FLASH, "v3", {STABLE: []})
    snapshots = tmp_path / "kernels--kernels-community--flash-attn2" / "snapshots"
    for index in range(2_000):
        (snapshots / f"{index:039x}a").mkdir(exist_ok=True)
    opened: list[str] = []
    before = os.scandir

    def counted(path: Path) -> object:
        opened.append(str(path))
        return before(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fadoctor.hub.cache.os.scandir", counted)
        [kernel] = read_cache(tmp_path)
    assert list(kernel.builds) == [STABLE]
    assert len(opened) == 3
