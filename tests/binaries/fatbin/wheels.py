"""Files out of published wheels, for tests that ask a package index."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

_PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux2014", "manylinux1")


def files_of(requirement: str, pattern: str, folder: Path) -> list[Path]:
    """Return the files of a wheel for Linux x86_64, CPython 3.11, whose path fits a pattern.

    FADOCTOR_TESTS_WHEELS names a folder that keeps wheels between runs.
    """
    kept = Path(os.environ.get("FADOCTOR_TESTS_WHEELS") or folder)
    name = re.sub("[-_.]+", "_", requirement.partition("==")[0])
    wheel = f"{name}-{requirement.partition('==')[2] or '*'}-*.whl"
    found = [path for path in kept.glob(wheel) if "win" not in path.name]
    if not found:
        _download(requirement, kept)
        found = [path for path in kept.glob(wheel) if "win" not in path.name]
    with zipfile.ZipFile(found[0]) as archive:
        members = fnmatch.filter(archive.namelist(), pattern)
        target = folder / found[0].stem
        return [Path(archive.extract(member, target)) for member in sorted(members)]


def _download(requirement: str, folder: Path) -> None:
    platforms = [f"--platform={platform}_x86_64" for platform in _PLATFORMS]
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11", *platforms]
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder), requirement]
    subprocess.run(command, check=True, timeout=600)
