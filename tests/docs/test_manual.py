"""The manual page is one that its readers take without a word, and holds every option."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.main import get_command

from fadoctor.interfaces.cli.app import build

if TYPE_CHECKING:
    from types import ModuleType

DOCS = Path(__file__).resolve().parents[2] / "docs"

READERS = {
    "mandoc": ["mandoc", "-T", "lint", "-W", "warning"],
    "man": ["man", "--warnings", "--local-file"],
    "groff": ["groff", "-man", "-ww", "-z"],
}


@pytest.fixture(scope="module")
def manual() -> ModuleType:
    spec = importlib.util.spec_from_file_location("manual", DOCS / "manual.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("reader", READERS)
def test_its_readers_have_nothing_to_say(manual: ModuleType, reader: str, tmp_path: Path) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"{reader} is not here")
    page = tmp_path / "fadoctor.1"
    page.write_text(manual.render("2026.11.21"), encoding="utf-8")
    done = subprocess.run(
        [*READERS[reader], str(page)],
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 0
    if reader != "man":
        assert done.stdout == ""


def test_it_holds_every_command_option_and_example(manual: ModuleType) -> None:
    text = manual.render("2026.11.21").replace("\\-", "-")
    for name, command in manual.commands(get_command(build()), "fadoctor"):
        assert f'.SS "{name}"' in text
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert f'"{parameter.opts[0]}' in text
    assert "fadoctor check --gpu V100 --gpu A100" in text
    assert "2026-11-21" in text


def test_no_help_holds_what_a_terminal_takes_for_markup(manual: ModuleType) -> None:
    """``[tool.fadoctor]`` was printed as nothing."""
    texts = [
        text
        for _, command in manual.commands(get_command(build()), "fadoctor")
        for text in (command.help, *(getattr(each, "help", None) for each in command.params))
        if text
    ]
    assert len(texts) > 100
    assert [text for text in texts if re.search(r"\[/?[a-z#@]", text)] == []


def test_what_help_says_is_in_whole_sentences(manual: ModuleType) -> None:
    for name, command in manual.commands(get_command(build()), "fadoctor"):
        for each in command.params:
            text = (getattr(each, "help", None) or "").strip()
            if each.name in ("help", "install_completion", "show_completion") or not text:
                continue
            assert text.endswith((".", "?")), (name, each.name, text)
            assert text[0].isupper() or text.startswith("-"), (name, each.name, text)
            assert not re.search(r" {2}|\(s\)|Form of the|\btoo, where\b", text), (name, text)
