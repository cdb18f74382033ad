"""GitHub's runner obeys nothing that stands in a result, and documents stay documents."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.cli.forms import Form
from fadoctor.interfaces.cli.runner import harmless, is_stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

RUNNER = {"GITHUB_ACTIONS": "true"}
DOCUMENTS = (Form.JSON, Form.JSONL, Form.SARIF, Form.GITLAB, Form.COLAB)
EVIL = "::set-output name=x::y"
LOG = (
    f"ModuleNotFoundError: No module named 'flash_attn' {EVIL}\n"
    f"{EVIL} RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
    "##[add-mask]a ImportError: libcudart.so.12: cannot open shared object file\n"
)


def obeyed(text: str) -> list[str]:
    """Return the commands that the runner would obey, as its source reads lines."""
    found, stopped = [], ""
    for line in text.splitlines():
        begun = line.lstrip()
        stop = re.fullmatch(r"::stop-commands::(\w+)", begun)
        if stopped:
            stopped = "" if begun == f"::{stopped}::" else stopped
        elif stop:
            stopped = stop[1]
        elif begun.startswith("::") or "##[" in line:
            found.append(line)
    assert not stopped, "commands stay stopped"
    return found


@pytest.mark.parametrize("form", [form for form in Form if form is not Form.GITHUB])
def test_no_form_is_obeyed(form: Form) -> None:
    text = f"  {EVIL}\n{EVIL}\na ##[group]b\n"
    text = json.dumps([text, EVIL], indent=1) if form in DOCUMENTS else text
    assert obeyed(text)
    assert obeyed(harmless(text, form.value, RUNNER)) == []
    assert harmless(text, form.value, {}) == text


def test_the_token_is_another_one_each_time_and_ends_behind_any_text() -> None:
    first, second = (harmless("x", "text", RUNNER) for _ in range(2))
    assert first != second
    token = first.partition("\n")[0].removeprefix("::stop-commands::")
    assert len(token) == 32
    assert first == f"::stop-commands::{token}\nx\n::{token}::\n"


def test_commands_of_the_form_that_is_made_of_them_stay() -> None:
    assert harmless("::error::x\n", Form.GITHUB.value, RUNNER) == "::error::x\n"


def test_spelt_otherwise_documents_say_the_same() -> None:
    document = {"a": "##[group]x", "b": EVIL}
    assert json.loads(harmless(json.dumps(document), "json", RUNNER)) == document
    xml = harmless(f"<a>\n{EVIL}\n##[x]</a>", "junit", RUNNER)
    assert ET.fromstring(xml).text == f"\n{EVIL}\n##[x]"  # noqa: S314 -- our own


@pytest.mark.parametrize("form", ["text", "markdown", "json", "jsonl", "sarif", "junit", "html"])
def test_explain_in_the_runner(run: Run, form: str) -> None:
    found = run("explain", "-", "--format", form, input=LOG, env=RUNNER)
    assert found.returncode == 1
    assert obeyed(found.stdout) == []
    assert "flash_attn" in found.stdout


def test_a_file_has_no_markers(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    run("explain", "-", "--output", f"markdown:{page}", input=LOG, env=RUNNER)
    assert "stop-commands" not in page.read_text()


def test_what_leads_to_standard_output_is_printed() -> None:
    from pathlib import Path as Named  # noqa: PLC0415 -- at run time only here

    assert [is_stream(path) for path in (None, Named("/dev/stdout"), Named("a.json"))] == [
        True, True, False,
    ]  # fmt: skip


def test_run_explains_between_markers(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(f"import sys; sys.stderr.write({LOG!r}); sys.exit(3)")
    found = run("run", "--", "python3", str(script), env=RUNNER)
    assert found.returncode == 3
    assert "::stop-commands::" in found.stderr
    assert obeyed(found.stderr.partition("::stop-commands::")[1] + found.stderr.partition(
        "::stop-commands::")[2]) == []  # fmt: skip
