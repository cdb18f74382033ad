"""Chromium, its driver and axe, for tests that look at pages as their readers do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.uv import UV

if TYPE_CHECKING:
    from pathlib import Path


class Browser(NamedTuple):
    """A Chromium, and the folder that its driver and axe are installed in."""

    chromium: str
    folder: Path

    @property
    def axe(self) -> str:
        """The path of axe's script."""
        return str(self.folder / "node_modules" / "axe-core" / "axe.min.js")

    def asked(self, *program: str) -> Any:
        """Return the JSON that a program prints: Python's arguments, with the driver at hand."""
        done = subprocess.run(
            [sys.executable, *program],
            env={**os.environ, "PYTHONPATH": str(self.folder / "site")},
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)


def pictures(otherwise: str) -> str:
    """Return the folder of FADOCTOR_TESTS_PICTURES, for who wants to look at them, or another."""
    return os.environ.get("FADOCTOR_TESTS_PICTURES", "") or otherwise


def installed(folder: Path) -> Browser:
    """Install the driver and axe into a folder; skip where a part cannot be had here."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    npm = shutil.which("npm")
    if chromium is None or npm is None or shutil.which("node") is None:
        pytest.skip("no Chromium, npm or Node")
    run = (
        (npm, "install", "--silent", "--prefix", str(folder), "axe-core@4"),
        (UV, "pip", "install", "-q", "--python", sys.executable, "--target", str(folder / "site"),
         "playwright"),
    )  # fmt: skip
    for argv in run:
        subprocess.run(argv, cwd=folder, check=True, timeout=300)
    return Browser(chromium, folder)
