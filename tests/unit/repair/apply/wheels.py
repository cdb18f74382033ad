"""Tiny wheels, and a real virtual environment in a project's folder that pip installs them into."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """Write a wheel with these files beside its metadata; `{info}` is its dist-info."""
    info = f"{name}-{version}.dist-info"
    texts = {
        **{path.replace("{data}", f"{name}-{version}.data"): text for path, text in files.items()},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:main\n",
    }
    rows = [f"{path},{_hash(text)},{len(text)}" for path, text in texts.items()]
    texts[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in texts.items():
            archive.writestr(path, text)
    return wheel


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def make_wheels(folder: Path) -> Path:
    """Make two releases of `moved`; `gone`, `fresh`, `later` and `sloppy` in one."""
    folder.mkdir()
    for version in ("1", "2"):
        files = {
            "moved/__init__.py": f"version = {version}\ndef main(): print({version})\n",
            f"moved/only_{version}.py": f"here = {version}\n",
            "moved/big.bin": version * 200_000,
            "{data}/data/share/moved/notes.txt": f"notes of {version}\n",
            f"{{data}}/data/share/moved/{version}/more.txt": "more\n",
        }
        make_wheel(folder, "moved", version, files)
    files = {"sloppy.py": "def main(): pass\n", "{data}/data/README.md": "of the wheel\n"}
    make_wheel(folder, "sloppy", "1", files)
    for name in ("gone", "fresh", "later"):
        make_wheel(folder, name, "1", {f"{name}/__init__.py": "def main(): pass\n"})
    return folder


def make_project(folder: Path, *options: str) -> Path:
    """Make a git checkout whose folder is the environment, and return its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", *options, str(folder)], check=True)
    (folder / "train.py").write_text("print('first')\n")
    (folder / "notes.md").write_text("to do\n")
    (folder / ".git" / "refs").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "lib" / "mine").mkdir()
    (folder / "lib" / "mine" / "model.py").write_text("layers = 1\n")
    (folder / "bin" / "start.sh").write_text("#!/bin/sh\n")
    return next(folder.glob("lib/python*/site-packages"))


def pip(folder: Path, wheels: Path, *words: str) -> None:
    """Run the environment's pip without an index."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    argv = [*pip_program(folder), *words]
    if words[0] == "install":
        argv += ["--no-index", "--find-links", str(wheels)]
    subprocess.run(argv, check=True, capture_output=True, env=env)


def tiny(folder: Path, wheels: Path, *words: str) -> None:
    """Run the tiny installer."""
    argv = [*tiny_program(folder), *words, "--find-links", str(wheels)]
    subprocess.run(argv, check=True, capture_output=True)


def tiny_program(folder: Path) -> tuple[str, ...]:
    """Return the command of the tiny installer for an environment."""
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("tiny_installer.py")),
            str(folder))  # fmt: skip


def pip_program(folder: Path) -> tuple[str, ...]:
    """Return the command of the environment's own pip."""
    return (str(folder / "bin" / "python"), "-m", "pip")


def installed_names(site: Path) -> dict[str, str]:
    """Return name and version of what is installed."""
    found = (re.fullmatch(r"(.+)-(.+)\.dist-info", path.name) for path in site.iterdir())
    return {match[1]: match[2] for match in found if match and match[1] != "setuptools"}
