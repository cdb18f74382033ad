"""Whose an environment is, and whether it may be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.environment import Target
from fadoctor.sources.targets.project import must_stay, project_tool
from tests.unit.judging.engine.builders import environment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("lock", "prefix", "tool"),
    [
        ("uv.lock", ".venv", "uv-project"),
        ("poetry.lock", ".venv", "poetry"),
        ("pdm.lock", ".venv", "pdm"),
        ("pixi.lock", ".pixi/envs/default", "pixi"),
        ("pixi.lock", ".venv", ""),
        ("uv.lock", "deep/er/.venv", ""),
        ("other.lock", ".venv", ""),
    ],
)
def test_lock_files(tmp_path: Path, lock: str, prefix: str, tool: str) -> None:
    (tmp_path / lock).write_text("")
    target = Target("environment", "x", "x", roots={"prefix": str(tmp_path / prefix)})
    assert project_tool(target) == tool


def test_a_tree_without_prefix_has_no_project() -> None:
    assert project_tool(Target("site-packages", "x", "x")) == ""


@pytest.mark.parametrize(("managed", "stays"), [(True, True), (False, False), (None, False)])
def test_the_systems_python_stays(tmp_path: Path, managed: bool | None, stays: bool) -> None:  # noqa: FBT001
    facts = environment({"python.externally_managed": managed})
    target = Target("environment", "x", "x", site=(str(tmp_path),))
    assert must_stay(msgspec.structs.replace(facts, target=target)) is stays
