"""Environments that are made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.made_once import made_once
from tests.unit.repair.apply.wheels import make_project, make_wheels, pip, tiny

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of wheels: two releases of `moved`; `gone`, `fresh` and `later` in one."""
    return make_wheels(tmp_path_factory.mktemp("wheels") / "wheels")


@pytest.fixture(scope="session")
def pip_project(tmp_path_factory: pytest.TempPathFactory, worker_id: str, wheels: Path) -> Path:
    """Return an environment with pip and two packages, in a project's folder; not to be changed."""

    def make(folder: Path) -> None:
        make_project(folder)
        pip(folder, wheels, "install", "--quiet", "moved==1", "gone")

    return made_once(tmp_path_factory, worker_id, "pip-project", make)


@pytest.fixture(scope="session")
def tiny_project(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Path:
    """Return the same without pip, made in no time."""
    folder = tmp_path_factory.mktemp("tiny") / "project"
    make_project(folder, "--without-pip")
    tiny(folder, wheels, "install", "moved==1", "gone==1")
    return folder
