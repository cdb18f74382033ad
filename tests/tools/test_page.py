"""The page in a real Chromium: built from a wheel, answers, works offline, asks nobody else.

Needs Chromium, npm and Node; so it runs in CI only. ``FADOCTOR_TESTS_PAGE`` names a page
that is built already.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import pictures
from tools.page.bundle import LIMIT

if TYPE_CHECKING:
    from tests.browser import Browser

pytestmark = [pytest.mark.network, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(__file__).with_name("page_driver.py")
KINDS = ("error", "issue", "report", "requirements", "requirements", "configuration")


@pytest.fixture(scope="module")
def page() -> Path:
    """Return the page: one that was built from the wheel that is tested, or this checkout's."""
    built = Path(os.environ.get("FADOCTOR_TESTS_PAGE", "")) / "index.html"
    if not (built.is_absolute() and built.is_file()):
        run(sys.executable, "-m", "tools.page", "--only-page")
        return ROOT / "build" / "page"
    return built.parent


@pytest.fixture(scope="module")
def seen(page: Path, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a browser saw of the page."""
    folder = pictures(str(tmp_path_factory.mktemp("p")))
    found: dict[str, Any] = browser.asked(
        str(DRIVER), browser.chromium, browser.axe, str(page), folder
    )
    print(json.dumps({key: found[key] for key in ("bytes", "answers")}))  # noqa: T201
    return found


def test_six_real_inputs_are_answered(seen: dict[str, Any]) -> None:
    assert [each["kind"] for each in seen["answers"]] == list(KINDS)
    assert all(each["errors"] for each in seen["answers"])


def test_it_is_small(seen: dict[str, Any]) -> None:
    assert 0 < seen["bytes"] <= LIMIT


def test_it_works_without_a_network_after_the_first_visit(seen: dict[str, Any]) -> None:
    assert "Ampere" in seen["offline"]


def test_nobody_else_is_asked(seen: dict[str, Any]) -> None:
    assert seen["elsewhere"] == []
    assert seen["refused"], "a connection to elsewhere must be refused by the page's policy"
    assert seen["said"] == []


def test_axe_finds_nothing_in_either_theme_on_any_width(seen: dict[str, Any]) -> None:
    assert seen["violations"] == []
    assert seen["wide"] == []


def test_links_fill_it_in_and_the_answer_can_be_copied(seen: dict[str, Any]) -> None:
    assert "Ampere" in seen["linked"]
    assert seen["markdown"].startswith("### fadoctor")
    assert seen["keyboard"] == ["text", "gpu", "example"]


def run(*argv: str) -> None:
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
