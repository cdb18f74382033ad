"""Drives the page in Chromium and prints what it saw as JSON; a script for a process of its own.

Usage: python page_driver.py CHROMIUM AXE PAGE PICTURES
       python page_driver.py CHROMIUM PAGE    prints processor times alone (bench/page.py)
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

KINDS = ("error", "issue", "report", "requirements", "unpinned", "configuration")
LIMIT_S = 120.0
READY = "document.documentElement.dataset.ready === 'yes'"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def until(page: Any, expression: str) -> None:
    """Wait; the page's policy forbids what the driver would poll with."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if page.evaluate(expression):
            return
        time.sleep(0.02)
    raise SystemExit(f"never: {expression}; state: {page.inner_text('#state')}")


def processor_s() -> float:
    """Return the processor time of all of Chromium, seconds."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # Other programs may have names that are no text.
            if PROFILE.encode() in (folder / "cmdline").read_bytes():
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def answered(page: Any, kind: str) -> dict[str, Any]:
    shown = int(page.get_attribute("#answer", "data-shown") or 0)
    begun = processor_s()
    page.select_option("#example", kind)
    until(page, f"+document.getElementById('answer').dataset.shown > {shown}")
    spent = processor_s() - begun
    until(page, "document.getElementById('answer').dataset.more === 'no'")
    return {
        "kind": page.get_attribute("#answer", "data-kind"),
        "cpu_s": round(spent, 2),
        "with_plan_s": round(processor_s() - begun, 2),
        "errors": len(page.query_selector_all("#answer .fails")),
    }


def looked_at(page: Any, width: int, theme: str, found: dict[str, Any], axe: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    kind = page.get_attribute("#answer", "data-kind")
    page.screenshot(path=f"{PICTURES}/{kind}-{width}-{theme}.png", full_page=True)
    if page.evaluate("document.documentElement.scrollWidth") > width:
        found["wide"].append(f"{width} {theme}")
    page.evaluate(axe)
    for each in page.evaluate("axe.run()")["violations"]:
        where = f"{width} {theme}: {each['id']}: {each['nodes'][0]['html'][:200]}"
        found["violations"].append(where)


def keyboard(page: Any) -> list[str]:
    page.evaluate("document.activeElement.blur(); document.getElementById('text').focus()")
    order = []
    for _ in range(3):
        order.append(page.evaluate("document.activeElement.id"))
        page.keyboard.press("Tab")
    return order


def refused(page: Any) -> bool:
    """Return whether the policy stops a connection to elsewhere, from the page and its worker."""
    return bool(
        page.evaluate(
            "fetch('http://127.0.0.2:9/').then(() => false, () => true).then(async (page) => {"
            "  const source = `fetch('http://127.0.0.2:9/').then(() => postMessage(0),"
            "    () => postMessage(1)); addEventListener('securitypolicyviolation',"
            "    () => postMessage(2));`;"
            "  const url = URL.createObjectURL(new Blob([source], {type: 'text/javascript'}));"
            "  const said = await new Promise((go) => {"
            "    const found = []; const worker = new Worker(url);"
            "worker.onmessage = (e) => { found.push(e.data); if (found.length > 1) go(found); };"
            "    setTimeout(() => go(found), 3000); });"
            "  return page && said.includes(2); })"
        )
    )


def served(folder: str) -> http.server.ThreadingHTTPServer:
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def timed(chromium: str, folder: str) -> None:
    """Print the processor time of loading with the first answer, and of each further one."""
    server = served(folder)
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            PROFILE, executable_path=chromium, args=["--no-sandbox"], headless=True
        )
        page = context.new_page()
        begun = processor_s()
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        until(page, READY)
        loading = processor_s() - begun
        first, *others = (answered(page, kind)["cpu_s"] for kind in KINDS)
        context.close()
    server.shutdown()
    sys.stdout.write(json.dumps({"first_s": loading + first, "next_s": max(others)}))


def main(chromium: str, axe: str, folder: str) -> None:
    server = served(folder)
    base = f"http://127.0.0.1:{server.server_port}/"
    found: dict[str, Any] = {"said": [], "violations": [], "wide": [], "answers": []}
    found["bytes"] = sum(file.stat().st_size for file in Path(folder).iterdir())
    asked = []
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            PROFILE, executable_path=chromium, args=["--no-sandbox"], headless=True,
            permissions=["clipboard-read", "clipboard-write"],
        )  # fmt: skip
        page = context.new_page()
        context.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: found["said"].append(message.text))
        page.on("pageerror", lambda error: found["said"].append(str(error)))
        page.goto(base + "index.html")
        until(page, READY)
        script = Path(axe).read_text(encoding="utf-8")
        for kind in KINDS:
            found["answers"].append(answered(page, kind))
        for width in (360, 768, 1440):
            for theme in ("light", "dark"):
                looked_at(page, width, theme, found, script)
        found["keyboard"] = keyboard(page)
        page.click("#markdown")
        until(page, "document.getElementById('markdown').textContent !== 'Copy as Markdown'")
        found["markdown"] = page.evaluate("navigator.clipboard.readText()")
        found["elsewhere"] = [url for url in asked if not url.startswith((base, "blob:", "data:"))]
        said = list(found["said"])
        found["refused"] = refused(page)
        found["said"] = said  # refusals are told on the console
        server.shutdown()
        server.server_close()
        page.goto("about:blank")
        page.goto(base + "index.html#rule=gpu-too-old-fa2")
        until(page, "+document.getElementById('answer').dataset.shown > 0")
        found["offline"] = found["linked"] = page.inner_text("#state")
        context.close()
    sys.stdout.write(json.dumps(found))


CHROMIUM, *REST = sys.argv[1:]
if len(REST) == 1:
    PROFILE = tempfile.mkdtemp(prefix="profile-")
    timed(CHROMIUM, *REST)
else:
    AXE, PAGE, PICTURES = REST
    PROFILE = f"{PICTURES}/profile"
    main(CHROMIUM, AXE, PAGE)
