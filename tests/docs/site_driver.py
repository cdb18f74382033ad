"""Looks at pages of the site in Chromium and prints what it saw as JSON; a process of its own.

Usage: python site_driver.py CHROMIUM AXE SITE PICTURES PAGE...
"""

from __future__ import annotations

import functools
import http.server
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

LIMIT_S = 90.0
ERROR = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
TRANSLATED = (  # error 126 of Windows in Japanese, Korean and Russian
    (
        "\u6307\u5b9a\u3055\u308c\u305f\u30e2\u30b8\u30e5\u30fc\u30eb\u304c"
        "\u898b\u3064\u304b\u308a\u307e\u305b\u3093"
    ),
    "\uc9c0\uc815\ub41c \ubaa8\ub4c8\uc744 \ucc3e\uc744 \uc218 \uc5c6\uc2b5\ub2c8\ub2e4",
    (
        "\u041d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d \u0443\u043a\u0430\u0437\u0430"
        "\u043d\u043d\u044b\u0439 \u043c\u043e\u0434\u0443\u043b\u044c"
    ),
)
SETTLED_MS = 1_500
RESULTS = (
    "[...document.querySelectorAll('.md-search-result__article h1')].map(each => each.innerText)"
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def until(page: Any, expression: str) -> Any:
    """Return what an expression is worth as soon as that is true; None where it never is."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if value := page.evaluate(expression):
            return value
        time.sleep(0.05)
    return None


def looked_at(context: Any, address: str, width: int, name: str, found: dict[str, Any]) -> None:
    page = context.new_page()
    page.on("console", lambda message: found["said"].append(f"{name}: {message.text}"))
    page.on("pageerror", lambda error: found["said"].append(f"{name}: {error}"))
    page.goto(address)
    until(page, "document.readyState === 'complete'")
    page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)
    if page.evaluate("document.documentElement.scrollWidth") > width:
        found["wide"].append(name)
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    for each in page.evaluate("axe.run()")["violations"]:
        found["violations"].append(f"{name}: {each['id']}: {each['nodes'][0]['html'][:200]}")
    page.close()


def searched(context: Any, base: str, words: str) -> list[str]:
    page = context.new_page()
    page.goto(f"{base}start.html")
    page.click(".md-search__input")
    page.keyboard.type(words)
    found: list[str] = until(page, f"{RESULTS}.length && {RESULTS}") or []
    before: list[str] = []
    while found != before:  # each letter asks anew: the last answer is the one that stays
        page.wait_for_timeout(SETTLED_MS)
        before, found = found, page.evaluate(RESULTS)
    page.close()
    return found


def answered(context: Any, base: str) -> dict[str, Any]:
    """Return what the box of the home page says, and by how much it grows."""
    page = context.new_page()
    page.goto(f"{base}index.html")
    page.locator(".fadoctor-box").scroll_into_view_if_needed()
    height = "document.querySelector('.fadoctor-box').offsetHeight"
    [frame] = [each for each in page.frames if "within" in each.url]
    frame.wait_for_load_state()
    before = page.evaluate(height)
    frame.fill("#text", ERROR)
    said = until(frame, "+document.getElementById('answer').dataset.shown > 0")
    until(page, f"{height} > {before}")
    page.screenshot(path=f"{PICTURES}/home-answered.png", full_page=True)
    state = frame.inner_text("#state") if said else ""
    return {"state": state, "before": before, "after": page.evaluate(height)}


def main(chromium: str, site: str, pages: list[str]) -> None:
    handler = functools.partial(Quiet, directory=site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    found: dict[str, Any] = {"said": [], "violations": [], "wide": [], "elsewhere": []}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width, theme in ((360, "dark"), (1440, "light")):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=theme
            )
            asked: list[str] = []
            context.on("request", lambda request, asked=asked: asked.append(request.url))
            for page in pages:
                name = f"{page.replace('/', '-').removesuffix('.html')}-{width}-{theme}"
                looked_at(context, base + page, width, name, found)
            found["elsewhere"] += [
                url for url in asked if not url.startswith((base, "blob:", "data:"))
            ]
            context.close()
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        found["message"] = searched(context, base, ERROR)
        found["chinese"] = searched(context, base, "\u4e0d\u652f\u6301")
        found["translated"] = {words: searched(context, base, words)[:1] for words in TRANSLATED}
        if (Path(site) / "page" / "worker.js").is_file():
            found["home"] = answered(context, base)
        browser.close()
    sys.stdout.write(json.dumps(found))


CHROMIUM, AXE, SITE, PICTURES, *PAGES = sys.argv[1:]
main(CHROMIUM, SITE, PAGES)
