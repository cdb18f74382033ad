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


_TRUTHS = {True: Truth.TRUE, False: Truth.FALSE, None: Truth.UNKNOWN}
"""What an operator's answer means; None is that two values cannot be compared."""


def holds(condition: Condition, scope: Scope) -> Truth:
    """Return whether all of a condition's keys hold: the first that does not decides.

    Where none is false all are asked, so that a failure names all its evidence.
    """
    worst = Truth.TRUE
    for path, test in condition.items():
        if path == "any":
            truth = _any(test, scope)
        elif isinstance(test, dict):
            truth = _all(test, scope.resolve(path), scope)
        else:
            truth = _test("is", test, scope.resolve(path), scope)
        if truth is Truth.UNKNOWN:
            worst = truth
        elif truth is not Truth.TRUE:
            return truth
    return worst


def _test(name: str, operand: Any, fact: Fact, scope: Scope) -> Truth:
    """Return what one operator says; what is absent weighs more than what is unknown."""
    if name == "present":
        return _present(fact, wanted=operand)
    if isinstance(fact, Absent):
        return Truth.NOT_THERE
    if isinstance(operand, str) and operand.startswith("$"):
        other = scope.resolve(operand[1:])
        if not isinstance(other, Known):
            return Truth.NOT_THERE if isinstance(other, Absent) else Truth.UNKNOWN
        operand = other.value
    elif isinstance(operand, list):
        operand = tuple(operand)
    if isinstance(fact, Unknown):
        return Truth.UNKNOWN
    return _TRUTHS[OPERATORS[name](fact.value, operand)]


def _present(fact: Fact, *, wanted: bool) -> Truth:
    match fact:
        case Unknown():
            return Truth.UNKNOWN
        case Absent():
            return Truth.NOT_THERE if wanted else Truth.TRUE
        case Known():
            return _TRUTHS[wanted]


def _all(tests: Mapping[str, Any], fact: Fact, scope: Scope) -> Truth:
    """Ask a fact's tests in order: the first false one decides, else an unknown one does."""
    worst = Truth.TRUE
    for name, operand in tests.items():
        truth = _test(name, operand, fact, scope)
        if truth is Truth.UNKNOWN:
            worst = truth
        elif truth is not Truth.TRUE:
            return truth
    return worst


def _any(branches: Iterable[Condition], scope: Scope) -> Truth:
    """Ask all branches, so that a failure names all its evidence."""
    found = [holds(branch, scope) for branch in branches]
    for decisive in (Truth.TRUE, Truth.UNKNOWN, Truth.FALSE):
        if decisive in found:
            return decisive
    return Truth.NOT_THERE
