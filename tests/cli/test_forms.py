"""Several forms at once, and the names and endings that choose them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.cli.forms import Form, Sink, sinks_of
from fadoctor.interfaces.cli.options.formats import PlanFormat, ReportFormat
from fadoctor.model.errors import UsageError

if TYPE_CHECKING:
    from tests.cli.conftest import Run

CHECK = ("check", "--no-smoke", "--exit-zero", "--gpu", "V100", "--python")


@pytest.mark.parametrize(
    ("output", "chosen", "form"),
    [
        ("a.sarif", ReportFormat.TEXT, Form.SARIF),
        ("a.MD", ReportFormat.TEXT, Form.MARKDOWN),
        ("a.xml", ReportFormat.TEXT, Form.JUNIT),
        ("a", ReportFormat.TEXT, Form.TEXT),
        ("a.json", ReportFormat.TEXT, Form.JSON),
        ("a.json", ReportFormat.SARIF, Form.SARIF),
        ("gitlab:a.json", ReportFormat.SARIF, Form.GITLAB),
        ("plan.sh", PlanFormat.TEXT, Form.SCRIPT),
        ("a.log", ReportFormat.TEXT, Form.TEXT),
        ("/dev/stderr", ReportFormat.TEXT, Form.TEXT),
        ("text:a.pdf", ReportFormat.TEXT, Form.TEXT),
    ],
)
def test_a_name_counts_before_the_option_and_that_before_the_ending(
    output: str, chosen: ReportFormat | PlanFormat, form: Form
) -> None:
    path = Path(output.rpartition(":")[2])
    assert sinks_of([output], chosen) == (Sink(form, path),)


@pytest.mark.parametrize(
    ("output", "chosen"),
    [("x.pdf", ReportFormat.TEXT), ("plan.sarif", PlanFormat.TEXT), ("a.SH", ReportFormat.TEXT)],
)
def test_an_ending_of_no_format_is_refused(output: str, chosen: ReportFormat | PlanFormat) -> None:
    """A file x.pdf was written, with text in it."""
    with pytest.raises(UsageError, match=r"no format of this command ends in .*Endings: "):
        sinks_of([output], chosen)


def test_standard_output_is_a_place_of_its_own() -> None:
    assert sinks_of([], ReportFormat.JSON) == (Sink(Form.JSON, None),)
    assert sinks_of(["-", "a.md"], ReportFormat.TEXT)[0] == Sink(Form.TEXT, None)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (["sarfi:a"], "sarfi is not a format of this command. Did you mean sarif?"),
        (["script:a"], "script is not a format of this command. Give one of text, json"),
        (["a.md", "text:a.md"], "it is named twice"),
        (["-", "json:-"], "it is named twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(outputs: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        sinks_of(outputs, ReportFormat.TEXT)


def test_a_path_with_a_colon_is_a_path() -> None:
    assert sinks_of(["C:/x/r.sarif"], ReportFormat.TEXT)[0].form is Form.SARIF


def test_one_run_writes_each_file(run: Run, stack: Path, tmp_path: Path) -> None:
    names = ("r.sarif", "r.md", "r.jsonl", "r.xml", "gitlab:r.json")
    outputs = [f"--output={name}" for name in ("-", *names)]
    result = run(*CHECK, str(stack), *outputs)
    assert result.returncode == 0, result.stderr
    assert "rule: gpu-too-old-fa2" in result.stdout
    folder = tmp_path / "cwd"
    (sarif,) = json.loads((folder / "r.sarif").read_text("utf-8"))["runs"]
    assert "gpu-too-old-fa2" in [each["ruleId"] for each in sarif["results"]]
    assert "gpu-too-old-fa2" in [
        each["check_name"] for each in json.loads((folder / "r.json").read_text("utf-8"))
    ]
    assert (folder / "r.xml").read_text("utf-8").startswith("<?xml")
    assert (folder / "r.md").read_text("utf-8").startswith("### fadoctor check: ")
    assert '"kind":"verdict"' in (folder / "r.jsonl").read_text("utf-8")


def test_markdown_is_redacted_unasked(run: Run, stack: Path) -> None:
    env = {"HOME": str(stack.parent), "USER": "someone-known"}
    plain = run(*CHECK, str(stack), "--format", "markdown", env=env).stdout
    assert str(stack.parent) not in plain
    assert "someone-known" not in plain


def test_annotations_come_with_a_summary_of_the_job(run: Run, stack: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    env = {"GITHUB_STEP_SUMMARY": str(summary)}
    lines = run(*CHECK, str(stack), "--format", "github", env=env).stdout.splitlines()
    assert lines
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)
    assert summary.read_text("utf-8").startswith("before\n### fadoctor check: ")
    refused = run(*CHECK, str(stack), "--format", "github", env={"GITHUB_STEP_SUMMARY": "/no/x"})
    assert refused.returncode == 2
    assert "GITHUB_STEP_SUMMARY" in refused.stderr


def test_explain_points_into_the_log(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "cwd" / "train.log"
    log.write_text(
        "step 1\nRuntimeError: FlashAttention only supports Ampere GPUs or newer.\n", "utf-8"
    )
    (sarif,) = json.loads(run("explain", "train.log", "--format", "sarif").stdout)["runs"]
    where = sarif["results"][0]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "train.log"
    assert where["region"]["startLine"] == 2
    page = run("explain", "train.log", "--format", "markdown").stdout
    assert "FlashAttention only supports Ampere" in page


def test_a_plan_has_its_forms_too(run: Run, stack: Path) -> None:
    plan = ("fix", "--dry-run", "--exit-zero", "--gpu", "V100", "--python", str(stack))
    assert run(*plan, "--format", "markdown").stdout.startswith("### fadoctor fix\n")
    first = run(*plan, "--format", "jsonl").stdout.splitlines()[0]
    assert json.loads(first)["kind"] == "plan"


def test_cells_have_their_forms_too(run: Run, stack: Path) -> None:
    refused = run("smoke", "--list", "--python", str(stack), "--format", "junit")
    assert refused.returncode == 2
    assert "--list has no form for junit" in refused.stderr
