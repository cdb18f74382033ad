"""Every command of the README and of the pages: its options exist, and it runs as it stands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from fadoctor.interfaces.cli.app import build
from tests.cli.project import make_project, run_line

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("cli.md", "matrix.md", "adding-a-rule.md", "ci.md", "fleet.md")
"""Generated, or run by a test of its own, on files or by schedulers of its own."""

_LINE = re.compile(
    r"^ {4}(?:\$ )?((?:[a-z0-9_.= -]+(?:2>&1)? \| )?(?:\w+=\S* )?fadoctor .+)$", re.MULTILINE
)
_INSTALLS = re.compile(r"^pip install .*?\|")
_CHANGES = (
    "fadoctor fix --yes", "fadoctor fix --undo", "fadoctor --install-completion",
    "fadoctor rules update", "fadoctor mcp",
)  # fmt: skip
"""They ask somebody, change what is not theirs to change here, or wait for another program."""


def pages() -> list[Path]:
    found = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/for").glob("*.md")]
    return sorted(page for page in found if page.name not in ELSEWHERE)


def commands() -> list[str]:
    """Return each line once, without what is said beside it."""
    found: dict[str, None] = {}
    for page in pages():
        for line in _LINE.findall(page.read_text(encoding="utf-8")):
            command = re.split(r"  +| +# ", line)[0].strip()
            if "[" not in command:
                found[command] = None
    return list(found)


COMMANDS = commands()


def runnable() -> Iterator[str]:
    for line in COMMANDS:
        if line != "fadoctor fix" and not line.startswith(_CHANGES):
            yield _INSTALLS.sub("cat train.log |", line).replace(" DIR", " my-rules")


def test_there_are_commands_on_many_pages() -> None:
    assert len(COMMANDS) > 50


@cache
def command_line() -> Any:
    return get_command(build(completion=True))


@pytest.mark.parametrize("line", COMMANDS)
def test_every_option_of_a_command_exists(line: str) -> None:
    words = shlex.split(line.rpartition("| fadoctor ")[2] or line, comments=True)
    words = [word for word in words if "=" not in word or word.startswith("--")]
    command = command_line()
    for word in words[words.index("fadoctor") + 1 if "fadoctor" in words else 0 :]:
        if word in (">", "|", "--"):
            return
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
        elif word.startswith("-") and len(word) > 1:
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            assert word.partition("=")[0] in known, f"{word} in {line}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.mark.long
@pytest.mark.thinned(every=6)
@pytest.mark.parametrize("line", list(runnable()))
def test_a_command_runs_as_it_stands(line: str, folder: Path, tmp_path: Path) -> None:
    missing = [name for name in ("jq", "gh") if re.search(rf"\b{name} ", line)]
    if missing:
        pytest.skip(f"{missing[0]} is asked, which may not be here, or asks others")
    if re.search(r" [A-Z]:\\", line) and os.name != "nt":
        pytest.skip("its folder is one of Windows")
    mine = tmp_path / "project"
    shutil.copytree(folder, mine, symlinks=True)
    (mine / "tests").symlink_to(ROOT / "tests")
    run_line(line, mine)
