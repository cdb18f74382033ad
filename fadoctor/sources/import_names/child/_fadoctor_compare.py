"""Comparisons of values of which some are not known."""

from __future__ import annotations

import operator
from typing import Any

from fadoctor.sources.import_names.child._fadoctor_values import UNKNOWN
from fadoctor.sources.import_names.child._fadoctor_version import Version, VersionText, parse

_ORDER = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
PLAIN = (str, int, float, bool, type(None))


def compared(left: Any, sign: str, right: Any) -> Any:
    """Return True, False or UNKNOWN."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    try:
        if sign in ("is", "is not"):
            return _same(left, right, sign == "is")
        if sign in ("in", "not in"):
            return _within(left, right, sign == "in")
        if isinstance(left, VersionText) or isinstance(right, VersionText):
            left, right = _as_version(left), _as_version(right)
        if isinstance(left, Version) and isinstance(right, Version):
            return bool(_ORDER[sign](left.key, right.key))
        plain = (*PLAIN, tuple)
        if isinstance(left, plain) and isinstance(right, plain):
            is_open = isinstance(left, tuple) and UNKNOWN in (*left, *right)  # type: ignore[misc]
            order: Any = _ORDER[sign]
            return UNKNOWN if is_open else bool(order(left, right))
    except TypeError:
        pass
    return UNKNOWN


def _as_version(value: Any) -> Any:
    """Return what ``torch.__version__`` makes of what it is compared with."""
    if isinstance(value, tuple) and all(type(part) in (int, str) for part in value):
        value = ".".join(map(str, value))
    return (parse(value) if isinstance(value, str) else value) or UNKNOWN


def _same(left: Any, right: Any, wanted: bool) -> Any:
    """Return whether two are the same thing, where one is None or both are true or false."""
    tellable = left is None or right is None
    tellable = tellable or (isinstance(left, bool) and isinstance(right, bool))
    return (left is right) == wanted if tellable else UNKNOWN


def _within(left: Any, right: Any, wanted: bool) -> Any:
    if isinstance(right, (list, tuple, set, frozenset, dict)) and UNKNOWN not in list(right):
        return (left in right) == wanted
    if isinstance(right, str) and isinstance(left, str):
        return (left in right) == wanted
    return UNKNOWN
