"""The list of rules, the index of their pages, and the page of tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.judging.engine.suite import RuleFile
from fadoctor.knowledge.matrix.compile import compile_rules
from fadoctor.report import page_markdown, rule_list, table_page
from fadoctor.report.style import Style
from tests.unit.knowledge.matrix.folders import rule_text, table_text, write

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.rule import Knowledge


def compiled(folder: Path) -> tuple[list[RuleFile], Knowledge]:
    asking = rule_text("asking-rule", severity="note", when="{t.driver: {present: true}}")
    rows = 'rows: {t: {table: some-table, os: host.os, version: "=2.7.0"}}\n'
    knowledge = compile_rules(
        write(
            folder,
            area__some_rule=rule_text(title='"Long [b] \\e[31m title"'),
            area__asking_rule=asking.replace("when:", f"{rows}when:"),
            matrix__some_table=table_text(complete="true"),
        )
    ).knowledge
    return [RuleFile(rule, f"rules/{rule.file}", []) for rule in knowledge.rules], knowledge


def test_list_has_a_row_for_each_rule(tmp_path: Path) -> None:
    files, knowledge = compiled(tmp_path)
    assert rule_list.render(files, Style(), knowledge).splitlines() == [
        "id           severity  area  title",
        "asking-rule  note      area  A title",
        "some-rule    error     area  Long [b] ?[31m title",
        f"Rules 7, fadoctor {__version__}.",
    ]
    fetched = msgspec.structs.replace(knowledge, origin="fetched on \x1b[31m2026-12-02")
    lines = rule_list.render(files, Style(), fetched).splitlines()
    assert lines[-1] == f"Rules 7 (fetched on ?[31m2026-12-02), fadoctor {__version__}."
    assert json.loads(rule_list.render_json(files, fetched))["origin"] == fetched.origin


def test_long_titles_are_wrapped_and_never_the_ids(tmp_path: Path) -> None:
    files, knowledge = compiled(tmp_path)
    lines = rule_list.render(files, Style(width=40), knowledge).splitlines()
    assert max(map(len, lines)) <= 40
    assert "some-rule    error     area  Long [b]" in lines


def test_list_as_json_is_ascii(tmp_path: Path) -> None:
    files, knowledge = compiled(tmp_path)
    text = rule_list.render_json(files, knowledge)
    assert text.isascii()
    document = json.loads(text)
    assert "origin" not in document
    assert document["version"] == "7"
    assert [rule["id"] for rule in document["rules"]] == ["asking-rule", "some-rule"]
    assert document["rules"][0]["path"] == "rules/area/asking-rule.yaml"
    assert "\x1b" not in text


def test_index_groups_by_area_and_links(tmp_path: Path) -> None:
    _, knowledge = compiled(tmp_path)
    text = page_markdown.render(rule_list.build_index(knowledge))
    assert "## area\n\n- [`asking-rule`](asking-rule.md) (note): A title\n" in text


def test_page_of_tables(tmp_path: Path) -> None:
    _, knowledge = compiled(tmp_path)
    text = page_markdown.render(table_page.build_page(knowledge))
    assert "## some-table\n\nA table.\n\n- asked by `os` (word), `version` (range)\n" in text
    assert "1 row in [`rules/matrix/some-table.yaml`](../rules/matrix/some-table.yaml)" in text
    assert "without a row: absent" in text
    assert "- used by [`asking-rule`](rules/asking-rule.md)" in text
    assert "- sources:\n    - web: <https://example.org/a>" in text
