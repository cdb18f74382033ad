"""Every check of rules: it names file, line and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.compile import compile_rules
from tests.unit.knowledge.matrix.folders import problems, rule_text, table_text, write

if TYPE_CHECKING:
    from pathlib import Path

LOOK_UP = "{r: {table: some-table, os: host.os, version: torch.version}}"


def of_rule(folder: Path, **changes: str) -> list[str]:
    return problems(folder, area__some_rule=rule_text(**changes), matrix__some_table=table_text())


@pytest.mark.parametrize(
    ("changes", "place", "problem"),
    [
        ({"id": "other-rule"}, ":1 at `id`", "must be the file's name, some-rule"),
        ({"area": "gpu"}, ":4 at `area`", "must be the folder's name, area"),
        ({"verified": "maybe"}, ":13 at `verified`", "must be one of source-read, "),
        ({"verified": "reported"}, ":5 at `severity`", "at most a warning"),
        ({"for_each": "[driver]"}, ":14 at `for_each`", "must be different ones of gpu, toolkit"),
        ({"for_each": "[gpu, gpu]"}, ":14 at `for_each`", "must be different ones of gpu, "),
        ({"for_each": "[package, extension]"}, ":14 at `for_each`", "name one of them"),
        ({"affects": "{}"}, ":14 at `affects`", "needs either backends or extension"),
        (
            {"affects": "{backends: [fa2], extension: true}", "for_each": "[extension]"},
            ":14 at `affects`",
            "needs either backends or extension",
        ),
        (
            {"affects": "{extension: true}"},
            ":14 at `affects.extension`",
            "belongs to rules that are judged for each extension",
        ),
        ({"references": "[]"}, ":11 at `references`", "needs a source"),
        (
            {"references": "[{type: BLOG, url: https://e.org}]"},
            ":11 at `references[0].type`",
            "must be one of ADVISORY, ",
        ),
        (
            {"references": "[{type: WEB, url: http://e.org}]"},
            ":11 at `references[0].url`",
            "must be an https link",
        ),
        (
            {"references": "[{type: WEB, url: https://e.org}, {type: FIX, url: https://e.org}]"},
            ":11 at `references`",
            "a source is named twice",
        ),
        ({"refutes": "false"}, ":14 at `refutes`", "belongs to rules with `when` and `symptoms`"),
        (
            {"when": "{log.causes: {contains: no-rule}}"},
            ":7 at `when.log.causes.contains`",
            "there is no rule no-rule",
        ),
        (
            {"when": "{log.causes: {overlaps: [some-rule, no-rule]}}"},
            ":7 at `when.log.causes.overlaps`",
            "there is no rule no-rule",
        ),
        ({"explained_by": "[no-rule]"}, ":14 at `explained_by[0]`", "there is no rule no-rule"),
        ({"rows": "{r: {table: nowhere}}"}, ":14 at `rows.r`", "there is no table 'nowhere'"),
        ({"rows": "{r: {os: host.os}}"}, ":14 at `rows.r`", "there is no table ''"),
        (
            {"rows": "{r: {table: some-table, os: host.os}}"},
            ":14 at `rows.r`",
            "table some-table has the keys os, version",
        ),
        (
            {"rows": "{r: {table: some-table, os: host.o, version: =2.6}}"},
            ":14 at `rows.r.os`",
            "host.o is neither a fact, nor",
        ),
        (
            {"rows": "{torch: {table: some-table, os: host.os, version: =2.6}}"},
            ":14 at `rows.torch`",
            "would hide the facts of torch",
        ),
        ({"let": "{gpu: [host.os]}"}, ":14 at `let.gpu`", "would hide the facts of gpu"),
        ({"let": "{pin: [host.os, host.o]}"}, ":14 at `let.pin[1]`", "host.o is neither a fact"),
        ({"when": "{host.o: linux}"}, ":7 at `when.host.o`", "host.o is neither a fact"),
        ({"when": "{host: linux}"}, ":7 at `when.host`", "host is neither a fact"),
        (
            {"when": "{host.os: {like: x}}"},
            ":7 at `when.host.os.like`",
            "there is no operator like",
        ),
        ({"when": "{host.os: [linux]}"}, ":7 at `when.host.os`", "write {in: [...]}"),
        ({"when": "{host.os: }"}, ":7 at `when.host.os`", "{present: false}"),
        (
            {"when": "{host.os: {present: 'true'}}"},
            ":7 at `when.host.os.present`",
            "must be true or false",
        ),
        (
            {"when": "{host.os: {is: $host.o}}"},
            ":7 at `when.host.os.is`",
            "host.o is neither a fact",
        ),
        ({"when": "{host.os: $pin}"}, ":7 at `when.host.os`", "pin is neither a fact"),
        ({"when": "{any: {host.os: linux}}"}, ":7 at `when.any`", "must be a list of conditions"),
        ({"when": "{any: [host.os]}"}, ":7 at `when.any[0]`", "must be a condition that tests"),
        (
            {"when": "{any: [{host.os: a},\n  {any: [{host.o: b}]}]}"},
            ":8 at `when.any[1].any[0].host.o`",
            "host.o is neither a fact",
        ),
        ({"overruled_by": "{host.o: x}"}, ":14 at `overruled_by.host.o`", "neither a fact"),
        ({"message": "It is {host.o}."}, ":9 at `message`", "host.o is neither a fact"),
        ({"message": "It is {}."}, ":9 at `message`", " is neither a fact"),
        ({"message": "It is {0.__class__}."}, ":9 at `message`", "0.__class__ is neither"),
        ({"when": "{gpu.name: x}"}, ":7 at `when.gpu.name`", "gpu.name is neither a fact"),
        (
            {"rows": LOOK_UP, "when": "{r.drivers: {present: true}}"},
            ":7 at `when.r.drivers`",
            "table some-table has no column drivers",
        ),
        (
            {"rows": LOOK_UP, "when": "{r.driver.major: {present: true}}"},
            ":7 at `when.r.driver.major`",
            "has no column driver.major",
        ),
        ({"when": "{host.os.kernel: x}"}, ":7 at `when.host.os.kernel`", "it has no kernel"),
    ],
)
def test_rules(tmp_path: Path, changes: dict[str, str], place: str, problem: str) -> None:
    [found] = of_rule(tmp_path, **changes)
    assert found.startswith(f"area/some-rule.yaml{place}: ")
    assert problem in found


@pytest.mark.parametrize("stem", ["rule", "a-b-c-d-e-f-g", "Some-Rule", "some--rule", "some_rule"])
def test_ids_are_two_to_six_words(tmp_path: Path, stem: str) -> None:
    write(tmp_path)
    (tmp_path / "area").mkdir()
    (tmp_path / "area" / f"{stem}.yaml").write_text(rule_text(stem))
    [problem] = compile_rules(tmp_path).problems
    assert (problem.key, problem.problem) == ("id", "must be two to six words in kebab-case")


@pytest.mark.parametrize(
    ("fix", "place", "problem"),
    [
        ("id: a, title: '{no}', steps: [{advice: x}]", "fixes[0].title", "no is neither"),
        ("id: a, title: t, when: {no: x}, steps: []", "fixes[0].when.no", "no is neither"),
        ("id: a, title: t, steps: [{}]", "fixes[0].steps[0]", "must be exactly one of install"),
        (
            "id: a, title: t, steps: [{advice: x, setting: y}]",
            "fixes[0].steps[0]",
            "must be exactly one of install",
        ),
        ("id: a, title: t, steps: [{install: 'a=={no}'}]", "fixes[0].steps[0]", "no is neither"),
        ("id: a, title: t, steps: [{system: '{no}'}]", "fixes[0].steps[0]", "no is neither"),
        (
            "id: a, title: t, steps: [{uninstall: a, options: --no-deps}]",
            "fixes[0].steps[0]",
            "options and index belong to install",
        ),
        (
            "id: a, title: t, steps: [{install: a, options: --break-system-packages}]",
            "fixes[0].steps[0].options",
            "must be one of --no-build-isolation, ",
        ),
    ],
)
def test_fixes(tmp_path: Path, fix: str, place: str, problem: str) -> None:
    [found] = of_rule(tmp_path, fixes=f"[{{{fix}}}]")
    assert found.startswith(f"area/some-rule.yaml:14 at `{place}`: ")
    assert problem in found


@pytest.mark.parametrize(
    "changes",
    [
        {"when": "{torch.version.minor: '2', torch.requires.triton: x, env.FLASH_ATTENTION_X: a}"},
        {"when": "{'gpu[0].name': x}"},
        {"when": "{gpu.name: x, gpu.compute_capability.major: '8'}", "for_each": "[gpu]"},
        {"when": "{package.version: {below: '2'}}", "for_each": "[package]"},
        {"when": "{toolkit.version: {below: $torch.cuda}}", "for_each": "[toolkit]"},
        {
            "when": "{extension.needed: {contains: x}, package.loads: false}",
            "for_each": "[extension]",
        },
        {"when": "{extension.jit_for: {contains: $gpu.name}}", "for_each": "[gpu, extension]"},
        {"when": "{r.driver: {below: $best}}", "rows": LOOK_UP, "let": "{best: [r.driver]}"},
        {"references": "[{type: PACKAGE, url: 'pkg:pypi/torch@2.6.0'}]"},
        {"severity": "warning", "verified": "reported"},
        {"explained_by": "[some-rule]"},
    ],
)
def test_what_is_right(tmp_path: Path, changes: dict[str, str]) -> None:
    assert of_rule(tmp_path, **changes) == []


def fix(step: str, **keys: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in keys.items())
    return f"[{{id: a, title: t, steps: [{{{step}}}]{more}}}]"


TWICE = fix("advice: x")[:-1] + ", " + fix("advice: y")[1:]


def slip(reason: str, **changes: str) -> object:
    return pytest.param(changes, id=reason)


@pytest.mark.parametrize(
    "changes",
    [
        slip("a path without a test always holds", when="{host.os: {}}"),
        slip("no branch can hold", when="{any: []}"),
        slip("an empty branch always holds", when="{any: [{}]}"),
        slip("`in` a text is never decided", when="{host.os: {in: linux}}"),
        slip("`overlaps` a text is never decided", when="{torch.libraries: {overlaps: a}}"),
        slip("below what is no version is never decided", when="{host.glibc: {below: new}}"),
        slip("a bad specifier is never decided", when="{host.glibc: {satisfies: about 2}}"),
        slip("a list is equal to no value", when="{host.os: {is: [a, b]}}"),
        slip("null is equal to no value", when="{host.os: {is: }}"),
        slip("a boolean is compared with a text", when="{host.wsl: True}"),
        slip("a text is compared with a boolean", when="{host.os: true}"),
        slip("a text has no major part", when="{host.os.major: x}"),
        slip("a list cannot hold a path", when="{host.os: {in: [$host.libc]}}"),
        slip("names that lead to each other", let="{a: [b], b: [a]}", when="{a: x}"),
        slip(
            "rows that lead to each other",
            rows="{a: {table: some-table, os: b.driver, version: =1},"
            " b: {table: some-table, os: a.driver, version: =1}}",
        ),
        slip("side effects name no fact", fixes=fix("advice: x", side_effects="'{no}'")),
        slip("an index names no fact", fixes=fix("install: a, index: 'https://e.org/{no}'")),
        slip("an index is no https link", fixes=fix("install: a, index: 'http://e.org'")),
        slip("an option poses as a requirement", fixes=fix("install: '--pre'")),
        slip("advice is for no framework", fixes=fix("advice: a, frameworks: [nowhere]")),
        slip("a command is for a framework", fixes=fix("install: a, frameworks: [nowhere]")),
        slip("two fixes share an id", fixes=TWICE),
        slip("a subject beside for_each", for_each="[gpu]", subject="torch"),
        slip("what is not filled has braces", title="On {host.os}"),
    ],
)  # fmt: skip
def test_slips_that_would_decide_a_test(tmp_path: Path, changes: dict[str, str]) -> None:
    assert of_rule(tmp_path, **changes) != []


def test_rules_must_not_explain_each_other(tmp_path: Path) -> None:
    hen = rule_text("a-hen", explained_by="[b-egg]")
    egg = rule_text("b-egg", explained_by="[a-hen]")
    assert problems(tmp_path, area__a_hen=hen, area__b_egg=egg) != []
