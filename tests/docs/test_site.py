"""The site: every page is in it, it builds without a warning, and it asks nobody for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
_FETCHED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["']?https?://""")


def in_the_menu(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    parts = entry if isinstance(entry, list) else entry.values()
    return [name for part in parts for name in in_the_menu(part)]


def test_every_page_is_in_the_menu_and_none_is_gone() -> None:
    menu = in_the_menu(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages = {name for name in pages if not name.startswith("rules/") or name.endswith("README.md")}
    assert len(menu) == len(set(menu))
    assert set(menu) == pages


@pytest.mark.network
def test_it_builds_strictly_and_fetches_nothing(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    wanted = re.search(
        r'^docs = \["([^"]+)"\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert wanted is not None
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    run(str(python), "-m", "pip", "install", "--quiet", wanted[1])
    built = tmp_path / "site"
    run(str(python), "-m", "mkdocs", "build", "--strict", "--site-dir", str(built))
    pages = list(built.rglob("*.html"))
    assert len(pages) > 200
    assert [page.name for page in pages if _FETCHED.search(page.read_text(encoding="utf-8"))] == []
    assert 'href="site.css"' in (built / "formats.html").read_text(encoding="utf-8")
    assert "white-space: normal" in (built / "site.css").read_text(encoding="utf-8")
    index = (built / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "FlashAttention only supports Ampere" in index


def run(*argv: str) -> None:
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
