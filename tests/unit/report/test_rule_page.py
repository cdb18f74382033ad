"""The page of a rule: its sections, its words, and that texts of anybody's rules do no harm."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.suite import RuleFile, load_suite
from fadoctor.knowledge.matrix.compile import compile_rules
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.report import page_markdown, page_text
from fadoctor.report.rule_page import build_page, render_json
from fadoctor.report.style import Style
from tests.unit.knowledge.matrix.folders import rule_text, write

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.rule import Knowledge
    from fadoctor.report.page import Page

TABLE = """\
table: floors
doc: Floors.
keys: {os: word}
columns: {driver: version}
references:
  - {type: WEB, url: https://example.org/a}
verified: reproduced
rows:
  - {os: linux, driver: 525.60.13}
"""

FULL = """\
id: driver-behind
title: A driver that is behind
since: 0.2.0
area: area
severity: warning
confidence: medium
subject: torch
affects: {backends: [fa2, triton], dtypes: [bf16]}
rows: {floor: {table: floors, os: host.os}}
let: {wanted: [torch.requires.driver, floor.driver]}
when:
  driver.version: {at_least: "1", below: $wanted}
  any:
    - {host.os: linux}
    - host.wsl: true
      driver.library: {present: false}
overruled_by: {driver.forward_compat: true}
explained_by: [some-rule]
message: Driver {driver.version} is older than {floor.driver}.
why: Old drivers load nothing new.
fixes:
  - id: newer-driver
    title: Install a newer driver
    when: {host.os: {in: [linux, windows]}}
    side_effects: The machine restarts.
    steps:
      - system: apt install driver
      - advice: Restart.
  - id: other-torch
    title: Install a torch that is content with it
    safety: safe
    steps:
      - install: [torch==2.6.0, triton]
        options: --no-deps
        index: https://example.org/whl
references:
  - {type: WEB, url: https://example.org/a, note: a table, retrieved: 2026-01-02}
  - {type: PACKAGE, url: pkg:pypi/torch@2.6.0}
verified: reproduced
cases:
  - name: one behind
    facts: {host.os: linux, driver.version: "470.1"}
    expect: {outcome: fail}
  - name: a new one
    facts: {host.os: linux, driver.version: "580.1"}
    expect: {outcome: pass}
"""

MARKDOWN = """\
# A driver that is behind

For example: Driver 470.1 is older than 525.60.13.

## What to do

The best one first.

### Install a newer driver

```sh
apt install driver
```

- Restart.
- offered only where:
    - `host.os` is one of `linux`, `windows`
- side effects: The machine restarts.

### Install a torch that is content with it

```sh
pip install --no-deps --index-url https://example.org/whl torch==2.6.0 triton
```

- safe: what worked before keeps working

## How to check

`fadoctor check` names it with its evidence; `fadoctor facts` prints everything that was read.

## Why

Old drivers load nothing new.

## A wrong and a right example

- wrong: one behind
    - `driver.version` is `470.1`
    - `host.os` is `linux`
- right: a new one
    - `driver.version` is `580.1`

## When it is found

It is found where all of this holds:

- `driver.version` is at least `1` and is below `wanted` - NVIDIA driver version; Absent on a Jetson
- any of:
    - `host.os` is `linux` - linux, windows or macos
    - all of:
        - `host.wsl` is `true` - running under the Windows Subsystem for Linux
        - `driver.library` is not there - path of libcuda.so.1 as the loader finds it

Names in these conditions:

- `floor`: the row of table [floors](../matrix.md#floors) with `os = host.os`
- `wanted`: the first that is there of `torch.requires.driver`, `floor.driver`

Evidence beats metadata: it is not found where all of this holds:

- `driver.forward_compat` is `true` - a cuda-compat libcuda is the one the loader finds

Its own cases say the same by example:

- found: one behind
- not found: a new one

## Related

- reported as a consequence if found together with [`some-rule`](some-rule.md)

## Sources

`driver-behind`: warning, confidence medium, area area, about the package torch, since fadoctor \
0.2.0. It decides the verdicts of `fa2`, `triton` in `bf16`.

- web: <https://example.org/a> (a table; read 2026-01-02)
- package: `pkg:pypi/torch@2.6.0`

How it is known: reproduced by running it. Defined in \
[`rules/area/driver-behind.yaml`](../../rules/area/driver-behind.yaml).
"""


def files_of(folder: Path, **texts: str) -> tuple[dict[str, RuleFile], Knowledge]:
    compiled = compile_rules(write(folder, **texts))
    assert [str(problem) for problem in compiled.problems] == []
    files = {
        rule.id: RuleFile(rule, f"rules/{rule.file}", compiled.cases[rule.id])
        for rule in compiled.knowledge.rules
    }
    return files, compiled.knowledge


def page(folder: Path, rule_id: str, **texts: str) -> Page:
    files, knowledge = files_of(folder, **texts)
    return build_page(rule_id, files, knowledge)


def linked_markdown(folder: Path, rule_id: str, **texts: str) -> str:
    files, knowledge = files_of(folder, **texts)
    return page_markdown.render(build_page(rule_id, files, knowledge, linked=True))


@pytest.fixture
def full(tmp_path: Path) -> dict[str, str]:
    return {
        "area__driver_behind": FULL,
        "area__some_rule": rule_text(),
        "matrix__floors": TABLE,
    }


def test_page_as_markdown(tmp_path: Path, full: dict[str, str]) -> None:
    assert linked_markdown(tmp_path, "driver-behind", **full) == MARKDOWN


def test_the_cause_names_what_it_explains(tmp_path: Path, full: dict[str, str]) -> None:
    text = linked_markdown(tmp_path, "some-rule", **full)
    assert "- explains [`driver-behind`](driver-behind.md)" in text


def test_a_page_that_stands_nowhere_links_only_to_the_web(
    tmp_path: Path, full: dict[str, str]
) -> None:
    text = page_markdown.render(page(tmp_path, "driver-behind", **full))
    assert "](" not in text
    assert "<https://example.org/a>" in text


def test_page_for_a_terminal(tmp_path: Path, full: dict[str, str]) -> None:
    text = page_text.render(page(tmp_path, "driver-behind", **full), Style(width=60))
    lines = text.splitlines()
    assert lines[0] == "A driver that is behind"
    assert "Install a newer driver" in lines
    assert "    apt install driver" in lines
    assert lines[lines.index("Why") - 1] == ""
    assert max(map(len, lines)) <= 60
    assert "\x1b" not in text


def test_a_link_stays_whole_on_a_narrow_terminal(tmp_path: Path) -> None:
    url = f"https://example.org/{'long/' * 20}"
    rule = rule_text(references=f"[{{type: WEB, url: '{url}'}}]")
    text = page_text.render(page(tmp_path, "some-rule", area__some_rule=rule), Style(width=40))
    assert f"    {url}" in text.splitlines()


def test_a_page_shows_no_fragments_of_patterns(tmp_path: Path) -> None:
    rule = rule_text(
        symptoms="[{anchor: undefined symbol, near: flash_attn, absent: [vllm], message: it broke},"
        f"{{anchor: undefined symbol, near: {'a' * 99}}}]"
    )
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    for fragment in ("undefined symbol", "flash_attn", "vllm", "aaa", "without"):
        assert fragment not in text


def test_other_messages_stand_below_and_none_twice(tmp_path: Path) -> None:
    cases = """
  - {name: a, log: "OSError: lib one is gone\\nmore\\n", expect: {outcome: fail}}
  - {name: b, log: "OSError: lib two is gone\\n", expect: {outcome: fail}}
  - {name: c, log: "oserror: LIB one is gone\\n", expect: {outcome: fail}}
  - {name: near, log: "OSError: lib one is here\\n", expect: {outcome: pass}}"""
    symptoms = (
        "[{anchor: is gone, pattern: 'one is gone', message: one},"
        " {anchor: is gone, pattern: 'two is gone', message: two}]"
    )
    rule = rule_text(when="{}", message="It.", symptoms=symptoms, cases=cases)
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "## OSError: lib one is gone\n" in text
    assert "## Other forms of the message\n\n- `OSError: lib two is gone`\n    - two\n" in text
    assert "## A message of something else\n\n- near: `OSError: lib one is here`\n" in text


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    cases = f"""
  - {{name: a, log: "it is gone {"x" * 900}", expect: {{outcome: fail}}}}"""
    rule = rule_text(when="{}", message="It.", symptoms="[{anchor: is gone}]", cases=cases)
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "xxx..." in text
    assert "x" * 401 not in text


def test_a_command_with_a_hole_is_no_command(tmp_path: Path) -> None:
    steps = "{install: ['torch=={torch.version}']}, {install: ['triton>=3', numpy]}"
    rule = rule_text(fixes=f"[{{id: a-fix, title: Mend, steps: [{steps}]}}]")
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "```sh\npip install 'triton>=3' numpy\n```\n\n- install `torch=={torch.version}`" in text


def test_a_rule_that_shows_only_in_logs_has_its_example_from_one(tmp_path: Path) -> None:
    rule = rule_text(
        when="{}",
        message="A symbol is missing.",
        symptoms="[{anchor: 'undefined symbol', pattern: 'undefined symbol: (?P<symbol>[a-z]{3})',"
        " message: 'nothing provides {symbol}'}]",
        cases='[{name: a, log: "ImportError\\n  x.so: undefined symbol: abc\\n",\n'
        "  expect: {outcome: fail}}]",
    )
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "For example: nothing provides abc\n" in text
    assert "## x.so: undefined symbol: abc\n\nFor example" in text
    assert "Only a text shows it" in text
    assert "It is found where" not in text


def test_a_message_of_something_else_stands_beside_those_of_a_rule_about_logs(
    tmp_path: Path,
) -> None:
    rule = rule_text(
        when="{}",
        message="It broke.",
        symptoms="[{anchor: it broke}]",
        cases='[{name: a, log: "it broke", expect: {outcome: fail}},\n'
        '  {name: a neighbour, log: "one\\nit bent\\n", expect: {outcome: pass}}]',
    )
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "## A message of something else\n\n- a neighbour: `it bent`\n" in text
    assert "## it broke\n\nFor example: A title\n" in text


def test_the_right_example_is_the_one_with_the_fewest_changes(tmp_path: Path) -> None:
    cases = """
  - name: wrong
    facts: {host.os: linux, host.kernel: "6.1", host.wsl: true}
    expect: {outcome: fail}
  - {name: far, facts: {host.os: macos, host.machine: arm64}, expect: {outcome: pass}}
  - {name: near, facts: {host.os: null, host.wsl: true}, expect: {outcome: not_applicable}}
  - {name: open, facts: {host.kernel: "6.1"}, unknown: [host.os], expect: {outcome: pass}}"""
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule_text(cases=cases)))
    # The kernel is not there either, but no condition asks for it.
    assert "- right: near\n    - `host.os` is not there\n\n" in text
    wrong = ("`host.os` is `linux`", "`host.kernel` is `6.1`", "`host.wsl` is `true`")
    assert "".join(("- wrong: wrong\n", *(f"    - {each}\n" for each in wrong))) in text


def test_an_example_shows_the_difference_first_and_only_some_facts(tmp_path: Path) -> None:
    facts = ", ".join(f"env.A{number}: x" for number in range(9))
    cases = f"""
  - {{name: wrong, facts: {{{facts}, host.os: linux}}, expect: {{outcome: fail}}}}
  - {{name: right, facts: {{{facts}, host.os: macos}}, expect: {{outcome: pass}}}}"""
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule_text(cases=cases)))
    assert "- wrong: wrong\n    - `host.os` is `linux`\n    - `env.A0` is `x`\n" in text
    assert "  - and 2 more facts\n- right: right\n    - `host.os` is `macos`\n" in text


def test_a_rule_without_fix_and_cases_says_so(tmp_path: Path) -> None:
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule_text()))
    assert "There is no known repair" in text
    assert "It is {host.os}." in text
    assert "by example" not in text


def test_for_each_names_the_subject_and_what_its_facts_mean(tmp_path: Path) -> None:
    rule = rule_text(for_each="[gpu]", when="{gpu.visible: true}", message="x")
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "area area, for each GPU, since" in text
    assert "`gpu.visible` is `true` - CUDA_VISIBLE_DEVICES" in text


def test_facts_of_any_package_and_of_configurations(tmp_path: Path) -> None:
    rule = rule_text(
        for_each="[package]",
        when="{package.version: {below: '2'}, config.dtype: bf16, torch.version.minor: '2.6'}",
        message="x",
    )
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "`package.version` is below `2` - version of the distribution" in text
    assert "by what a configuration asks for: bf16, fp16, fp32" in text
    assert "`torch.version.minor` is `2.6` - torch: version of the distribution" in text


def test_a_column_of_a_row_has_no_meaning_of_its_own(tmp_path: Path) -> None:
    rule = rule_text(
        rows="{f: {table: floors, os: host.os}}", when="{f.driver: {not_in: ['1', '2']}}"
    )
    made = page(tmp_path, "some-rule", area__some_rule=rule, matrix__floors=TABLE)
    assert "- `f.driver` is not one of `1`, `2`\n" in page_markdown.render(made)


def test_steps_in_words(tmp_path: Path) -> None:
    steps = "{uninstall: triton}, {set: A=1}, {unset: [B, C]}, {setting: x=1}"
    rule = rule_text(fixes=f"[{{id: a-fix, title: Mend, steps: [{steps}]}}]")
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    shown = ["set `A=1`", "unset `B` `C`", "setting: `x=1`"]
    assert "\n".join(f"- {step}" for step in shown) in text
    assert "```sh\npip uninstall -y triton\n```" in text


def test_only_some_cases_are_named(tmp_path: Path) -> None:
    case = "{{name: n{}, facts: {{host.os: linux}}, expect: {{outcome: fail}}}}"
    cases = f"[{', '.join(case.format(number) for number in range(9))}]"
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule_text(cases=cases)))
    assert "- found: n0; n1; n2; n3; n4; n5; and 3 more\n" in text


def test_the_example_is_the_failing_case_with_the_fewest_gaps(tmp_path: Path) -> None:
    cases = """
  - {name: gap, facts: {host.os: linux}, expect: {outcome: fail}}
  - {name: whole, facts: {host.os: linux, host.kernel: "6.1"}, expect: {outcome: fail}}"""
    rule = rule_text(message="On {host.kernel}.", cases=cases)
    text = page_markdown.render(page(tmp_path, "some-rule", area__some_rule=rule))
    assert "For example: On 6.1." in text


def test_cases_of_another_shape_are_left_out(tmp_path: Path) -> None:
    for number, cases in enumerate(("3", "[1, [2], {name: x}]", "[{name: y, expect: fail}]")):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = page_markdown.render(
            page(folder, "some-rule", area__some_rule=rule_text(cases=cases))
        )
        assert "by example" not in text


def test_json_holds_the_rule_its_cases_and_what_it_explains(
    tmp_path: Path, full: dict[str, str]
) -> None:
    files, _ = files_of(tmp_path, **full)
    found = json.loads(render_json("some-rule", files))
    assert found["rule"]["when"] == {"host.os": "linux"}
    assert found["explains"] == ["driver-behind"]
    assert found["path"] == "rules/area/some-rule.yaml"


HOSTILE = r'"\e[31mred\e]0;title\a [bold]x[/bold] <script>\u202e \x9b31m"'


def test_texts_of_rules_reach_no_terminal_as_escapes(tmp_path: Path) -> None:
    rule = rule_text(title=HOSTILE, why=HOSTILE, message=HOSTILE)
    made = page(tmp_path, "some-rule", area__some_rule=rule)
    plain = page_text.render(made, Style())
    assert "[bold]x[/bold] <script>" in plain
    assert plain.replace("\n", "").isprintable()
    coloured = page_text.render(made, Style(colour=True))
    assert "\x1b]0;" not in coloured
    assert "\x1b[31m" not in coloured
    assert page_text.render(made, Style(ascii_only=True)).isascii()
    markdown = page_markdown.render(made)
    assert "&lt;script\\>" in markdown
    assert markdown.replace("\n", "").isprintable()
    files, _ = files_of(tmp_path, area__some_rule=rule)
    assert render_json("some-rule", files).isascii()


@pytest.mark.long
def test_no_page_shows_a_hole_in_a_sentence() -> None:
    """What a pattern fills in stood in braces: cannot use FlashAttention-{generation} here."""
    files = load_suite(()).rules()
    knowledge = load_knowledge()
    for rule_id, file in files.items():
        if file.rule.symptoms:
            page = page_markdown.render(build_page(rule_id, files, knowledge))
            section = page.partition("## Other forms of the message")[2].partition("\n## ")[0]
            prose = re.sub(r"``[^`]*(?:`[^`]+)*``|`[^`]*`", "", section)
            assert not re.search(r"\{\w+\}", prose), rule_id


def test_a_repair_for_certain_logs_comes_last(tmp_path: Path, full: dict[str, str]) -> None:
    """The first repair of a GPU that is too old was a switch of vLLM, for everybody."""
    text = FULL.replace("    side_effects:", "    logged: [vllm]\n    side_effects:")
    lines = linked_markdown(tmp_path, "driver-behind", **{**full, "area__driver_behind": text})
    assert lines.index("content with it") < lines.index("Install a newer driver")
    assert "- offered only for logs that name the program or setting" in lines


def test_a_page_has_the_message_as_each_system_says_it() -> None:
    """A search for what a Japanese Windows says ended nowhere: the page had the English form."""
    knowledge = load_knowledge()
    files = load_suite().rules()
    page = page_markdown.render(build_page("windows-dll-load", files, knowledge))
    heading, _, others = page.partition("## Other forms of the message")
    assert "could not be found" in heading
    for part in (
        "\u30e2\u30b8\u30e5\u30fc\u30eb",
        "\u6a21\u5757",
        "\ubaa8\ub4c8\uc744",
        "\u043c\u043e\u0434\u0443\u043b\u044c",
        "introuvable",
    ):
        assert part in others
