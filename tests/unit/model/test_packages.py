"""What a package is stands in one table: the module is made of it, and no other spells names."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.model import packages
from fadoctor.model.packages import (
    BACKENDS,
    COMPANIONS,
    PACKAGES,
    PARTLY,
    RELEASE_TABLES,
    RELEASES,
    SETUPS,
    TORCH,
    package_of,
)
from fadoctor.model.verdict import Backend
from tests.shipped import compiled
from tools.write_packages import BEGIN, MODULE, main, renewed, written

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
CODE = ROOT / "fadoctor"
NAMES = {*PACKAGES, *(name for names in PACKAGES.values() for name in names), *COMPANIONS} - {TORCH}
"""torch is what everything is about; it is also the name of columns, folders and modules."""

OF_ONE_PROGRAM = ("sources/configs/", "sources/pasted/")
"""Readers of one program's own files, commands and reports: they name what that program writes."""

MOST = 25
"""Modules that spell names of packages, readers of one program's files and children included."""

ALLOWED = {
    "model/packages.py": "it is made of the table",
    "model/verdict.py": "names of backends, which two packages share",
    "knowledge/matrix/wheels.py": "the name in the tables of flash-attn's wheels",
    "proof/smoke/imports.py": "two distributions of one import name, and what of it each brings",
    "sources/probes/__init__.py": "the name of a probe",
    "syntax/identities.py": "words that are no user's name",
    "judging/explain/recognise/wordings.py": "an English word",
}
"""Modules that may spell a package's name, and why it is no knowledge about packages."""


def spelled(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each literal that is a package's name."""
    tree = ast.parse(text)
    said = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in NAMES and id(node) not in said:
            yield node.lineno, str(node.value)


def is_of_one_program(name: str) -> bool:
    """Return whether a module may spell names by its place: a script of a child shares no code."""
    return name.startswith(OF_ONE_PROGRAM) or "/child/" in name


def test_a_literal_is_found_and_a_docstring_is_not() -> None:
    text = '"""triton"""\nORDER = ("triton", "torch", "vllm")\ncases = {"flash-attn": 1}\n'
    assert [*spelled(text)] == [(2, "triton"), (2, "vllm"), (3, "flash-attn")]
    assert not [*spelled("from fadoctor.model.packages import TRITON\nfacts['triton.version']\n")]


@pytest.mark.long
def test_no_other_module_spells_the_name_of_a_package() -> None:
    found = {}
    for file in sorted(CODE.rglob("*.py")):
        name = file.relative_to(CODE).as_posix()
        if not is_of_one_program(name) and (hits := [*spelled(file.read_text("utf-8"))]):
            found[name] = hits
    advice = "take it from fadoctor.model.packages, by a column of rules/matrix/packages.yaml"
    assert {name: hits for name, hits in found.items() if name not in ALLOWED} == {}, advice
    assert set(ALLOWED) - set(found) == set(), "these spell none: leave them out of ALLOWED"


@pytest.mark.long
def test_few_modules_spell_any_name_wherever_they_are() -> None:
    files = [file for file in CODE.rglob("*.py") if [*spelled(file.read_text("utf-8"))]]
    assert len(files) <= MOST, sorted(file.relative_to(CODE).as_posix() for file in files)
    assert all(ALLOWED.values())


def test_the_module_is_made_of_the_tables() -> None:
    module = (ROOT / MODULE).read_text("utf-8")
    again = "write it again: python -m tools.write_packages"
    assert renewed(module, written(ROOT / "rules")) == module, again


def test_what_is_stale_is_said_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / MODULE).parent.mkdir(parents=True)
    module = (ROOT / MODULE).read_text("utf-8")
    (tmp_path / MODULE).write_text(renewed(module, "OLD = 1\n"), "utf-8")
    (tmp_path / "rules").symlink_to(ROOT / "rules")
    asked = ["--root", str(tmp_path)]
    assert main([*asked, "--check"]) == 1
    assert "is stale" in capsys.readouterr().err
    assert main(asked) == 0
    assert (tmp_path / MODULE).read_text("utf-8") == module


def test_a_module_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="has lost one of the lines"):
        renewed(BEGIN, "")


def test_backends_are_those_of_verdicts_and_their_packages_are_known() -> None:
    assert set(BACKENDS) == {each.value for each in Backend}
    assert set(BACKENDS.values()) <= set(PACKAGES)
    assert {*packages.MAIN, *packages.PREFERRED, *packages.CALLED} <= set(BACKENDS)


def test_tables_and_columns_that_are_named_exist() -> None:
    tables = compiled().knowledge.tables
    for table in (*RELEASE_TABLES.values(), *SETUPS.values(), packages.FRAMEWORK_TABLE):
        assert table in tables
    for table, columns in (*RELEASES.values(), *PARTLY.values()):
        assert set(columns) <= set(tables[table].columns)


def test_every_column_is_explained() -> None:
    table = compiled().knowledge.tables["packages"]
    page = (ROOT / "docs" / "rule-format.md").read_text("utf-8").partition("### Packages")[2]
    assert [name for name in (*table.keys, *table.columns) if f"`{name}`" not in page] == []


def test_a_distribution_belongs_to_one_package() -> None:
    names = [name for each in PACKAGES.values() for name in each]
    assert len(names) == len(set(names))
    assert package_of("pytorch-triton") == "triton"
    assert package_of("left-pad", "?") == "?"
