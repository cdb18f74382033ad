"""Files that commands name lie beside the file with the commands, or in its project above."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.commands.reachable_files import ReachableFiles
from fadoctor.sources.manifests.read import read_held, read_manifest
from fadoctor.sources.manifests.source import open_source

if TYPE_CHECKING:
    from pathlib import Path


def _files(tmp_path: Path, fence: str = "", copied: tuple[str, ...] = ()) -> ReachableFiles:
    (tmp_path / "project/docker/gpu").mkdir(parents=True, exist_ok=True)
    (tmp_path / "project/docker/gpu/Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "secret.txt").write_text("torch==1.0\n")
    name = str(tmp_path / "project/docker/gpu/Dockerfile")
    return ReachableFiles(open_source(name, fence=fence), copied)


def test_without_a_project_above_only_the_own_folder_counts(tmp_path: Path) -> None:
    assert _files(tmp_path).folders == ("",)


@pytest.mark.parametrize("mark", [".git", "pyproject.toml", "setup.py"])
def test_the_search_ends_at_the_project(tmp_path: Path, mark: str) -> None:
    _files(tmp_path)
    (tmp_path / "project" / mark).write_text("")
    files = _files(tmp_path)
    assert files.folders == ("", "..", "../..")
    with pytest.raises(InputError, match=r"secret\.txt"):
        files.read("secret.txt")


def test_the_folder_with_what_is_copied_is_the_build_context(tmp_path: Path) -> None:
    _files(tmp_path)
    (tmp_path / "project/requirements.txt").write_text("torch==2.6.0\n")
    (tmp_path / "project/docker/gpu/requirements.txt").write_text("torch==2.5.0\n")
    (tmp_path / "project/src").mkdir()
    assert _files(tmp_path, copied=("requirements.txt", "src")).folders[0] == "../.."
    docker = tmp_path / "project/docker/gpu/Dockerfile"
    docker.write_text(
        "FROM python:3.11\nCOPY src /app/src\nCOPY requirements.txt /app/\n"
        "RUN pip install -r /app/requirements.txt\n"
    )
    found = read_manifest(str(docker))
    assert [each.specifier for each in found.requirements] == ["==2.6.0"]
    assert not found.notes


def test_a_list_in_a_folder_that_was_copied_is_read(tmp_path: Path) -> None:
    (tmp_path / "reqs").mkdir()
    (tmp_path / "reqs/cuda.txt").write_text("torch==2.6.0\n")
    docker = tmp_path / "Dockerfile"
    for copy in ("COPY . /app", "COPY reqs /app/reqs", "COPY reqs/ /app/reqs/"):
        docker.write_text(f"FROM python:3.11\n{copy}\nRUN pip install -r /app/reqs/cuda.txt\n")
        found = read_manifest(str(docker))
        assert [each.name for each in found.requirements] == ["torch"], copy


def test_nothing_outside_of_the_fence_is_looked_at(tmp_path: Path) -> None:
    _files(tmp_path)
    (tmp_path / "project/pyproject.toml").write_text("")
    files = _files(tmp_path, fence=str(tmp_path / "project/docker"))
    assert files.folders == ("", "..")[: len(files.folders)]
    assert "../.." not in files.folders


def test_a_text_that_is_handed_over_looks_at_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\ndependencies = ["torch"]\n')
    monkeypatch.chdir(tmp_path)
    found = read_held("install.sh", "pip install -e . einops\n")
    assert [each.name for each in found.requirements] == ["einops"]
    assert os.path.exists("pyproject.toml")  # noqa: PTH110 -- it was there to be read
