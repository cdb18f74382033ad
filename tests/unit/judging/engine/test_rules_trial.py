"""A release stands in for what was shipped only where it compiles, fits, and its cases come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.engine.rules_trial import judge
from fadoctor.knowledge.matrix.compile import compile_rules
from fadoctor.knowledge.updates import ReleaseError
from tests.unit.knowledge.matrix.folders import rule_text, table_text, write

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.rule import Knowledge

CASES = """
  - {name: here, facts: {host.os: linux}, expect: {outcome: fail}}
  - {name: there, facts: {host.os: windows}, expect: {outcome: pass}}
  - {name: nowhere, unknown: [host.os], expect: {outcome: unknown}}"""


@pytest.fixture
def shipped(tmp_path: Path) -> Knowledge:
    folder = tmp_path / "shipped"
    folder.mkdir()
    write(folder, area__some_rule=rule_text(cases=CASES), matrix__some_table=table_text())
    return compile_rules(folder).knowledge


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """Return a release with a rule more; its version is what `write` gives."""
    folder = tmp_path / "newer"
    folder.mkdir()
    return write(
        folder,
        area__some_rule=rule_text(cases=CASES),
        area__other_rule=rule_text("other-rule", cases=CASES),
        matrix__some_table=table_text(),
    )


def refused(folder: Path, shipped: Knowledge) -> str:
    with pytest.raises(ReleaseError) as caught:
        judge(folder, "7", shipped, {})
    assert str(folder) not in str(caught.value)
    return str(caught.value)


def test_one_that_is_right_is_counted(newer: Path, shipped: Knowledge) -> None:
    found = judge(newer, "7", shipped, {})
    assert (found.rules, found.tables, found.cases) == (2, 1, 6)


def test_one_that_does_not_compile_is_refused_with_its_place(
    newer: Path, shipped: Knowledge
) -> None:
    write(newer, area__other_rule=rule_text("other-rule", when="{no.fact: x}", cases=CASES))
    assert "area/other-rule.yaml:7 at `when.no.fact`" in refused(newer, shipped)
    write(newer, area__other_rule=rule_text("other-rule", new_key="1", cases=CASES))
    assert "a newer fadoctor may read them" in refused(newer, shipped)
    write(newer, area__other_rule="!!python/object/apply:os.system [id]")
    assert refused(newer, shipped).startswith("these rules do not fit")


def test_one_whose_own_cases_fail_is_refused(newer: Path, shipped: Knowledge) -> None:
    wrong = CASES.replace("windows}, expect: {outcome: pass}", "windows}, expect: {outcome: fail}")
    write(newer, area__other_rule=rule_text("other-rule", cases=wrong))
    said = refused(newer, shipped)
    assert said.startswith("their own cases fail here: rules/area/other-rule.yaml: there")
    write(newer, area__other_rule=rule_text("other-rule"))
    assert "a case that fails is missing (and 2 more)" in refused(newer, shipped)


def test_one_that_lost_what_is_asked_for_is_refused(newer: Path, shipped: Knowledge) -> None:
    changes = {
        "the table some-table is missing": None,
        "the table some-table has other keys": table_text(
            keys="{os: word}", rows="[{os: linux, driver: 525.60.13}]"
        ),
        "the table some-table has no names": table_text(
            columns="{driver: version, size: integer, known: boolean, by: rule, note2: text}"
        ),
    }
    for said, text in changes.items():
        path = newer / "matrix" / "some-table.yaml"
        path.unlink()
        if text is not None:
            path.write_text(text)
        else:
            write(newer, matrix__other_table=table_text("other-table"))
        assert said in refused(newer, shipped)
        path.write_text(table_text())
    (newer / "area" / "some-rule.yaml").unlink()
    assert "the rule some-rule is neither there nor retired" in refused(newer, shipped)
    (newer / "knowledge.yaml").write_text('version: "7"\nretired: {some-rule: other-rule}\n')
    assert judge(newer, "7", shipped, {}).rules == 1


def test_tables_that_are_compiled_apart_count_too(newer: Path, shipped: Knowledge) -> None:
    large = msgspec.structs.replace(shipped.tables["some-table"], table="large-table", apart=True)
    with pytest.raises(ReleaseError, match="the table large-table is missing"):
        judge(newer, "7", shipped, {"large-table": large})


def test_the_version_outside_is_the_version_inside(newer: Path, shipped: Knowledge) -> None:
    with pytest.raises(ReleaseError, match="the archive says 8, its rules 7"):
        judge(newer, "8", shipped, {})
