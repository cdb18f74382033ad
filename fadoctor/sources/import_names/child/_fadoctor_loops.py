"""Lists, sets and dicts that are made by loops over what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from fadoctor.sources.import_names.child._fadoctor_compare import PLAIN
from fadoctor.sources.import_names.child._fadoctor_values import UNKNOWN, Frame, truth

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_eval import Evaluator

Node = List[Any]

ITEM_LIMIT = 5_000
_KEYS = (*PLAIN, frozenset)


def comprehended(evaluator: Evaluator, node: Node, frame: Frame) -> Any:
    """Return what a comprehension makes; UNKNOWN where not all of it is known."""
    _, kind, made, loops = node
    found: List[List[Any]] = []
    inner = Frame(frame.module, dict(frame.names), is_function=True)
    if not _looped(evaluator, loops, made, inner, found):
        return UNKNOWN
    if kind == "D":
        return dict(found) if all(isinstance(key, _KEYS) for key, _ in found) else UNKNOWN
    values = [value for [value] in found]
    if kind == "S":
        return set(values) if all(isinstance(v, _KEYS) for v in values) else UNKNOWN
    return values


def _looped(
    evaluator: Evaluator, loops: List[Any], made: List[Node], frame: Frame, found: List[Any]
) -> bool:
    """Add what loops give; return whether all of it is known."""
    if not loops:
        found.append([evaluator.value(part, frame) for part in made])
        return len(found) <= ITEM_LIMIT
    target, over, tests = loops[0]
    items = evaluator.value(over, frame)
    if type(items) not in (list, tuple, set, dict) or len(items) > ITEM_LIMIT:
        return False
    for item in list(items):
        if item is UNKNOWN:
            return False
        evaluator.runner.step()
        evaluator.runner.names.bind(target, item, frame)
        wanted = [truth(evaluator.value(test, frame)) for test in tests]
        if None in wanted:
            return False
        if all(wanted) and not _looped(evaluator, loops[1:], made, frame, found):
            return False
    return True
