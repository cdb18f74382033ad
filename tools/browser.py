"""Debian's Chromium, without a window, by its own protocol over a pipe: screenshots and timings.

No driver is needed: messages are JSON objects that end with a zero byte, on descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DEADLINE_S = 120.0
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
          "--no-first-run", "--disable-extensions", "--remote-debugging-pipe")  # fmt: skip
_LONGEST_PICTURE = 16_000
"""Height of a screenshot, pixels: Chromium draws nothing that is taller."""


def chromium() -> str:
    """Return the browser's path, "" where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or ""


class Browser:
    """One browser with one page."""

    def __init__(self) -> None:
        """Start it, with a profile of its own."""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        argv = [chromium(), *_FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        # the shell puts the two ends where Chromium looks for them
        line = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, "sh", *argv],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._read = b""
        self._number = 0
        self._session = ""
        self.asked: list[str] = []
        """Addresses that a page asked for."""
        self._attach()

    def __enter__(self) -> Browser:  # noqa: PYI034 -- Self is of Python 3.11
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        os.close(self._out)
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        self._profile.cleanup()

    def open(self, page: Path, width: int, height: int, theme: str) -> None:
        """Show a file at a size, in the theme ``light`` or ``dark``, and wait until it stands."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": theme}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=page.resolve().as_uri())
        self.value("new Promise(r => document.readyState === 'complete' ? r(1) : "
                   "addEventListener('load', () => r(1)))")  # fmt: skip
        self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def value(self, expression: str) -> Any:
        """Return what an expression of the page is worth."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True,
                            returnByValue=True)  # fmt: skip
        return answer["result"].get("value")

    def picture(self, width: int, height: int = 0) -> bytes:
        """Return a PNG of the page's upper part; of all of it without a height."""
        whole = int(self.value("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "scale": 1,
                "height": min(height or whole, _LONGEST_PICTURE)}  # fmt: skip
        answer = self._call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def _attach(self) -> None:
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)[
            "sessionId"
        ]
        for part in ("Page", "Runtime", "Network"):
            self._call(f"{part}.enable")

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _DEADLINE_S
        while time.monotonic() < deadline:
            answer = self._message()
            if answer.get("method") == "Network.requestWillBeSent":
                self.asked.append(answer["params"]["request"]["url"])
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found
        raise TimeoutError(method)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has gone")
            self._read += part
        text, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found


def pictures_of(page: Path, folder: Path, widths: Sequence[int] = (360, 768, 1440)) -> list[Path]:
    """Write a page as it looks at every width in both themes; return the files."""
    written = []
    with Browser() as browser:
        for theme in ("light", "dark"):
            for width in widths:
                browser.open(page, width, 900, theme)
                file = folder / f"{page.stem}-{width}-{theme}.png"
                file.write_bytes(browser.picture(width))
                written.append(file)
    return written
