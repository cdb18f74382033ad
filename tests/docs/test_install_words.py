"""Until there is a release no page and no program text installs fadoctor from a package index.

The name is not registered: whoever follows such a line gets nothing, or somebody else's package.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_HOW = r"\b(?:(?:pip3?|pipx|conda|mamba|uv(?: tool| pip)?|pixi|poetry) (?:install|add|run)|uvx)"
_WHAT = r"""["']*fadoctor(?:\[\w+\])?(?=["'`\s,)]|$)(?! *@)"""
FROM_AN_INDEX = re.compile(rf"{_HOW}(?: +-[\w=-]+)* +{_WHAT}", re.MULTILINE)
FILES = sorted(
    path
    for pattern in ("README.md", "docs/**/*.md", "fadoctor/**/*.py", "action.yml", "recipe/*")
    for path in ROOT.glob(pattern)
)


def from_an_index(text: str) -> list[str]:
    return [found[0] for found in FROM_AN_INDEX.finditer(text)]


@pytest.mark.parametrize(
    "text",
    [
        "pip install fadoctor",
        "%pip install -q fadoctor",
        "pipx install fadoctor && x",
        "uvx fadoctor check",
        "uvx --from 'fadoctor[mcp]' fadoctor mcp",
        "conda install fadoctor\n",
    ],
)
def test_such_a_line_is_known(text: str) -> None:
    assert from_an_index(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install .",
        "pip install fadoctor-0.1.0-py3-none-any.whl",
        'pip install "fadoctor @ git+https://REPOSITORY@REVISION"',
        "docker run --rm fadoctor check",
        "uvx --from dist/fadoctor-*.whl fadoctor check",
        "where you cannot install fadoctor.",
    ],
)
def test_an_honest_line_is_none(text: str) -> None:
    assert not from_an_index(text)


def test_nothing_is_installed_that_is_not_there() -> None:
    assert len(FILES) > 300
    found = {
        str(path.relative_to(ROOT)): lines
        for path in FILES
        if path.is_file() and (lines := from_an_index(path.read_text(encoding="utf-8")))
    }
    assert found == {}
