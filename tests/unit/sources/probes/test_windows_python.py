"""What files tell of a Python of Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.sources.probes.windows_python import (
    is_embedded,
    program_folder,
    windows_python_facts,
)
from fadoctor.sources.probes.world import World
from tests.unit.sources.probes.dist_info import no_process, put

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.sources.probes.world import Facts


def read(root: Path, prefix: str, os: str = "windows") -> Facts:
    """Return the facts of a Python below a root."""
    folder = f"{root}/{prefix}"
    target = Target("environment", "x", "y", f"{folder}/python.exe", (), {"prefix": folder}, True)
    return windows_python_facts(World(target, {}, no_process, os, root))


@pytest.mark.parametrize("include", ["Include", "include"])
def test_a_full_installation(tmp_path: Path, include: str) -> None:
    for name in ("python.exe", f"{include}/Python.h", "libs/python312.lib", "python312.dll"):
        put(tmp_path / "C:" / "Python312" / name)
    found = read(tmp_path, "C:/Python312")
    library = found["python.import_library"]
    assert isinstance(library, Known)
    assert str(library.value).endswith("libs/python312.lib")
    assert found["python.embedded"] == Known(False, found["python.embedded"].source)
    assert "python.headers" not in found


def test_an_embedded_one(tmp_path: Path) -> None:
    for name in ("python.exe", "python312._pth", "python312.zip"):
        put(tmp_path / "C:" / "p" / name)
    assert is_embedded(tmp_path / "C:" / "p")
    found = read(tmp_path, "C:/p")
    assert isinstance(found["python.import_library"], Absent)
    assert isinstance(found["python.headers"], Absent)
    assert found["python.embedded"] == Known(True, found["python.embedded"].source)


def test_a_virtual_environment_has_what_its_base_has(tmp_path: Path) -> None:
    put(tmp_path / "C:" / "v" / "pyvenv.cfg", "home = C:\\Python312\nversion = 3.12.1\n")
    put(tmp_path / "C:" / "Python312" / "python.exe")
    put(tmp_path / "C:" / "Python312" / "libs" / "python312.lib")
    assert isinstance(read(tmp_path, "C:/v")["python.import_library"], Known)


def test_a_base_that_cannot_be_seen_is_unknown(tmp_path: Path) -> None:
    put(tmp_path / "C:" / "v" / "pyvenv.cfg", "home = C:\\gone\nversion = 3.12.1\n")
    assert isinstance(read(tmp_path, "C:/v")["python.import_library"], Unknown)
    put(tmp_path / "C:" / "w" / "pyvenv.cfg", "version = 3.12.1\n")
    assert isinstance(read(tmp_path, "C:/w")["python.embedded"], Unknown)


def test_other_systems_have_none(tmp_path: Path) -> None:
    assert {type(fact) for fact in read(tmp_path, "x", "linux").values()} == {Absent}


def test_the_program_that_runs(tmp_path: Path) -> None:
    target = Target("environment", "x", "y", "/C:/Python312/python.exe", (), {}, True)
    world = World(target, {}, no_process, "windows", tmp_path)
    assert program_folder(world) == "/C:/Python312"
