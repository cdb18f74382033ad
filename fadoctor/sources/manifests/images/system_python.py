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

# ln -sf /usr/bin/python3.11 /usr/bin/python3
_LINK = re.compile(
    r"\bln\s+-\w{1,9}\s+\S{0,200}?/python(3\.\d{1,2})\s+/usr/bin/python3(?=[\s;&]|$)"
)
# update-alternatives --install /usr/bin/python3 python3 /usr/bin/python3.11 1
_ALTERNATIVE = re.compile(
    r"\bupdate-alternatives\s+--install\s+/usr/bin/python3\s+python3\s+\S{0,200}?/python(3\.\d{1,2})\s"
)

OTHERS = re.compile(
    r"(?i)conda|mamba|pyenv|pixi|\bvirtualenv\b|rye\b|linuxbrew|\bUV_PYTHON|\bUV_PROJECT"
    r"|\buv[ \t]+(?:-\S{1,99}[ \t]+)?(?:venv|sync|run|python|init|tool|add|lock)\b"
    r"|\buv[ \t]+pip\b[^&|;]{0,2000}?\s(?:-p|--python)\b"
)
"""What may put another Python first: then nothing is said."""


def asked_python(text: str, default: str) -> str:
    """Return the minor version that commands install, or make python3; "" where none is sure.

    `default`: the Python of the system itself, "" where it is not known.
    """
    linked = {*_LINK.findall(text), *_ALTERNATIVE.findall(text)}
    if linked:
        return linked.pop() if len(linked) == 1 else ""
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
