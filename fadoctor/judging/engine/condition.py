"""Three-valued conditions. One false test decides; else one unknown one does."""

from __future__ import annotations

import enum
from functools import partial
from typing import TYPE_CHECKING, Any

from fadoctor.judging.engine.operators import OPERATORS
from fadoctor.judging.engine.scope import reader
from fadoctor.model.fact import Absent, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fadoctor.judging.engine.operators import Operator
    from fadoctor.judging.engine.scope import Reader, Scope
    from fadoctor.model.rule import Condition, Rule

    Asked = Callable[[Scope], "Truth"]
    """A condition, or one of its keys, ready to be asked."""


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
    hanging = scope.rule.__dict__
    try:
        ready: dict[int, tuple[Condition, Asked]] = hanging["conditions"]
    except KeyError:
        ready = hanging["conditions"] = {}
    found = ready.get(id(condition))
    if found is None or found[0] is not condition:
        found = ready[id(condition)] = condition, _every_key(condition, scope.rule)
    return found[1](scope)


def lacks_the_first(rule: Rule, scope: Scope) -> bool:
    """Return whether a fact is Absent that a rule asks for first; it is read as `holds` would.

    Most rules are about what is not there: this is the short way to that answer.
    """
    hanging = rule.__dict__
    try:
        head, tail = hanging["first"]
    except KeyError:
        head, tail = hanging["first"] = _first(rule)
    if not tail:
        return False
    name = scope.bindings.get(head, head) + tail
    fact = scope.environment.facts.get(name)
    if not isinstance(fact, Absent):
        return False
    scope.read[name] = fact
    return True


def _first(rule: Rule) -> tuple[str, str]:
    """Return the head and the rest of the first path of a rule; "" where no fact decides there."""
    path, test = next(iter(rule.when.items()), ("", None))
    head, dot, rest = path.partition(".")
    if not rest or head in rule.rows:
        return "", ""
    name, operand = next(iter(tests_of(test).items()))
    return ("", "") if name == "present" and not operand else (head, dot + rest)


def _every_key(condition: Condition, rule: Rule) -> Asked:
    """Make a condition of a rule ready: its paths and operators are looked up once."""
    keys = [_key(path, test, rule) for path, test in condition.items()]
    return keys[0] if len(keys) == 1 else partial(all_of, keys)


def all_of(keys: Iterable[Asked], scope: Scope) -> Truth:
    """Ask in order: the first that is false decides, else one that is unknown does."""
    worst = _TRUE
    for key in keys:
        truth = key(scope)
        if truth is _UNKNOWN:
            worst = truth
        elif truth is not _TRUE:
            return truth
    return worst


def _key(path: str, test: Any, rule: Rule) -> Asked:
    """Make one key of a condition ready."""
    if path == "any":
        branches = [_every_key(branch, rule) for branch in test]
        return partial(any_of, branches)
    ready = [tested(path, name, operand, rule) for name, operand in tests_of(test).items()]
    return ready[0] if len(ready) == 1 else partial(all_of, ready)


def tests_of(test: Any) -> dict[str, Any]:
    """Return the operators of one key of a condition, with their operands; a plain value is one."""
    return test if isinstance(test, dict) else {"is": test}


def any_of(branches: Iterable[Asked], scope: Scope) -> Truth:
    """Ask all branches, so that a failure names all its evidence."""
    found = [branch(scope) for branch in branches]
    for decisive in (_TRUE, _UNKNOWN, _FALSE):
        if decisive in found:
            return decisive
    return _NOT_THERE


def tested(path: str, name: str, operand: Any, rule: Rule) -> Asked:
    """Make one test of a fact ready; what is absent weighs more than what is unknown."""
    read = reader(rule, path)
    if name == "present":
        return partial(_is_present if operand else _is_absent, read)
    operator = OPERATORS[name]
    if isinstance(operand, str) and operand.startswith("$"):
        return partial(_compared, operator, read, reader(rule, operand[1:]))
    value = tuple(operand) if isinstance(operand, list) else operand

    def compared(scope: Scope) -> Truth:
        fact = read(scope)
        if isinstance(fact, Absent):  # most often: what a rule asks for first is not there
            return _NOT_THERE
        return _TRUTHS[operator(fact.value, value)] if isinstance(fact, Known) else _UNKNOWN

    return compared


def _compared(operator: Operator, read: Reader, read_other: Reader, scope: Scope) -> Truth:
    """Test a fact against another."""
    fact = read(scope)
    if isinstance(fact, Absent):
        return _NOT_THERE
    other = read_other(scope)
    if isinstance(other, Absent):
        return _NOT_THERE
    if isinstance(other, Known) and isinstance(fact, Known):
        return _TRUTHS[operator(fact.value, other.value)]
    return _UNKNOWN


def _is_present(read: Reader, scope: Scope) -> Truth:
    fact = read(scope)
    if isinstance(fact, Known):
        return _TRUE
    return _NOT_THERE if isinstance(fact, Absent) else _UNKNOWN


def _is_absent(read: Reader, scope: Scope) -> Truth:
    fact = read(scope)
    if isinstance(fact, Absent):
        return _TRUE
    return _FALSE if isinstance(fact, Known) else _UNKNOWN
