"""A lowered module without what cannot matter: it is smaller, and followed in less time.

Left out are names of class bodies that nothing there reads, and a question to a module that a
statement before has surely asked already.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Set, Tuple

VERSION = 5
"""Of the lowered form; what has another one is not read."""

Node = List[Any]
Seen = Set[Tuple[str, str]]
"""What was asked before: a name and the attribute of it."""

_BLOCKS = {"?": (3, 4), "W": (3,), "L": (4, 5)}


def blocks_of(node: Node) -> List[List[Node]]:
    """Return the blocks of a statement that has some; not those of functions and classes."""
    if node[0] == "T":
        return [node[2], *(handler[2] for handler in node[3]), node[4], node[5]]
    return [node[index] for index in _BLOCKS.get(node[0], ())]


def may_ask(node: Any) -> bool:
    """Return whether the evaluation of an expression can ask a module for a name, or call."""
    if not isinstance(node, list) or not node:
        return False
    return node[0] in ("a", "k") or any(may_ask(part) for part in node)


def thin(block: List[Node], seen: Seen) -> None:
    """Leave out of statements that run one after the other what was asked before."""
    for node in block:
        if node[0] == "D":
            _unask(node, (3, 4, 5), seen)
        elif node[0] == "C":
            _unask(node, (3,), seen)
            inner: Set[str] = set()
            _binds(node[4], inner)
            node[4] = _read_ones(node[4])
            thin(node[4], seen if "*" in inner else {s for s in seen if s[0] not in inner})
        elif node[0] == "?":
            thin(node[3], set(seen))
            thin(node[4], set(seen))
        elif node[0] == "T":
            thin(node[2], set(seen))
        bound: Set[str] = set()
        _binds([node], bound)
        if "*" in bound:
            seen.clear()
        elif bound:
            seen.difference_update([each for each in seen if each[0] in bound])


def _unask(node: Node, places: Tuple[int, ...], seen: Seen) -> None:
    """Leave out the plain questions ``a.b`` that were asked, and note the others."""
    for place in places:
        kept = []
        for each in node[place]:
            if each[0] == "a" and each[2][:1] == ["n"]:
                key = (each[2][1], each[3])
                if key in seen:
                    continue
                seen.add(key)
            kept.append(each)
        node[place] = kept


def _read_ones(body: List[Node]) -> List[Node]:
    """Return a class body without what only binds a name that nothing in it reads."""
    read: Set[str] = set()
    _reads(body, read)
    return [node for node in body if not _only_binds(node, read)]


def _only_binds(node: Node, read: Set[str]) -> bool:
    if "global" in read:
        return False
    if node[0] == "D":
        return node[2] not in read and not (node[3] or node[4] or node[5])
    if node[0] == "A":
        plain = all(target[:1] == ["n"] and target[1] not in read for target in node[2])
        return plain and not may_ask(node[3])
    return False


def _reads(node: Any, found: Set[str]) -> None:
    """Collect the names that are read; of an assignment to a name not that name."""
    if not isinstance(node, list) or not node:
        return
    if node[0] == "A" and len(node) == 4 and isinstance(node[2], list):
        for target in node[2]:
            if target[:1] != ["n"]:
                _reads(target, found)
        _reads(node[3], found)
    elif node[0] == "n" and len(node) == 2 and isinstance(node[1], str):
        found.add(node[1])
    else:
        if node[0] == "Z":
            found.add("global")
        for part in node:
            _reads(part, found)


def _binds(block: List[Node], found: Set[str]) -> None:
    """Collect the names that statements bind, at any depth but in functions and classes.

    ``*`` stands for a star import, of which nobody can tell.
    """
    for node in block:
        kind = node[0]
        if kind in _TARGETS:
            for target in _TARGETS[kind](node):
                _targets(target, found)
        elif kind in "DC":
            found.add(node[2])
        elif kind in "IF":
            pairs = node[2] if kind == "I" else node[4]
            found.update(renamed or name.partition(".")[0] for name, renamed in pairs)
        elif kind == "T":
            found.update(name for _, name, _ in node[3] if name)
        elif kind == "N":
            found.update(node[2])
        for inner in blocks_of(node):
            _binds(inner, found)


_TARGETS: Dict[str, Callable[[Node], List[Node]]] = {
    "A": lambda node: node[2],
    "X": lambda node: node[2],
    "G": lambda node: [node[2]],
    "L": lambda node: [node[2]],
    "W": lambda node: [target for _, target in node[2]],
}
"""What a statement assigns to."""


def _targets(target: Node, found: Set[str]) -> None:
    if not target:
        return
    if target[0] == "n":
        found.add(target[1])
    elif target[0] == "t":
        for each in target[1]:
            _targets(each, found)
    elif target[0] == "*":
        _targets(target[1], found)
