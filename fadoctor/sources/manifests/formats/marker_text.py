"""Environment markers that other formats write in their own way."""

from __future__ import annotations

import re

# a comparison: sys_platform == 'linux'
_COMPARISON = re.compile(
    r"""\s{0,20}(\w{1,50})\s{0,20}(===?|!=|<=|>=|<|>)\s{0,20}("[^"]{0,100}"|'[^']{0,100}')\s{0,20}"""
)
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}

_CLAUSE = re.compile(r"(===?|~=|!=|<=|>=|<|>)([^,]{1,100})")


def opposite(text: str) -> str | None:
    """Return the marker that holds where this one does not; None where it is not plain to say."""
    if " or " in text and " and " not in text and "(" not in text:
        parts, word = text.split(" or "), " and "
    elif " and " in text and " or " not in text and "(" not in text:
        parts, word = text.split(" and "), " or "
    else:
        parts, word = [text], ""
    turned = []
    for part in parts:
        found = _COMPARISON.fullmatch(part)
        if found is None or found[2] not in _OPPOSITES:
            return None
        turned.append(f"{found[1]} {_OPPOSITES[found[2]]} {found[3]}")
    return word.join(turned)


def python_marker(specifier: str) -> str:
    """Return the marker for a range of Python: ``python_version >= '3.8'``."""
    found = []
    for operator, version in _CLAUSE.findall(specifier.replace(" ", "")):
        name = "python_full_version" if version.count(".") > 1 and "*" not in version else ""
        found.append(f"{name or 'python_version'} {operator} '{version}'")
    return " and ".join(found)
