"""The words in the names of flash-attn's wheels: Pythons and CUDA labels."""

from __future__ import annotations

import re

# cu12, cu118, cu132: the major has two digits, the minor one or none
_LABEL = re.compile(r"cu([0-9]{2})([0-9]?)")
# cp37m, cp311, cp313t, cp39-abi3
_PYTHON_TAG = re.compile(r"cp([0-9])([0-9]{1,2})(t?)")


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
