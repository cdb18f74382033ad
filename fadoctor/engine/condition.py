"""Three-valued conditions. One false test decides; else one unknown one does."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from fadoctor.engine.operators import OPERATORS
from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.engine.scope import Scope
    from fadoctor.model.rule import Condition


class Truth(enum.Enum):
    """What a test can come to. ``NOT_THERE`` is false because a fact is absent."""

    TRUE = "true"
    FALSE = "false"
    NOT_THERE = "not there"
    UNKNOWN = "unknown"


def holds(condition: Condition, scope: Scope) -> Truth:
    """Return whether all of a condition's keys hold."""
    return _all(_key(path, test, scope) for path, test in condition.items())


def _key(path: str, test: Any, scope: Scope) -> Truth:
    if path == "any":
        return _any(holds(branch, scope) for branch in test)
    fact = scope.resolve(path)
    if not isinstance(test, dict):
        return _test(fact, "is", test, scope)
    return _all(_test(fact, name, operand, scope) for name, operand in test.items())


def _test(fact: Fact, name: str, operand: Any, scope: Scope) -> Truth:
    if name == "present":
        return _present(fact, wanted=operand)
    other = _operand(operand, scope)
    # The order of the questions: what is absent weighs more than what is unknown.
    if isinstance(fact, Absent) or isinstance(other, Absent):
        return Truth.NOT_THERE
    if isinstance(fact, Unknown) or isinstance(other, Unknown):
        return Truth.UNKNOWN
    answer = OPERATORS[name](fact.value, other.value)
    return Truth.UNKNOWN if answer is None else _truth(answer=answer)


def _present(fact: Fact, *, wanted: bool) -> Truth:
    match fact:
        case Unknown():
            return Truth.UNKNOWN
        case Absent():
            return Truth.NOT_THERE if wanted else Truth.TRUE
        case Known():
            return _truth(answer=wanted)


def _operand(operand: Any, scope: Scope) -> Fact:
    if isinstance(operand, str) and operand.startswith("$"):
        return scope.resolve(operand[1:])
    return Known(tuple(operand) if isinstance(operand, list) else operand, "rule")


def _truth(*, answer: bool) -> Truth:
    return Truth.TRUE if answer else Truth.FALSE


def _all(truths: Iterable[Truth]) -> Truth:
    """Return the gravest answer; what is not there ends it, as nothing else can weigh more.

    Other tests are all made, so that the evidence of a failure does not depend on their order.
    """
    worst = Truth.TRUE
    for truth in truths:
        if truth is Truth.NOT_THERE:
            return truth
        if truth is Truth.FALSE or worst is Truth.TRUE:
            worst = truth
    return worst


def _any(truths: Iterable[Truth]) -> Truth:
    found = list(truths)
    for decisive in (Truth.TRUE, Truth.UNKNOWN, Truth.FALSE):
        if decisive in found:
            return decisive
    return Truth.NOT_THERE
