"""Folders of programs that keep a Python: the right one is read, and none of them is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import TargetError
from fadoctor.sources.targets.discover import TargetRequest
from tests.unit.sources.targets.made_environments import find, make_env, never

if TYPE_CHECKING:
    from pathlib import Path


def embedded(folder: Path) -> Path:
    """Make an embedded Python of Windows."""
    (folder / "Lib" / "site-packages").mkdir(parents=True)
    for name in ("python.exe", "python312._pth", "python312.dll"):
        (folder / name).touch(mode=0o755)
    return folder


@pytest.mark.parametrize("named", ["portable", "portable/ComfyUI", "portable/python_embeded"])
def test_a_portable_comfyui(tmp_path: Path, named: str) -> None:
    python = embedded(tmp_path / "portable" / "python_embeded")
    (tmp_path / "portable" / "ComfyUI").mkdir()
    target = find(tmp_path, TargetRequest(python=named, reads_only=True))
    assert target.python == str(python / "python.exe")
    assert target.site == (str(python / "Lib" / "site-packages"),)
    assert target.roots["prefix"] == str(python)
    assert not target.may_run


@pytest.mark.parametrize(
    "place", ["venv", ".venv", "env", "system/python", "installer_files/env", "python", "app/env"]
)
def test_other_programs(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "program" / place
    if place.endswith("python"):
        embedded(folder)
    else:
        make_env(folder)
    target = find(tmp_path, TargetRequest(python="program"), run=never)
    assert target.roots["prefix"] == str(folder)
    assert not target.may_run
    assert any("was read, and not run" in note for note in target.notes)


def test_of_several_the_first_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    embedded(tmp_path / "portable" / "python_embeded")
    make_env(tmp_path / "portable" / "venv")
    target = find(tmp_path, TargetRequest(python="portable"), run=never)
    assert target.roots["prefix"].endswith("python_embeded")
    assert any("venv is another Python" in note for note in target.notes)


def test_a_folder_without_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "program" / "models").mkdir(parents=True)
    with pytest.raises(TargetError, match="not an environment"):
        find(tmp_path, TargetRequest(python="program"), run=never)


def test_a_python_beside_the_program(tmp_path: Path) -> None:
    python = embedded(tmp_path / "package" / "python")
    (tmp_path / "package" / "ComfyUI").mkdir()
    target = find(tmp_path, TargetRequest(python="package/ComfyUI", reads_only=True))
    assert target.roots["prefix"] == str(python)


@pytest.mark.parametrize(
    ("named", "shelf"),
    [("sm", "sm/Data/Packages"), ("sm/Data", "sm/Data/Packages"), ("p", "p/api")],
)
def test_a_manager_of_programs_names_them(tmp_path: Path, named: str, shelf: str) -> None:
    make_env(tmp_path / shelf / "comfy" / "venv")
    (tmp_path / shelf / "models").mkdir()
    with pytest.raises(TargetError, match=r"name one: \S+comfy$"):
        find(tmp_path, TargetRequest(python=named), run=never)
