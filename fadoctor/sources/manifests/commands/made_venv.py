"""Which Python an environment is made with by a command: uv venv, python3.11 -m venv, ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.manifests.planned import Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.syntax.dockerfile import Text
    from fadoctor.syntax.shell_filled_words import FilledWord

# 3.11, python3.11, /usr/bin/python3.11, cpython@3.11.4
_PYTHON = re.compile(r"(?:(?:\S{0,200}/)?(?:c?python)?@?)(3\.\d{1,2})(?:\.\d{1,3})?")
_OPTION = re.compile(r"(?:-p|--python)(?:=(.{1,200}))?")
_MAKERS = (("uv", "venv"), ("virtualenv",))
_MODULES = frozenset(("venv", "virtualenv"))


def made_with(words: Sequence[FilledWord], text: Text) -> Setting | None:
    """Return the Python of the environment that a command makes, None where it names none."""
    names = [word.text for word in words]
    if any(tuple(names[: len(maker)]) == maker for maker in _MAKERS):
        asked = _asked(names)
    elif names[1:2] == ["-m"] and set(names[2:3]) & _MODULES:
        asked = names[0]
    else:
        return None
    found = _PYTHON.fullmatch(asked)
    return Setting(f"=={found[1]}.*", text.place(words[0].at)) if found else None


def _asked(names: Sequence[str]) -> str:
    """Return the value of ``--python``, "" where it is not given."""
    for at, name in enumerate(names):
        option = _OPTION.fullmatch(name)
        if option:
            return option[1] or "".join(names[at + 1 : at + 2])
    return ""
