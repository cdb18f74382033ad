"""A project that hatchling builds names a file by its address only where its table allows it."""

from __future__ import annotations

import pytest

from fadoctor.repair.resolution.hatch_references import PERMISSION, TABLE, may_hold_address

PROJECT = '[build-system]\nbuild-backend = "hatchling.build"\n\n[project]\nname = "lamp"\n'


def test_the_permission_is_written_once() -> None:
    """Regression: the metadata of a whole project failed after a written repair."""
    lines = PROJECT.split("\n")
    assert may_hold_address(lines)
    assert lines[:-1] == [*PROJECT.split("\n")[:-1], "", TABLE, PERMISSION]
    written = list(lines)
    assert may_hold_address(lines)
    assert lines == written


def test_the_ends_of_lines_stay_as_they_are() -> None:
    lines = PROJECT.replace("\n", "\r\n").split("\n")
    assert may_hold_address(lines)
    assert lines[-3:] == [f"{TABLE}\r", f"{PERMISSION}\r", ""]


@pytest.mark.parametrize(
    "text",
    [
        PROJECT.replace("hatchling.build", "setuptools.build_meta"),
        f"{PROJECT}[tool.hatch.metadata]\nallow-direct-references = true\n",
    ],
)
def test_where_addresses_are_allowed_no_line_changes(text: str) -> None:
    lines = text.split("\n")
    assert may_hold_address(lines)
    assert lines == text.split("\n")


def test_a_table_of_the_project_is_left_to_its_owner() -> None:
    text = f"{PROJECT}{TABLE}\nallow-ambiguous-features = true\n"
    lines = text.split("\n")
    assert not may_hold_address(lines)
    assert lines == text.split("\n")
