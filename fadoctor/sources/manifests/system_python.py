"""The Python that commands of a system's package manager install into an image."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.rule import Table

_INSTALL = re.compile(r"\bapt(?:-get)?\b[^&|;\n]{0,200}?\binstall\b([^&|;]{0,8000})")
# python3.10, python3.10-dev
_EXACT = re.compile(r"python(3\.\d{1,2})(?:-[a-z]{1,20})?")
# python3, python3-pip, python-is-python3
_DEFAULT = re.compile(r"(?:python-is-)?python3(?:-(?:pip|dev|venv|full))?")

OTHERS = re.compile(r"(?i)conda|mamba|pyenv|pixi|\buv\b|\bvirtualenv\b|rye\b|linuxbrew")
"""What may put another Python first: then nothing is said."""


def asked_python(text: str, default: str) -> str:
    """Return the minor version that commands install, "" where none is sure.

    `default`: the Python of the system itself, "" where it is not known.
    """
    words = [word for found in _INSTALL.findall(text) for word in found.split()]
    exact = {found[1] for word in words if (found := _EXACT.fullmatch(word))}
    has_default = any(_DEFAULT.fullmatch(word) for word in words)
    asked = exact | ({default} if has_default else set())
    return asked.pop() if len(asked) == 1 else ""


def default_python(system: str, tables: Mapping[str, Table]) -> str:
    """Return the Python 3 of a release of a distribution, as tags of images name it."""
    for row in tables["os-glibc"].rows:
        if system in str(row["os"]).split():
            return str(row.get("python") or "")
    return ""
