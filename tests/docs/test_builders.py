"""The pages for those who change fadoctor name files, modules and classes that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md")
# `fadoctor/judging/engine/judge.py`
_PATH = re.compile(r"`((?:fadoctor|rules|tests|docs|tools)/[\w/.-]*)`")
# `fadoctor.model.fact:Known`
_MODULE = re.compile(r"`(fadoctor(?:\.\w+)+)(?::(\w+))?`")


def named(pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    """Return what the pages name, each once."""
    found = {
        match if isinstance(match, tuple) else (match,)
        for page in PAGES
        for match in pattern.findall((ROOT / page).read_text(encoding="utf-8"))
    }
    return sorted(found)


def names_in(file: Path) -> set[str]:
    """Return what a module defines at its top."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case _:
                pass  # an import, a docstring: it defines no name of ours
    return found


@pytest.mark.parametrize("path", [path for [path] in named(_PATH)])
def test_a_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("module", "name"), named(_MODULE))
def test_a_module_exists_and_defines_its_name(module: str, name: str) -> None:
    place = ROOT / module.replace(".", "/")
    file = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
    assert file.exists()
    if name:
        assert name in names_in(file)


def test_every_wing_has_its_row() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "fadoctor").glob("*/__init__.py")}
    assert folders - {"compiled"} == set(re.findall(r"`fadoctor/(\w+)`", page)) & folders


def test_the_glossary_is_sorted_and_has_forty_words() -> None:
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    words = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(words) >= 40
    assert words == sorted(words)
