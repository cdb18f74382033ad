"""Compiling folders: what comes out, what is refused, and folders on top of the shipped one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.knowledge.matrix.compile import Compiled, compile_rules
from fadoctor.model.errors import RuleDataError
from fadoctor.model.fix import Safety
from fadoctor.model.rule import Affects, Knowledge
from fadoctor.model.verdict import Backend, Dtype
from tests.unit.knowledge.matrix.folders import rule_text, table_text, write

if TYPE_CHECKING:
    from pathlib import Path


def problems(compiled: Compiled, folder: Path) -> list[str]:
    return [str(problem).replace(f"{folder}/", "") for problem in compiled.problems]


def test_rules_tables_and_cases(tmp_path: Path) -> None:
    cases = "\n  - {name: one, facts: {host.os: linux}, expect: {outcome: fail}}"
    folder = write(
        tmp_path,
        area__b_rule=rule_text("b-rule", cases=cases),
        other__a_rule=rule_text("a-rule", area="other"),
        matrix__some_table=table_text(),
        schema__rule="not: [a rule",
    )
    compiled = compile_rules(folder)
    assert problems(compiled, folder) == []
    knowledge = compiled.knowledge
    assert [(rule.id, rule.file) for rule in knowledge.rules] == [
        ("a-rule", "other/a-rule.yaml"),
        ("b-rule", "area/b-rule.yaml"),
    ]
    assert knowledge.version == "7"
    assert knowledge.tables["some-table"].file == "matrix/some-table.yaml"
    assert knowledge.tables["some-table"].rows[0]["driver"] == "525.60.13"
    assert compiled.cases["b-rule"] == [
        {"name": "one", "facts": {"host.os": "linux"}, "expect": {"outcome": "fail"}}
    ]
    assert compiled.cases["a-rule"] == []


def test_single_words_stand_for_lists_of_one(tmp_path: Path) -> None:
    text = rule_text(
        for_each="gpu",
        let="{pin: torch.requires.triton}",
        explained_by="some-rule",
        affects="{backends: [fa2, sdpa-flash]}",
        fixes="[{id: a, title: A, safety: safe, steps: [{install: einops, options: --no-deps}]}]",
    )
    compiled = compile_rules(write(tmp_path, area__some_rule=text))
    assert problems(compiled, tmp_path) == []
    [rule] = compiled.knowledge.rules
    assert (rule.for_each, rule.let) == (("gpu",), {"pin": ("torch.requires.triton",)})
    assert rule.explained_by == ("some-rule",)
    assert rule.affects is not None
    assert rule.affects.backends == (Backend.FA2, Backend.SDPA_FLASH)
    assert (rule.fixes[0].steps[0].install, rule.fixes[0].safety) == (("einops",), Safety.SAFE)


def test_all_stands_for_every_backend(tmp_path: Path) -> None:
    text = rule_text(affects="{backends: all, dtypes: [bf16]}")
    compiled = compile_rules(write(tmp_path, area__some_rule=text))
    assert problems(compiled, tmp_path) == []
    [rule] = compiled.knowledge.rules
    assert rule.affects == Affects(tuple(Backend), (Dtype.BF16,))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{backend: toy, package: torch}", "backend toy is not in `Backend` of"),
        ("{backend: fa2, package: toyattn}", "run `python -m tools.write_packages`"),
    ],
)
def test_a_backend_that_the_program_does_not_know_yet_is_said(
    tmp_path: Path, row: str, problem: str
) -> None:
    text = table_text(
        "backends", keys="{backend: word}", columns="{package: word}", rows=f"[{row}]"
    )
    found = problems(compile_rules(write(tmp_path, matrix__backends=text)), tmp_path)
    assert any(each.startswith("matrix/backends.yaml:") and problem in each for each in found)


def test_the_compiled_form_survives_json(tmp_path: Path) -> None:
    when = "\n  host.os: {in: [linux, windows]}\n  any: [{host.wsl: true}, {gpu.count: 2}]"
    folder = write(tmp_path, area__some_rule=rule_text(when=when), matrix__some_table=table_text())
    knowledge = compile_rules(folder).knowledge
    assert msgspec.json.decode(msgspec.json.encode(knowledge), type=Knowledge) == knowledge


def test_the_digest_changes_with_the_data_and_only_with_them(tmp_path: Path) -> None:
    folder = write(tmp_path, area__some_rule=rule_text())
    first = compile_rules(folder).knowledge.sha256
    write(tmp_path, area__some_rule="# a comment\n" + rule_text())
    assert compile_rules(folder).knowledge.sha256 == first
    write(tmp_path, area__some_rule=rule_text(why="Another reason."))
    assert compile_rules(folder).knowledge.sha256 != first


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"why": ""}, "area/some-rule.yaml:1: Object missing required field `why`"),
        ({"wyh": "x"}, "area/some-rule.yaml:1: Object contains unknown field `wyh`"),
        (
            {"severity": "fatal"},
            "area/some-rule.yaml:5 at `severity`: Invalid enum value 'fatal'",
        ),
        ({"since": "1"}, "area/some-rule.yaml:3 at `since`: Expected `str`, got `int`"),
        ({"when": "linux"}, "area/some-rule.yaml:7 at `when`: Expected `object`, got `str`"),
        (
            {"fixes": "[{id: a, title: b,\n  steps: [{instal: c}]}]"},
            "area/some-rule.yaml:15 at `fixes[0].steps[0]`: Object contains unknown field `instal`",
        ),
        (
            {"affects": "{backends: [fa9]}"},
            "area/some-rule.yaml:14 at `affects.backends[0]`: Invalid enum value 'fa9'",
        ),
        ({"subject": "[a]"}, "area/some-rule.yaml:14 at `subject`: Expected `str`, got `array`"),
        ({"let": "[a]"}, "area/some-rule.yaml:14 at `let`: Expected `object`, got `array`"),
        ({"rows": "{r: [a]}"}, "area/some-rule.yaml:14 at `rows`: Expected `object`, got `array`"),
        ({"when": "&x {host.os: linux}"}, None),
        ({"when": "{host.os: [}"}, None),
    ],
)
def test_shape(tmp_path: Path, changes: dict[str, str], problem: str | None) -> None:
    folder = write(tmp_path, area__some_rule=rule_text(**changes))
    found = problems(compile_rules(folder), folder)
    if problem is None:
        assert [text.startswith("area/some-rule.yaml:7") for text in found] == [True]
    else:
        assert found == [problem]


@pytest.mark.parametrize("fixes", ["3", "true", "[{id: a, title: b, steps: 3}]"])
def test_fixes_that_are_no_list(tmp_path: Path, fixes: str) -> None:
    folder = write(tmp_path, area__some_rule=rule_text(fixes=fixes))
    [problem] = problems(compile_rules(folder), folder)
    assert problem.startswith("area/some-rule.yaml:14 at `fixes")


@pytest.mark.parametrize(
    ("severity", "named"),
    [('"x - at `.².y"', "at `severity`"), ('"x - at `$.why"', "at `severity`")],
)
def test_a_value_cannot_pose_as_a_key_path(tmp_path: Path, severity: str, named: str) -> None:
    folder = write(tmp_path, area__some_rule=rule_text(severity=severity))
    [problem] = problems(compile_rules(folder), folder)
    assert named in problem


def test_one_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        area__a_bad=rule_text("a-bad", why=""),
        area__b_good=rule_text("b-good"),
        area__c_list="- a\n- b\n",
        area__d_empty="",
        matrix__e_bad=table_text("e-bad", rows="3"),
    )
    compiled = compile_rules(folder)
    assert [rule.id for rule in compiled.knowledge.rules] == ["b-good"]
    assert problems(compiled, folder) == [
        "area/a-bad.yaml:1: Object missing required field `why`",
        "area/c-list.yaml:1: must be a mapping",
        "area/d-empty.yaml:1: must be a mapping",
        "matrix/e-bad.yaml:8 at `rows`: Expected `array`, got `int`",
    ]


def test_an_id_that_is_used_twice_names_both_files(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        area__some_rule=rule_text(),
        later__some_rule=rule_text(area="later"),
        matrix__some_table=table_text(),
        matrix__zz_table=table_text("some-table"),
    )
    found = problems(compile_rules(folder), folder)
    assert found == [
        "later/some-rule.yaml:1: some-rule is already defined in area/some-rule.yaml:1",
        "matrix/zz-table.yaml:1: some-table is already defined in matrix/some-table.yaml:1",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"id: \xff\xfe", "cannot be read: 'utf-8' codec"),
        (b"a: b\x00", "not valid YAML"),
        (b"#" * (9 << 20), "is not a readable file of a sane size"),
    ],
)
def test_unreadable_files_hide_no_others(tmp_path: Path, content: bytes, problem: str) -> None:
    folder = write(tmp_path, area__some_rule=rule_text(verified="perhaps"))
    (folder / "area" / "other-rule.yaml").write_bytes(content)
    first, second = sorted(problems(compile_rules(folder), folder))
    assert first.startswith("area/other-rule.yaml")
    assert problem in first
    assert "`verified`" in second


def test_a_folder_and_a_dangling_link_are_no_files(tmp_path: Path) -> None:
    folder = write(tmp_path, area__some_rule=rule_text())
    (folder / "area" / "a-folder.yaml").mkdir()
    [found] = problems(compile_rules(folder), folder)
    assert found == "area/a-folder.yaml: is not a readable file of a sane size"
    (folder / "area" / "a-folder.yaml").rmdir()
    (folder / "area" / "a-link.yaml").symlink_to("nowhere")
    [found] = problems(compile_rules(folder), folder)
    assert found.startswith("area/a-link.yaml: cannot be read")


@pytest.mark.parametrize("name", ["missing", "knowledge.yaml"])
def test_what_is_no_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(RuleDataError, match="is not a folder with rules"):
        compile_rules(write(tmp_path) / name)


@pytest.fixture
def base(tmp_path: Path) -> Knowledge:
    (tmp_path / "base").mkdir()
    folder = write(
        tmp_path / "base",
        area__base_rule=rule_text("base-rule"),
        matrix__some_table=table_text(),
    )
    return compile_rules(folder).knowledge


def own(tmp_path: Path, **texts: str) -> Path:
    (tmp_path / "own").mkdir()
    folder = write(tmp_path / "own", **texts)
    (folder / "knowledge.yaml").unlink()
    return folder


def test_a_folder_on_top_adds_rules_and_rows(tmp_path: Path, base: Knowledge) -> None:
    rows = '\n  - {os: windows, version: "*", driver: "527"}'
    rule = rule_text(
        "own-rule",
        rows="{r: {table: some-table, os: host.os, version: torch.version}}",
        when="{driver.version: {below: $r.driver}}",
        explained_by="[base-rule]",
    )
    folder = own(tmp_path, area__own_rule=rule, matrix__some_table=table_text(rows=rows))
    compiled = compile_rules(folder, base)
    assert problems(compiled, folder) == []
    merged = compiled.knowledge
    assert [each.id for each in merged.rules] == ["base-rule", "own-rule"]
    assert [row["os"] for row in merged.tables["some-table"].rows] == ["linux", "windows"]
    assert merged.version == base.version
    assert merged.sha256 != base.sha256
    assert len(base.tables["some-table"].rows) == 1


def test_a_folder_on_top_cannot_replace_a_rule(tmp_path: Path, base: Knowledge) -> None:
    folder = own(tmp_path, mine__base_rule=rule_text("base-rule", area="mine"))
    assert problems(compile_rules(folder, base), folder) == [
        "mine/base-rule.yaml:1: base-rule is already defined in rules/area/base-rule.yaml:1"
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": "{system: word}", "rows": "[{system: linux, driver: '1'}]"},
        {"columns": "{driver: integer}", "rows": "[{os: a, version: '*', driver: 1}]"},
        {"keys": "{os: word, version: word}", "rows": "[{os: a, version: weird}]"},
    ],
)
def test_rows_on_top_must_have_the_form_of_the_table(
    tmp_path: Path, base: Knowledge, changes: dict[str, str]
) -> None:
    folder = own(tmp_path, matrix__some_table=table_text(**changes))
    found = problems(compile_rules(folder, base), folder)
    assert found
    assert all(text.startswith("matrix/some-table.yaml:") for text in found)
    assert all("rules/matrix/some-table.yaml" in text for text in found)


def test_a_row_on_top_cannot_replace_a_row(tmp_path: Path, base: Knowledge) -> None:
    rows = "\n  - {os: a, version: '*'}\n  - {os: linux, version: '>=2.6,<2.8', driver: '1'}"
    folder = own(tmp_path, matrix__some_table=table_text(rows=rows))
    [found] = problems(compile_rules(folder, base), folder)
    assert found.startswith("matrix/some-table.yaml:10 at `rows[1]`")
    assert "rules/matrix/some-table.yaml:9" in found


@pytest.mark.parametrize("name", ["packages", "backends"])
def test_rows_that_the_program_has_as_literals_take_no_others(
    tmp_path: Path, base: Knowledge, name: str
) -> None:
    folder = own(tmp_path, **{f"matrix__{name}": table_text(name)})
    [found] = problems(compile_rules(folder, base), folder)
    assert found.startswith(f"matrix/{name}.yaml:1 at `table`: table {name} is part of fadoctor")


def test_a_folder_whose_rules_are_not_in_areas_is_refused(tmp_path: Path, base: Knowledge) -> None:
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "own-rule.yaml").write_text(rule_text("own-rule"))
    with pytest.raises(RuleDataError):
        compile_rules(tmp_path / "flat", base)


def test_a_retired_id_leads_to_a_rule_and_is_not_given_again(tmp_path: Path) -> None:
    folder = write(tmp_path, area__some_rule=rule_text("some-rule"))
    path = folder / "knowledge.yaml"
    path.write_text('version: "7"\nretired:\n  old-rule: some-rule\n')
    compiled = compile_rules(folder)
    assert problems(compiled, folder) == []
    assert compiled.knowledge.current(("old-rule", "other")) == ("some-rule", "other")
    path.write_text('version: "7"\nretired:\n  some-rule: gone\n')
    assert problems(compile_rules(folder), folder) == [
        "knowledge.yaml:3 at `retired.some-rule`: some-rule is retired, and a rule is called so",
        "knowledge.yaml:3 at `retired.some-rule`: there is no rule gone",
    ]
