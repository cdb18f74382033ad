"""The page in a real browser: every width, both themes, every control, axe's rules.

Needs Chromium; its driver and axe come from their registries, so this runs in CI only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import pictures
from tests.unit.report.html.pages import PAGES
from tests.unit.report.html.test_fleet import of_a_fleet, of_hostile_nodes

if TYPE_CHECKING:
    from tests.browser import Browser

pytestmark = [pytest.mark.network, pytest.mark.slow]

DRIVER = """
import json, sys
from playwright.sync_api import sync_playwright

chromium, axe, pictures, *pages = sys.argv[1:]
found = []
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    for path in pages:
        for theme in ("light", "dark"):
            for width in (360, 768, 1440):
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=theme,
                )
                page = context.new_page()
                said, asked = [], []
                page.on("console", lambda message: said.append(message.text))
                page.on("pageerror", lambda error: said.append(str(error)))
                page.on("request", lambda request: asked.append(request.url))
                page.goto(f"file://{path}")
                if pictures:
                    page.screenshot(path=f"{path}.{width}.{theme}.png", full_page=True)
                for each in page.query_selector_all("summary"):
                    if each.is_visible():
                        each.click()
                for each in page.query_selector_all("summary"):
                    if each.is_visible() and each.evaluate("e => !e.parentElement.open"):
                        each.click()
                buttons = page.query_selector_all(".copy button")
                for each in buttons[:4]:
                    if each.is_visible():
                        each.click()
                        page.wait_for_function(
                            "e => ['Copied', 'Selected'].includes(e.textContent)", arg=each
                        )
                result = {"violations": []}
                if (width, theme) in ((360, "dark"), (1440, "light")):  # it takes a second
                    page.evaluate(open(axe, encoding="utf-8").read())
                    result = page.evaluate("axe.run()")
                found.append({
                    "page": path, "theme": theme, "width": width, "said": said,
                    "asked": [url for url in asked if not url.startswith(("file://", "data:"))],
                    "wide": page.evaluate("document.body.parentElement.scrollWidth") > width,
                    "open": not page.query_selector("details:not([open])"),
                    "violations": [
                        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
                        for each in result["violations"]
                    ],
                })
                context.close()
print(json.dumps(found))
"""


def test_a_browser_finds_nothing_to_complain_of(browser: Browser, tmp_path: Path) -> None:
    paths = []
    fleets = {"fleet": of_a_fleet, "hostile_fleet": of_hostile_nodes}
    for name, make in {**PAGES, **fleets}.items():
        file = tmp_path / f"{name}.html"
        file.write_text(make(), encoding="utf-8")
        paths.append(str(file))
    found = browser.asked("-c", DRIVER, browser.chromium, browser.axe, pictures(""), *paths)
    assert len(found) == len(paths) * 6
    for each in found:
        where = f"{Path(each['page']).name} {each['width']} {each['theme']}"
        for fault in ("said", "asked", "violations"):
            assert each[fault] == [], f"{where}: {fault}"
        assert not each["wide"], f"{where}: wider than the screen"
        assert each["open"], f"{where}: something cannot be unfolded"
