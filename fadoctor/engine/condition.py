"""Three-valued conditions. One false test decides; else one unknown one does."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from fadoctor.engine.operators import OPERATORS
from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.engine.scope import Scope
    from fadoctor.model.rule import Condition


class Truth(enum.Enum):
    """What a test can come to. ``NOT_THERE`` is false because a fact is absent."""

    TRUE = "true"
    FALSE = "false"
    NOT_THERE = "not there"
    UNKNOWN = "unknown"


_TRUE, _FALSE, _NOT_THERE, _UNKNOWN = Truth.TRUE, Truth.FALSE, Truth.NOT_THERE, Truth.UNKNOWN
"""By names that cost no look-up of an attribute: they are asked for thousands of times."""

_TRUTHS = {True: _TRUE, False: _FALSE, None: _UNKNOWN}
"""What an operator's answer means; None is that two values cannot be compared."""


def holds(condition: Condition, scope: Scope) -> Truth:
    """Return whether all of a condition's keys hold: the first that does not decides.

    Where none is false all are asked, so that a failure names all its evidence.
    """
    worst = _TRUE
    for path, test in condition.items():
        if path == "any":
            truth = _any(test, scope)
        elif isinstance(test, dict):
            truth = _all(test, scope.resolve(path), scope)
        else:
            truth = _test("is", test, scope.resolve(path), scope)
        if truth is _UNKNOWN:
            worst = truth
        elif truth is not _TRUE:
            return truth
    return worst


def _test(name: str, operand: Any, fact: Fact, scope: Scope) -> Truth:
    """Return what one operator says; what is absent weighs more than what is unknown."""
    if name == "present":
        return _present(fact, wanted=operand)
    if isinstance(fact, Absent):
        return _NOT_THERE
    if isinstance(operand, str) and operand.startswith("$"):
        other = scope.resolve(operand[1:])
        if not isinstance(other, Known):
            return _NOT_THERE if isinstance(other, Absent) else _UNKNOWN
        operand = other.value
    elif isinstance(operand, list):
        operand = tuple(operand)
    if isinstance(fact, Unknown):
        return _UNKNOWN
    return _TRUTHS[OPERATORS[name](fact.value, operand)]


def _present(fact: Fact, *, wanted: bool) -> Truth:
    match fact:
        case Unknown():
            return _UNKNOWN
        case Absent():
            return _NOT_THERE if wanted else _TRUE
        case Known():
            return _TRUTHS[wanted]


def _all(tests: Mapping[str, Any], fact: Fact, scope: Scope) -> Truth:
    """Ask a fact's tests in order: the first false one decides, else an unknown one does."""
    worst = _TRUE
    for name, operand in tests.items():
        truth = _test(name, operand, fact, scope)
        if truth is _UNKNOWN:
            worst = truth
        elif truth is not _TRUE:
            return truth
    return worst


def _any(branches: Iterable[Condition], scope: Scope) -> Truth:
    """Ask all branches, so that a failure names all its evidence."""
    found = [holds(branch, scope) for branch in branches]
    for decisive in (_TRUE, _UNKNOWN, _FALSE):
        if decisive in found:
            return decisive
    return _NOT_THERE
