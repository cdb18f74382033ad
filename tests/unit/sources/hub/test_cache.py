"""The Hub's cache: what is read of it, and what is not."""

from __future__ import annotations

import os
import shutil
from typing import IO, TYPE_CHECKING, Literal

import pytest

from fadoctor.sources.hub import cache as module
from fadoctor.sources.hub.cache import (
    BRANCH_LIMIT,
    REPOSITORY_LIMIT,
    Kernel,
    find_cache,
    locate_build,
    read_cache,
)
from fadoctor.sources.hub.metadata import METADATA_LIMIT, Metadata, read_metadata
from tests.unit.sources.hub.caches import lay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLASH = "kernels-community/flash-attn2"
STABLE = "torch-stable-abi210-cu130-x86_64-linux"


def test_kernels_and_those_that_lie_as_models_are_told_apart(tmp_path: Path) -> None:
    lay(tmp_path, FLASH, "v3", {STABLE: ["8.0", "9.0a"]})
    lay(tmp_path, FLASH, "main", {"torch28-cxx11-cu128-x86_64-linux": []}, kind="models")
    keys = ("backend", "id", "name")
    of_new = Metadata((*keys, "version"), 3, ("8.0", "9.0a"))
    assert read_cache(tmp_path) == (
        Kernel("kernel", FLASH, "v3", {STABLE: of_new}),
        Kernel("model", FLASH, "main", {"torch28-cxx11-cu128-x86_64-linux": Metadata(keys)}),
    )
    assert [kernel.kind for kernel in read_cache(tmp_path, ("model",))] == ["model"]


def test_other_models_are_not_looked_at(tmp_path: Path) -> None:
    lay(tmp_path, "ada/llama", "main", {"torch-cuda": []}, kind="models")
    (tmp_path / "datasets--ada--words").mkdir()
    assert read_cache(tmp_path) == ()


def test_several_branches(tmp_path: Path) -> None:
    for branch in ("v1", "v2"):
        lay(tmp_path, FLASH, branch, {f"torch21{branch[1]}-cxx11-cu130-x86_64-linux": []})
    assert [kernel.branch for kernel in read_cache(tmp_path)] == ["v1", "v2"]


def test_what_was_asked_for_by_its_version_has_no_reference(tmp_path: Path) -> None:
    """transformers 5.13 and newer ask so: reading refs alone would find nothing of theirs."""
    lay(tmp_path, FLASH, "v1", {"torch211-cxx11-cu130-x86_64-linux": []})
    lay(tmp_path, FLASH, "v3", {STABLE: ["8.0"]}, named=False)
    lay(tmp_path, FLASH, "experiment", {STABLE: []}, named=False)
    found = {kernel.branch: kernel.named for kernel in read_cache(tmp_path)}
    commit = f"{sum(map(ord, 'experiment')):040x}"
    assert found == {"v1": True, "v3": False, commit[:12]: False}


def test_a_reference_wins_over_a_snapshot_without_one(tmp_path: Path) -> None:
    lay(tmp_path, FLASH, "v3", {STABLE: []})
    (folder,) = tmp_path.iterdir()
    other = folder / "snapshots" / ("ab" * 20) / "build" / "torch-cuda"
    other.mkdir(parents=True)
    (other / "metadata.json").write_text('{"version": 3}')
    [kernel] = read_cache(tmp_path)
    assert (kernel.branch, list(kernel.builds), kernel.named) == ("v3", [STABLE], True)


def test_of_several_without_a_reference_the_last_one_counts(tmp_path: Path) -> None:
    snapshots = tmp_path / "kernels--kernels-community--flash-attn2" / "snapshots"
    for age, (commit, build) in enumerate((("aa" * 20, STABLE), ("bb" * 20, "torch-cuda"))):
        (snapshots / commit / "build" / build).mkdir(parents=True)
        (snapshots / commit / "build" / build / "metadata.json").write_text('{"version": 3}')
        os.utime(snapshots / commit, (1_000_000 - age, 1_000_000 - age))
    [kernel] = read_cache(tmp_path)
    assert list(kernel.builds) == [STABLE]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"KERNELS_CACHE": "/k", "HF_HOME": "/h", "HOME": "/root"}, "/k"),
        ({"HF_HUB_CACHE": "/c", "HF_HOME": "/h"}, "/c"),
        ({"HF_HOME": "/h", "HOME": "/root"}, "/h/hub"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/root"}, "/x/huggingface/hub"),
        ({"HOME": "/root"}, "/root/.cache/huggingface/hub"),
        ({"HF_HOME": "~/hf", "HOME": "/root"}, "/root/hf/hub"),
        ({"HF_KERNELS_CACHE": "/old", "HOME": "/root"}, "/root/.cache/huggingface/hub"),
    ],
)
def test_where_it_is(environ: dict[str, str], folder: str) -> None:
    assert str(find_cache(environ)) == folder


def test_releases_that_ask_for_models_mind_another_variable_first() -> None:
    environ = {"HF_KERNELS_CACHE": "/old", "KERNELS_CACHE": "/new"}
    assert str(find_cache(environ, "model")) == "/old"
    assert str(find_cache(environ, "kernel")) == "/new"


def test_without_a_home_there_is_none() -> None:
    assert find_cache({}) is None


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"backend": 1}', '{"backend": {"archs": ["\\u001b[31m"]}}', "[" * 50_000]
)
def test_metadata_that_say_nothing_of_use(tmp_path: Path, text: str) -> None:
    build = lay(tmp_path, FLASH, "v3", {STABLE: ["8.0"]}) / STABLE / "metadata.json"
    build.write_text(text)
    [kernel] = read_cache(tmp_path)
    assert kernel.builds[STABLE].archs == ()


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


def test_a_cache_of_a_hundred_thousand_snapshots_is_looked_at_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts instead of times: how many entries are looked at, and how many folders opened."""
    lay(tmp_path, FLASH, "v3", {STABLE: []})
    real, looked, opened = os.scandir, [0], [0]

    class Many:
        """A folder that says that it holds a hundred thousand snapshots."""

        def __init__(self, path: str) -> None:
            self.path = path

        def __enter__(self) -> Iterator[Entry]:
            return iter(self)

        def __exit__(self, *_: object) -> None:
            """Nothing is open."""

        def __iter__(self) -> Iterator[Entry]:
            for index in range(100_000):
                looked[0] += 1
                yield Entry(f"{index:040x}", f"{self.path}/{index:040x}")

    def counted(path: str) -> object:
        opened[0] += 1
        return Many(path) if path.endswith("/snapshots") else real(path)

    monkeypatch.setattr("fadoctor.sources.hub.cache.os.scandir", counted)
    [kernel] = read_cache(tmp_path)
    assert list(kernel.builds) == [STABLE]
    assert looked[0] <= module.COMMIT_LIMIT + 1
    assert opened[0] <= 4 + module.SNAPSHOT_LIMIT


class Entry:
    """One of the snapshots that are not there."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:  # noqa: ARG002 -- as os has it
        return os.stat_result((0,) * 10)


def test_metadata_of_a_cache_are_opened_a_bounded_number_of_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "METADATA_IN_ALL", 5)
    read: list[str] = []

    def counted(path: str) -> Metadata:
        read.append(path)
        return Metadata()

    monkeypatch.setattr(module, "read_metadata", counted)
    for index in range(3):
        builds: dict[str, list[str]] = {f"torch2{n}-cxx11-cu128-x86_64-linux": [] for n in range(9)}
        lay(tmp_path, f"owner/k{index}", "v1", builds)
    found = read_cache(tmp_path)
    assert [len(kernel.builds) for kernel in found] == [9, 9, 9]
    assert len(read) == 5


def test_huge_and_endless_metadata_are_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def opened(descriptor: int, mode: Literal["rb"]) -> Counted:
        return Counted(real(descriptor, mode))

    real = os.fdopen

    class Counted:
        """A file that notes how much is asked of it."""

        def __init__(self, file: IO[bytes]) -> None:
            self.file = file

        def __enter__(self) -> Counted:  # noqa: PYI034 -- it is not subclassed
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def read(self, limit: int) -> bytes:
            asked.append(limit)
            return self.file.read(limit)

    monkeypatch.setattr("fadoctor.model.files.os.fdopen", opened)
    huge, endless, circle = (tmp_path / name for name in ("huge", "endless", "circle"))
    with huge.open("wb") as file:
        file.truncate(1 << 30)  # sparse: NUL bytes, none of them on the disk
    endless.symlink_to("/dev/zero")
    circle.symlink_to(circle)
    assert [read_metadata(str(path)) for path in (huge, endless, circle)] == [Metadata()] * 3
    assert asked == [METADATA_LIMIT]


def test_names_and_references_with_nul_and_escapes_are_nothing(tmp_path: Path) -> None:
    lay(tmp_path, FLASH, "v3", {STABLE: []})
    (folder,) = tmp_path.iterdir()
    (folder / "refs" / "nul").write_bytes(b"\0" * 40)
    (folder / "refs" / "v9\x1b[31m").write_text("ab" * 20)
    assert [kernel.branch for kernel in read_cache(tmp_path)] == ["v3"]


@pytest.mark.parametrize(
    ("listing", "whole"),
    [
        (
            f'{{"files": {{"build/{STABLE}/__init__.py": {{}}, "x.pyc": {{}}}}}}',
            True,
        ),
        ('{"files": {"README.md": {}}}', False),
        ('{"files": {"../../../etc\\u0000": {}}}', True),
        ('{"files": []}', True),
        ("{", True),
    ],
)
def test_what_the_hub_listed_and_is_not_there(tmp_path: Path, listing: str, *, whole: bool) -> None:
    """huggingface_hub refuses it without the network, as incomplete; it is asked only then."""
    lay(tmp_path, FLASH, "v3", {STABLE: []})
    (folder,) = tmp_path.iterdir()
    (folder / "trees").mkdir()
    commit = (folder / "refs" / "v3").read_text()
    (folder / "trees" / f"{commit}.json").write_text(listing)
    assert [kernel.whole for kernel in read_cache(tmp_path, offline=True)] == [whole]
    assert [kernel.whole for kernel in read_cache(tmp_path)] == [True]


def test_of_too_many_kernels_those_that_frameworks_take_are_read(tmp_path: Path) -> None:
    for index in range(REPOSITORY_LIMIT + 40):
        lay(tmp_path, f"aaa/k{index:03}", "v1", {})
    lay(tmp_path, FLASH, "v3", {STABLE: []})
    found = read_cache(tmp_path)
    assert len(found) == REPOSITORY_LIMIT
    assert found[0].repository == FLASH


def test_links_in_circles_at_every_depth_end(tmp_path: Path) -> None:
    """Each folder of a cache may be a link, also to itself, to what holds it, or out of it."""
    kinds = ("itself", "..", "../..", "../../..", str(tmp_path), "gone", "/")
    for number, (place, to) in enumerate(
        (place, to)
        for place in ("refs", "snapshots", "snapshots/{c}", "snapshots/{c}/build",
                      "snapshots/{c}/build/" + STABLE, "snapshots/{c}/build/{s}/metadata.json",
                      "trees", "trees/{c}.json", "refs/v3")
        for to in kinds
    ):  # fmt: skip
        build = lay(tmp_path, f"kernels-community/k{number}", "v3", {STABLE: ["8.0"]})
        folder = tmp_path / f"kernels--kernels-community--k{number}"
        path = folder / place.format(c=build.parent.name, s=STABLE)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(path.name if to == "itself" else to)
    found = read_cache(tmp_path, offline=True)
    assert len(found) <= REPOSITORY_LIMIT * BRANCH_LIMIT
    for kernel in found:
        name = f"{kernel.repository}@{kernel.branch}"
        for build_name in kernel.builds:
            assert locate_build(tmp_path, kernel.kind, name, build_name) is not None
