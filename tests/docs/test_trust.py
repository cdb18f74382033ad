"""What the page on trust promises: fadoctor itself opens no connection."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NETWORK = re.compile(
    r"^\s*(?:import|from) (?:socket|ssl|http\.client|urllib\.request|ftplib|smtplib|xmlrpc"
    r"|requests|httpx|aiohttp|urllib3)\b",
    re.MULTILINE,
)


def test_no_module_of_ours_can_reach_a_network() -> None:
    """Children of the target are scripts of their own: they take what the target has."""
    sources = [path for path in (ROOT / "fadoctor").rglob("*.py") if "child" not in path.parts]
    assert len(sources) > 300
    found = [path.name for path in sources if _NETWORK.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_the_page_says_so() -> None:
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    assert "fadoctor opens no connection" in page
