"""Small folder trees, and what they look like file for file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fadoctor.repair.apply.store import FOLDER


def grow(prefix: Path) -> Path:
    """Make a tree with everything that an environment has: links, copies, folders, rights."""
    site = prefix / "lib" / "site-packages"
    (site / "torch" / "lib").mkdir(parents=True)
    (site / "torch" / "version.py").write_text("__version__ = '1'\n")
    (site / "torch" / "lib" / "libtorch.so").write_bytes(b"\x7fELF" + bytes(1000))
    (site / "torch-1.dist-info").mkdir()
    (site / "torch-1.dist-info" / "RECORD").write_text("torch/version.py,,\n")
    (site / "paths.pth").write_text("/somewhere\n")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "tool").write_text("#!/bin/sh\n")
    (prefix / "bin" / "tool").chmod(0o755)
    (prefix / "lib64").symlink_to("lib")
    (prefix / "empty").mkdir(mode=0o750)
    return site


def manifest(prefix: Path) -> dict[str, object]:
    """Return every path below a folder with rights, time and content; our own folder apart."""
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(prefix):
        if FOLDER in folders and Path(folder) == prefix:
            folders.remove(FOLDER)
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            key = str(path.relative_to(prefix))
            if path.is_symlink():
                found[key] = ("link", str(path.readlink()))
            elif path.is_dir():
                found[key] = ("folder", stat.S_IMODE(status.st_mode), status.st_mtime_ns)
            else:
                mode = stat.S_IMODE(status.st_mode)
                found[key] = ("file", mode, status.st_mtime_ns, path.read_bytes())
    return found
