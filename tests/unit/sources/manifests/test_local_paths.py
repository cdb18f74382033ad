"""Paths beside a file are no names of packages: they are noted, and the rest is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.read import read_manifest
from fadoctor.sources.manifests.requirement_text import is_local

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = (".", ".[dev]", "./server[all]", ".[train,eval]", "tests/utils", "../lib", "~/x", "..")


@pytest.mark.parametrize("path", LOCAL)
def test_it_is_a_path(path: str) -> None:
    assert is_local(path)


@pytest.mark.parametrize("name", ["torch", "torch[opt]", "torch==2.6.0", "a.b", "a @ ./b", ""])
def test_it_is_a_name(name: str) -> None:
    assert not is_local(name)


@pytest.mark.parametrize("path", LOCAL)
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("Dockerfile", 'FROM scratch\nRUN pip install -e "{}" torch==2.6.0\n'),
        ("install.sh", "pip install {} torch==2.6.0\n"),
        ("requirements.txt", "{}\ntorch==2.6.0\n"),
    ],
)
def test_what_else_is_installed_is_read(tmp_path: Path, file: str, text: str, path: str) -> None:
    there = tmp_path / file
    there.write_text(text.format(path))
    found = read_manifest(str(there))
    assert [each.name for each in found.requirements] == ["torch"]
    assert any("the contents of " in note for note in found.notes)
