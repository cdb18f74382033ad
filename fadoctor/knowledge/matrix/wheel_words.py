"""The words in the names of wheels: tags, Pythons and CUDA labels."""

from __future__ import annotations

import re

# cu12, cu118, cu132: the major has two digits, the minor one or none
_LABEL = re.compile(r"cu([0-9]{2})([0-9]?)")
# cp37m, cp311, cp313t, cp39-abi3
_PYTHON_TAG = re.compile(r"cp([0-9])([0-9]{1,2})(t?)")
_FEWEST = 5
"""Parts of a wheel's name: name, version and three tags (PEP 427)."""


def tags_of(file: str) -> tuple[list[str], list[str], list[str]] | None:
    """Return the tags of Python, ABI and platform in a wheel's name; None where it has none."""
    parts = file.removesuffix(".whl").split("-") if file.endswith(".whl") else []
    if len(parts) < _FEWEST:
        return None
    python, abi, platform = (part.split(".") for part in parts[-3:])
    return python, abi, platform


def python_fits(built: str, wanted: str) -> bool:
    """Compare ABI tags; the limited API serves its own and later Pythons, if they have the GIL."""
    tag, _, limited = built.partition("-")
    if not limited:
        return tag == wanted
    mine, theirs = _PYTHON_TAG.fullmatch(tag), _PYTHON_TAG.fullmatch(wanted)
    if mine is None or theirs is None or theirs[3]:
        return False
    return (int(mine[1]), int(mine[2])) <= (int(theirs[1]), int(theirs[2]))


def label_parts(label: str) -> tuple[str, str]:
    """Return major and minor of a CUDA label, the minor "" where it names none."""
    match = _LABEL.fullmatch(label)
    return (match[1], match[2]) if match else ("", "")


def python_tag(abi_tag: str) -> str:
    """Return the Python tag that goes with an ABI tag: ``cp37`` with ``cp37m``."""
    return abi_tag.rstrip("mt")
