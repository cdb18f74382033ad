"""Packages that a log names by their folders and files."""

from __future__ import annotations

import re

from fadoctor.model.catalogue import EXTENSIONS, PACKAGES

# /site-packages/x_transformers/attend.py | C:\\v\\Lib\\site-packages\\peft\\peft_model.py
_FOLDER = re.compile(r"[\\/](?=[a-z])(\w{2,30})(?=[\\/])")


def packages_in(text: str) -> frozenset[str]:
    """Return the packages whose folders stand in paths of a text, by the prefix of their facts.

    .../site-packages/x_transformers/attend.py is one of x_transformers.
    """
    return frozenset(_FOLDER.findall(text)) & PACKAGES.keys()


def package_of(text: str) -> str:
    """Return the fact prefix of the package whose extension a text names, "" where it names none.

    .../site-packages/xformers/_C.so is one of xformers.
    """
    for key, names in EXTENSIONS.items():
        stems = [stem.rstrip("*") for several in names.values() for stem in several]
        if any(re.search(rf"(?<![A-Za-z0-9_]){re.escape(stem)}", text) for stem in stems):
            return key
    return "torch" if "/torch/lib/" in text else ""
