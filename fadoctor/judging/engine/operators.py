"""The operators of conditions: small pure functions over two values.

Each answers True, False, or None where the two cannot be compared (then the test is unknown).
The second of each pair is the first one's opposite.
"""

from __future__ import annotations

from collections.abc import Callable

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.fact import Value

_VERSION_STARTS = frozenset("v0123456789")
"""What a version can begin with: asking this costs less than asking a parser."""

Operator = Callable[[Value, Value], "bool | None"]


def is_equal(value: Value, operand: Value) -> bool | None:
    """Compare; two versions are compared as versions, an integer with its text."""
    if isinstance(value, bool) or isinstance(operand, bool):
        return value is operand
    if isinstance(value, (str, int)) and isinstance(operand, (str, int)):
        one, other = str(value), str(operand)
        if one == other:
            return True
        if one[:1] not in _VERSION_STARTS or other[:1] not in _VERSION_STARTS:
            return False
        left, right = parse_version(one), parse_version(other)
        return left == right and left is not None
    return value == operand


def is_member(value: Value, operand: Value) -> bool | None:
    """Return whether the value is one of a list."""
    if not isinstance(operand, (tuple, list)):
        return None
    return any(is_equal(value, item) for item in operand)


def is_below(value: Value, operand: Value) -> bool | None:
    """Compare as versions or numbers."""
    left, right = parse_version(str(value)), parse_version(str(operand))
    return None if left is None or right is None else left < right


def does_satisfy(value: Value, operand: Value) -> bool | None:
    """Match a version against a specifier; pre-releases count, an empty one takes everything."""
    version, specifier = parse_version(str(value)), parse_specifier(str(operand))
    if version is None or specifier is None:
        return None
    return specifier.contains(version, prereleases=True)


def is_patch_of(value: Value, operand: Value) -> bool | None:
    """Return whether a specifier pins another patch of the version's own minor release."""
    version, specifier = parse_version(str(value)), parse_specifier(str(operand))
    if version is None or specifier is None:
        return None
    pins = [parse_version(clause.version) for clause in specifier if clause.operator == "=="]
    return any(pin is not None and pin.release[:2] == version.release[:2] for pin in pins)


def does_overlap(value: Value, operand: Value) -> bool | None:
    """Return whether two lists share a member."""
    if not isinstance(value, (tuple, list)) or not isinstance(operand, (tuple, list)):
        return None
    return not set(value).isdisjoint(operand)


def does_contain(value: Value, operand: Value) -> bool | None:
    """Return whether a list has the member, a mapping the key, a text the part."""
    if isinstance(operand, (tuple, list, dict)):
        return None
    if isinstance(value, (tuple, list, dict)):
        return operand in value
    if isinstance(value, str) and isinstance(operand, str):
        return operand in value
    return None


def _opposite(operator: Operator) -> Operator:
    def opposite(value: Value, operand: Value) -> bool | None:
        answer = operator(value, operand)
        return None if answer is None else not answer

    return opposite


OPERATORS: dict[str, Operator] = {
    "is": is_equal,
    "not": _opposite(is_equal),
    "in": is_member,
    "not_in": _opposite(is_member),
    "below": is_below,
    "at_least": _opposite(is_below),
    "satisfies": does_satisfy,
    "violates": _opposite(does_satisfy),
    "patch_of": is_patch_of,
    "not_patch_of": _opposite(is_patch_of),
    "overlaps": does_overlap,
    "disjoint": _opposite(does_overlap),
    "contains": does_contain,
    "lacks": _opposite(does_contain),
}
"""All but ``present``, which asks about the fact and not about its value."""
