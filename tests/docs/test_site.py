"""The site: every page is in it, it builds without a warning, and it asks nobody for anything.

``FADOCTOR_TESTS_SITE`` names a site that is built already.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml

from tests.browser import pictures
from tests.shipped import compiled

if TYPE_CHECKING:
    from tests.browser import Browser

ROOT = Path(__file__).resolve().parents[2]
SITE = "https://docs.example/"
DRIVER = Path(__file__).with_name("site_driver.py")
SEEN = ("index.html", "rules/gpu-too-old-fa2.html", "try.html", "cli.html", "triage.html")
_FETCHED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["']?https?://""")


class _Menu(yaml.SafeLoader):
    """Reads a variable of the environment as its default."""


_Menu.add_constructor("!ENV", lambda _loader, _node: "")


def in_the_menu(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    parts = entry if isinstance(entry, list) else entry.values()
    return [name for part in parts for name in in_the_menu(part)]


def test_every_page_is_in_the_menu_and_none_is_gone() -> None:
    menu = in_the_menu(yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Menu)["nav"])  # noqa: S506 -- a safe loader
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages = {name for name in pages if not name.startswith("rules/") or name.endswith("README.md")}
    assert len(menu) == len(set(menu))
    assert set(menu) == pages


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built strictly, as it would be published."""
    there = Path(os.environ.get("FADOCTOR_TESTS_SITE", ""))
    if there.is_absolute() and (there / "index.html").is_file():
        return there
    folder = tmp_path_factory.mktemp("site")
    python = folder / "venv" / "bin" / "python"
    project = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())
    wanted = project["project"]["optional-dependencies"]["docs"]
    run(sys.executable, "-m", "venv", str(folder / "venv"))
    run(str(python), "-m", "pip", "install", "--quiet", *wanted)
    site = folder / "site"
    run(str(python), "-m", "mkdocs", "build", "--strict", "--site-dir", str(site))
    return site


@pytest.mark.network
def test_it_fetches_nothing(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 200
    texts = {page.name: page.read_text(encoding="utf-8").replace(SITE, "") for page in pages}
    assert [name for name, text in texts.items() if _FETCHED.search(text)] == []
    home = (built / "index.html").read_text(encoding="utf-8")
    assert "connect-src &#39;self&#39;" in home or "connect-src 'self'" in home
    assert 'src="page/index.html?within"' in home
    assert (built / "page" / "index.html").is_file()


@pytest.mark.network
def test_each_cause_has_a_page_that_names_its_message(built: Path) -> None:
    page = (built / "rules" / "gpu-too-old-fa2.html").read_text(encoding="utf-8")
    message = "FlashAttention only supports Ampere GPUs or newer"
    assert re.search(rf'<meta name="description" content="[^"]*{message}', page)
    assert re.search(rf"<h2[^>]*>RuntimeError: {message}", page)
    assert 'href="../page/index.html#rule=gpu-too-old-fa2"' in page
    sitemap = (built / "sitemap.xml").read_text(encoding="utf-8")
    listed = set(re.findall(rf"{SITE}rules/([a-z0-9-]+)\.html", sitemap))
    assert listed >= {rule.id for rule in compiled().knowledge.rules}


@pytest.mark.network
def test_messages_are_searched_by_their_words_in_any_script(built: Path) -> None:
    index = json.loads((built / "search" / "search_index.json").read_text(encoding="utf-8"))
    texts = " ".join(f"{each['title']} {each['text']}" for each in index["docs"])
    assert "FlashAttention only supports Ampere" in texts
    assert re.search("[\u4e00-\u9fff]\u200b", texts)
    assert not re.search("[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]{2}", texts)


@pytest.fixture(scope="module")
def seen(built: Path, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a browser saw of the site, with the page in the browser where one is built."""
    folder = pictures(str(tmp_path_factory.mktemp("p")))
    found: dict[str, Any] = browser.asked(
        str(DRIVER), browser.chromium, browser.axe, str(built), folder, *SEEN
    )
    return found


@pytest.mark.network
@pytest.mark.slow
def test_a_browser_finds_nothing_to_complain_of(seen: dict[str, Any]) -> None:
    assert seen["said"] == []
    assert seen["elsewhere"] == []
    assert seen["wide"] == []
    assert seen["violations"] == []


@pytest.mark.network
@pytest.mark.slow
def test_a_message_leads_to_its_cause(seen: dict[str, Any]) -> None:
    assert seen["message"][0] == "The GPU is too old for FlashAttention-2"
    assert "FlashAttention gets float32 tensors" in seen["chinese"]
    first = {words: found[0] for words, found in seen["translated"].items() if found}
    assert set(first.values()) == {"A DLL that an extension needs is missing on Windows"}, first
    assert len(first) == len(seen["translated"])


@pytest.mark.network
@pytest.mark.slow
def test_the_home_page_answers(seen: dict[str, Any]) -> None:
    if "home" not in seen:
        pytest.skip("the page in the browser is not built here")
    assert "older than Ampere" in seen["home"]["state"]
    assert seen["home"]["after"] > seen["home"]["before"]


def run(*argv: str) -> None:
    env = {**os.environ, "FADOCTOR_SITE_URL": SITE, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
