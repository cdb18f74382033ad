"""Statements with blocks, as far as it can be told which of them run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional

from fadoctor.sources.import_names.child._fadoctor_thin import blocks_of
from fadoctor.sources.import_names.child._fadoctor_values import (
    UNKNOWN,
    Frame,
    Left,
    Raised,
    Returned,
    catches,
    truth,
)

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_run import Runner

Node = List[Any]

LOOP_LIMIT = 400


def if_(runner: Runner, node: Node, frame: Frame) -> None:
    """Follow a branch: where nobody knows which, both may run."""
    known = truth(runner.evaluator.value(node[2], frame))
    if known is not None:
        runner.block(node[3] if known else node[4], frame)
        return
    runner.loose.block(node[3], frame)
    runner.loose.block(node[4], frame)
    if frame.is_function and (_holds(node[3], "V") or _holds(node[4], "V")):
        raise Returned(UNKNOWN)


def try_(runner: Runner, node: Node, frame: Frame) -> None:
    """Follow a try: its body, and the handler of what it surely raises."""
    _, _, body, handlers, orelse, final = node
    guard = [False]
    runner.guards.append(guard)
    caught: Optional[Raised] = None
    try:
        runner.block(body, frame)
    except Raised as raised:
        caught = raised
    finally:
        runner.guards.pop()
    try:
        if caught is None:
            for kinds, _, handler in handlers:
                if guard[0] or not _only_raised_here(kinds):
                    runner.loose.block(handler, frame, keep=not guard[0])
            runner.block(orelse, frame)
        else:
            _handle(runner, caught, handlers, frame)
    finally:
        runner.block(final, frame)


def _handle(runner: Runner, caught: Raised, handlers: List[Any], frame: Frame) -> None:
    """Run the handler of what was raised; Raised again where there is none."""
    for kinds, name, body in handlers:
        matches = _matches(kinds, caught, frame)
        if matches is None:
            for _, _, other in handlers:
                runner.loose.block(other, frame)
            if frame.is_function:
                raise Returned(UNKNOWN)
            return
        if matches:
            if name:
                frame.names[name] = UNKNOWN
            try:
                runner.block(body, frame)
            except Raised as raised:
                if raised.broken is None:
                    raised.broken = caught.broken
                raise
            return
    raise caught


def _matches(kinds: Optional[Node], caught: Raised, frame: Frame) -> Optional[bool]:
    """Return whether a handler's types surely are, or are not, those of what is raised."""
    if kinds is None:
        return True
    if not kinds or kinds[0] not in "nat":
        return None
    if kinds[0] == "t":
        each = [_matches(kind, caught, frame) for kind in kinds[1]]
        return True if True in each else (None if None in each else False)
    return catches(str(kinds[-1]), caught.kind)


def with_(runner: Runner, node: Node, frame: Frame) -> None:
    """Follow a with: ``suppress`` is a try."""
    for context, target in node[2]:
        runner.evaluator.value(context, frame)
        runner.names.bind(target, UNKNOWN, frame)
    first = node[2][0][0] if node[2] else []
    if first and first[0] == "k" and first[2] and str(first[2][-1]) == "suppress":
        handlers = [[kind, "", []] for kind in first[3]]
        try_(runner, ["T", node[1], node[3], handlers, [], []], frame)
    else:
        runner.block(node[3], frame)


def loop(runner: Runner, node: Node, frame: Frame) -> None:
    """Follow a loop over what is known runs; another one may run."""
    _, _, target, over, body, orelse = node
    items: Any = runner.evaluator.value(over, frame) if over else UNKNOWN
    items = list(items) if type(items) in (list, tuple, dict) else None
    if items is None or len(items) > LOOP_LIMIT or UNKNOWN in items:
        runner.loose.block([["A", 0, [target], []], *body, *orelse], frame)
        if frame.is_function and _holds(body, "V"):
            raise Returned(UNKNOWN)
        return
    is_left = False
    runner.guards.append([False, True])
    try:
        for item in items:
            runner.names.bind(target, item, frame)
            is_left = _round(runner, body, frame)
            if is_left:
                break
    finally:
        runner.guards.pop()
    if not is_left:
        runner.block(orelse, frame)


def _round(runner: Runner, body: List[Node], frame: Frame) -> bool:
    """Run the body of a loop once; return whether that leaves the loop."""
    try:
        runner.block(body, frame)
    except Left as left:
        return not left.is_round
    return False


def _only_raised_here(kinds: Optional[Node]) -> bool:
    """Return whether a handler catches what the body raises itself, by the habit of its name."""
    return bool(kinds) and kinds is not None and str(kinds[-1]).endswith("NotAvailable")


def _holds(statements: List[Node], kind: str) -> bool:
    """Return whether statements hold one of a kind, at any depth but in functions."""
    return any(
        each[0] == kind or any(_holds(block, kind) for block in blocks_of(each))
        for each in statements
    )
