"""`fadoctor rules`: list, show, test and schema; own rules, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from tests.unit.knowledge.matrix.folders import rule_text, table_text

if TYPE_CHECKING:
    from tests.cli.conftest import Run

RULES = Path(__file__).parents[2] / "rules"
GOLDEN = RULES.parent / "tests" / "golden"
HOSTILE = r'"\e[31mred\e]0;title\a [bold]x[/bold] \u202e"'
CASES = """
  - {name: here, facts: {host.os: linux}, expect: {outcome: fail}}
  - {name: there, facts: {host.os: windows}, expect: {outcome: pass}}
  - {name: nowhere, unknown: [host.os], expect: {outcome: unknown}}"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "own", area__some_rule=rule_text(cases=CASES))


def folder_of(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / (name.replace("__", "/").replace("_", "-") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def refused(run: Run, *arguments: str) -> list[str]:
    """Return the lines on standard error of a command that must exit 2 and print no result."""
    result = run("rules", *arguments)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert result.stderr.replace("\n", "").isprintable()
    return result.stderr.splitlines()


def test_list_names_every_rule(run: Run) -> None:
    lines = run("rules", "list").stdout.splitlines()
    assert lines[0].split() == ["id", "severity", "area", "title"]
    assert lines[-1].startswith("Rules ")
    rows = [line.split() for line in lines[:-1] if not line.startswith(" ")]
    shown = {row[0] for row in rows if row[1] != "retired"}
    files = [path for path in RULES.glob("*/*.yaml") if path.parent.name != "matrix"]
    assert shown - {"id"} == {path.stem for path in files}
    retired = {row[0]: row[2] for row in rows if row[1] == "retired"}
    assert retired["trl-requirement-unmet"] == "requirement-unmet"
    assert set(retired.values()) <= shown


def test_list_is_filtered(run: Run) -> None:
    arguments = ("--format", "json", "--area", "driver", "--severity", "error")
    found = json.loads(run("rules", "list", *arguments).stdout)["rules"]
    assert "driver-too-old" in [rule["id"] for rule in found]
    assert {(rule["area"], rule["severity"]) for rule in found} == {("driver", "error")}


def test_list_of_an_area_that_is_none_names_the_areas(run: Run) -> None:
    (line,) = refused(run, "list", "--area", "drivr\x1b[31m")
    assert "driver" in line
    assert "gpu-arch" in line


def test_list_with_own_rules(run: Run, own: Path) -> None:
    assert "some-rule" in run("rules", "list", "--rules", str(own)).stdout
    found = json.loads(
        run("rules", "list", "--rules", str(own), "--area", "area", "--format", "json").stdout
    )
    assert [rule["path"] for rule in found["rules"]] == [str(own / "area" / "some-rule.yaml")]


def test_show_is_a_page_to_read(run: Run) -> None:
    text = run("rules", "show", "gpu-too-old-fa2", env={"COLUMNS": "80"}).stdout
    lines = text.splitlines()
    assert lines[0] == "The GPU is too old for FlashAttention-2"
    sections = ["What to do", "How to check", "Why", "Sources"]
    assert [line for line in lines if line in sections] == sections
    assert "it needs Ampere or newer" in " ".join(text.split())
    assert "side effects:" in text
    assert "https://github.com/Dao-AILab/flash-attention/issues/524" in text
    assert "rules/gpu-arch/gpu-too-old-fa2.yaml" in text
    assert "\x1b" not in text
    assert all(len(line) <= 80 or len(line.split()) <= 3 for line in lines)


def test_show_in_colour_and_in_ascii(run: Run) -> None:
    assert "\x1b[1m" in run("rules", "show", "driver-too-old", "--color", "always").stdout
    env = {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = run("rules", "show", "driver-too-old", env=env)
    assert (result.returncode, result.stdout.isascii()) == (0, True)


def test_show_as_markdown_and_as_json(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    run("rules", "show", "driver-too-old", "--format", "markdown", "--output", str(file))
    assert "## How to check\n" in file.read_text(encoding="utf-8")
    document = json.loads(run("rules", "show", "driver-too-old", "--format", "json").stdout)
    assert document["rule"]["id"] == "driver-too-old"
    assert document["cases"]


def test_show_with_facts_says_why_and_why_not(run: Run) -> None:
    old = str(GOLDEN / "linux-v100-torch210" / "facts.json")
    why = run("rules", "show", "gpu-too-old-fa2", "--facts", old)
    assert why.returncode == 0
    assert "gpu[0]: found\n" in why.stdout
    assert "- gpu[0].compute_capability is 7.0 (NVML" in why.stdout
    facts = (GOLDEN / "linux-a100-healthy" / "facts.json").read_text(encoding="utf-8")
    arguments = ("rules", "show", "gpu-too-old-fa2", "--facts", "-")
    why_not = run(*arguments, input=facts).stdout
    assert "Not found. This is false: gpu.compute_capability is below 8.0.\n" in why_not
    document = json.loads(run(*arguments, "--format", "json", input=facts).stdout)
    assert [each["outcome"] for each in document["subjects"]] == ["pass"]
    assert (
        "not found\n\nNot found. This is false: `gpu."
        in run(*arguments, "--format", "markdown", input=facts).stdout
    )


def test_show_with_facts_assumes_a_gpu_and_a_driver(run: Run) -> None:
    facts = ("--facts", str(GOLDEN / "linux-a100-healthy" / "facts.json"))
    old = run("rules", "show", "gpu-too-old-fa2", *facts, "--gpu", "V100").stdout
    assert "gpu[0]: found\n" in old
    assert "- gpu[0].compute_capability is 7.0 (--gpu V100" in old
    driver = run("rules", "show", "driver-too-old", *facts, "--driver", "450.80.02").stdout
    assert ": found\n" in driver
    (line,) = refused(run, "show", "gpu-too-old-fa2", "--gpu", "V100")
    assert "add --facts FILE" in line


def test_show_with_facts_hides_credentials(run: Run) -> None:
    document = json.loads((GOLDEN / "linux-a100-healthy" / "facts.json").read_text())
    document["facts"]["driver.version"]["source"] = "https://kim:s3cr3tpassw0rd@example.org"
    text = run("rules", "show", "driver-too-old", "--facts", "-", input=json.dumps(document))
    assert text.returncode == 0
    assert "s3cr3tpassw0rd" not in text.stdout
    assert "example.org" in text.stdout


def test_show_with_facts_follows_a_retired_id_and_own_rules(run: Run, own: Path) -> None:
    facts = ("--facts", str(GOLDEN / "linux-a100-healthy" / "facts.json"))
    text = run("rules", "show", "trl-requirement-unmet", *facts)
    assert "requirement-unmet replaces it" in text.stderr
    assert "requirement-unmet, judged on" in text.stdout
    mine = run("rules", "show", "some-rule", "--rules", str(own), *facts).stdout
    assert "environment: found\n" in mine
    assert refused(run, "show", "some-rule", "--rules", str(own), "--facts", "nowhere.json")


def test_show_of_an_unknown_rule_names_near_ones(run: Run) -> None:
    (line,) = refused(run, "show", "driver-to-old")
    assert "driver-too-old" in line
    (line,) = refused(run, "show", "\x1b]0;x\x07")
    assert "fadoctor rules list" in line


@pytest.mark.long
def test_every_rule_can_be_shown(run: Run) -> None:
    listed = json.loads(run("rules", "list", "--format", "json").stdout)["rules"]
    for rule in listed[:: max(1, len(listed) // 5)]:
        assert run("rules", "show", rule["id"]).stdout.splitlines()[0].split()[0] in rule["title"]


@pytest.mark.long
def test_shipped_cases_pass(run: Run) -> None:
    result = run("rules", "test")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith(" rules: 0 failures\n")


@pytest.mark.long
def test_own_cases_pass_on_top_of_the_shipped_ones(run: Run, own: Path) -> None:
    result = run("rules", "test", str(own))
    assert (result.returncode, result.stdout) == (0, "3 cases of 1 rule: 0 failures\n")


@pytest.mark.long
def test_own_cases_that_fail(run: Run, own: Path) -> None:
    wrong = rule_text("other-rule", cases=CASES.replace("outcome: pass", "outcome: fail"))
    folder_of(own, area__other_rule=wrong)
    result = run("rules", "test", str(own))
    path = own / "area" / "other-rule.yaml"
    assert result.returncode == 1
    assert f"FAILED {path}: there: pass instead of fail" in result.stdout
    assert f"FAILED {path}: a case that passes is missing" in result.stdout
    document = json.loads(run("rules", "test", str(own), "--format", "json").stdout)
    assert {failure["case"] for failure in document["failures"]} == {"there", ""}


@pytest.mark.long
def test_own_rows_are_used_by_own_cases(run: Run, tmp_path: Path) -> None:
    case = (
        "\n  - {{name: {0}, facts: {{host.os: linux, torch.version: {1}, driver.version: '{2}'}},"
    )
    case += " expect: {{outcome: {3}}}}}"
    rule = rule_text(
        rows="{t: {table: some-table, os: host.os, version: torch.version}}",
        when="{driver.version: {below: $t.driver}}",
        cases=case.format("old", "2.7.0", "470", "fail")
        + case.format("new", "2.7.0", "580", "pass")
        + case.format("no row", "2.9.0", "470", "unknown"),
    )
    own = folder_of(tmp_path / "own", area__some_rule=rule, matrix__some_table=table_text())
    assert run("rules", "test", str(own)).stdout == "3 cases of 1 rule: 0 failures\n"


def test_everything_that_does_not_compile_is_said(run: Run, tmp_path: Path) -> None:
    own = folder_of(
        tmp_path / "own",
        area__some_rule=rule_text(verified="perhaps", when="{host.oss: linux}"),
        area__other_rule=rule_text("another-rule"),
        matrix__some_table=table_text(verified="perhaps"),
    )
    lines = refused(run, "test", str(own))
    assert any("some-rule.yaml:7 at `when.host.oss`: " in line for line in lines)
    assert any("some-rule.yaml:12 at `verified`: " in line for line in lines)
    assert any("other-rule.yaml:1 at `id`: " in line for line in lines)
    assert any("some-table.yaml:7 at `verified`: " in line for line in lines)
    assert all(line.startswith("fadoctor: ") for line in lines)


def test_a_rule_defined_twice(run: Run, own: Path) -> None:
    folder_of(own, zone__some_rule=rule_text(area="zone"))
    message = "\n".join(refused(run, "test", str(own)))
    assert "zone/some-rule.yaml:1" in message
    assert "area/some-rule.yaml" in message
    assert "some-rule is already defined" in message


def test_a_rule_that_is_shipped(run: Run, tmp_path: Path) -> None:
    text = (RULES / "driver" / "driver-too-old.yaml").read_text()
    own = folder_of(tmp_path / "own", driver__driver_too_old=text)
    for command in (("test", str(own)), ("list", "--rules", str(own))):
        (line,) = refused(run, *command)
        assert f"{own}/driver/driver-too-old.yaml:1" in line
        assert "already defined in rules/driver/driver-too-old.yaml:1" in line


def test_a_row_that_is_shipped(run: Run, tmp_path: Path) -> None:
    text = (RULES / "matrix" / "driver-floors.yaml").read_text()
    own = folder_of(tmp_path / "own", matrix__driver_floors=text)
    line = refused(run, "test", str(own))[0]
    assert f"{own}/matrix/driver-floors.yaml:" in line
    assert "already defined in rules/matrix/driver-floors.yaml:" in line


def test_a_row_that_stands_twice(run: Run, tmp_path: Path) -> None:
    row = '  - {os: linux, version: ">=2.6,<2.8"}\n'
    own = folder_of(tmp_path / "own", matrix__some_table=table_text() + row)
    (line,) = refused(run, "test", str(own))
    assert "some-table.yaml:10 at `rows[1]`" in line


def test_a_table_with_other_columns(run: Run, tmp_path: Path) -> None:
    own = folder_of(tmp_path / "own", matrix__driver_floors=table_text("driver-floors"))
    line = refused(run, "test", str(own))[0]
    assert f"{own}/matrix/driver-floors.yaml:" in line
    assert "table driver-floors has other " in line
    assert line.endswith("matrix/driver-floors.yaml")


def test_folders_that_hold_nothing_to_test(run: Run, tmp_path: Path) -> None:
    assert "nowhere" in refused(run, "test", str(tmp_path / "nowhere"))[0]
    (tmp_path / "empty").mkdir()
    assert "holds no rules" in refused(run, "test", str(tmp_path / "empty"))[0]


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--rules"),
        ("show", "some-rule", "--rules"),
        ("show", "some-rule", "--format", "markdown", "--rules"),
        ("show", "some-rule", "--format", "json", "--rules"),
        ("test",),
        ("test", "--format", "json"),
    ],
)
def test_texts_of_own_rules_do_no_harm(run: Run, tmp_path: Path, arguments: list[str]) -> None:
    case = f"\n  - {{name: {HOSTILE}, facts: {{host.os: {HOSTILE}}}, expect: {{outcome: fail}}}}"
    text = rule_text(title=HOSTILE, why=HOSTILE, message=HOSTILE, cases=case)
    own = folder_of(tmp_path / "own", area__some_rule=text)
    result = run("rules", *arguments, str(own))
    assert (result.stdout + result.stderr).replace("\n", "").isprintable()
    assert "[bold]x[/bold]" in (result.stdout + result.stderr).replace("\\", "")


def test_names_of_files_and_keys_do_no_harm(run: Run, tmp_path: Path) -> None:
    own = folder_of(tmp_path / "o\x1b[31m", area__some_rule=f"{HOSTILE}: 1\n")
    refused(run, "test", str(own))
    refused(run, "list", "--rules", str(tmp_path / "\x1b[31mnowhere"))


@pytest.mark.parametrize(
    "name", ["report", "smoke", "trace", "plan", "explanation", "facts", "fleet", "rule", "table"]
)
def test_schemas_are_those_in_the_repository(run: Run, name: str) -> None:
    schema = json.loads(run("rules", "schema", name).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")


def test_schema_is_that_of_rules_unless_another_is_named(run: Run) -> None:
    assert run("rules", "schema").stdout == run("rules", "schema", "rule").stdout
    assert refused(run, "schema", "colour")


def test_help_names_the_commands(run: Run) -> None:
    text = run("rules", "--help").stdout
    assert all(command in text for command in ("list", "show", "test", "schema"))
    assert "rules" in run("--help").stdout


def test_search_names_the_nearest_pages(run: Run) -> None:
    text = run("rules", "search", "driver", "too", "old", "for", "CUDA").stdout
    assert "driver-too-old" in text
    found = json.loads(run("rules", "search", "--format", "json", "--count", "2", "nccl").stdout)
    assert [set(each) for each in found["pages"]] == [{"rule_id", "title", "score"}] * 2
    assert (
        run("rules", "search", "zzzzqqqq").stdout == "No page of a rule has any of these words.\n"
    )
    assert refused(run, "search", " ")
