"""What packages ask of another one where a part of them is used, and their metadata do not say.

Two things are read. A name that transformers imports beside a new enough package alone, but has in
the annotation of a field always: whoever resolves the annotations, as a parser of arguments does,
stops without it. And a constant that peft compares with an installed package before it wraps a
layer, where it raises ImportError.

What transformers compares before it loads an adapter by itself is left out: trainers and servers
take peft's own classes, and never meet it. A log shows it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools.refresh.wheel import Wheel

TABLE = "minimums-in-use"
TRANSFORMERS, PEFT = "transformers", "peft"
PACKAGES = {TRANSFORMERS: Version("4.36.0"), PEFT: Version("0.8.0")}
"""Whose sources are read, and since which release."""
LOOKING = "peft/import_utils.py"
ANNOTATED = "transformers/training_args.py"
RESOLVES = "trl"
"""Beside whom the annotations are resolved: its parser makes arguments of the fields."""

_THERE = re.compile(r"is_([a-z][a-z_]{1,20})_available")

Minimums = frozenset[tuple[str, str, str]]
"""What is needed, from which release on, and beside what: "" where that does not matter."""


def minimums_of(package: str, wheel: Wheel) -> Minimums:
    """Return what a release of a package asks for."""
    names = frozenset(wheel.names)
    if package == PEFT:
        return raised_in(wheel.text(LOOKING) if LOOKING in names else "")
    return annotated_in(wheel.text(ANNOTATED) if ANNOTATED in names else "")


def raised_in(source: str) -> Minimums:
    """Return with which releases the functions of a source raise no ImportError.

    Each asks whether one package is there. What else it compares, it asks beside that one.
    """
    found: set[tuple[str, str, str]] = set()
    for node in ast.parse(source).body:
        named = _THERE.fullmatch(node.name) if isinstance(node, ast.FunctionDef) else None
        if named is None or not any(map(_is_refusal, ast.walk(node))):
            continue
        own = named[1].replace("_", "-")
        given = dict(filter(None, map(_assigned, ast.walk(node))))
        for each in ast.walk(node):
            if not isinstance(each, ast.Compare) or len(each.comparators) != 1:
                continue
            sides = (each.left, each.comparators[0])
            words = [given.get(side.id, "") for side in sides if isinstance(side, ast.Name)]
            least = [word for word in words if word[:1].isdigit()]
            names = [word for word in words if word and not word[:1].isdigit()]
            if least and names:
                found.add((names[0], least[0], "" if names[0] == own else own))
    return frozenset(found)


def _is_refusal(node: ast.AST) -> bool:
    raised = node.exc if isinstance(node, ast.Raise) else None
    return isinstance(raised, ast.Call) and _called(raised) == "ImportError"


def _assigned(node: ast.AST) -> tuple[str, str] | None:
    """Return a name, and the version or the distribution that is the only text of its value."""
    if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
        return None
    texts = [
        each.value
        for each in ast.walk(node.value)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    return (node.targets[0].id, texts[0].replace("_", "-")) if len(texts) == 1 else None


def annotated_in(source: str) -> Minimums:
    """Return what a source imports beside a new package alone, and has in annotations always."""
    tree = ast.parse(source)
    bound = {
        name: needed
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and not node.orelse and (needed := _asked(node.test))
        for name in _imported(node.body)
    }
    words = {
        word
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        for word in re.findall(r"\w+", ast.unparse(each.annotation))
    }
    return frozenset((*needed, RESOLVES) for name, needed in bound.items() if name in words)


def minimum_rows(
    package: str, had: Mapping[Version, Minimums], newest: Mapping[str, Version]
) -> list[str]:
    """Return the rows of a package: from which release to which one the same is asked for.

    What no release has yet (`newest` is the last one of each) nobody can install: no row.
    """
    versions = sorted(had)
    rows: list[str] = []
    for what in sorted({(need, beside) for each in had.values() for need, _, beside in each}):
        least = [_least(had[version], what) for version in versions]
        rows += [
            _row(package, what, version, low)
            for version, low in _runs(versions, least)
            if Version(low) <= newest[what[0]]
        ]
    return rows


def _least(minimums: Minimums, what: tuple[str, str]) -> str:
    found = [least for need, least, beside in minimums if (need, beside) == what]
    return max(found, key=Version, default="")


def _runs(versions: list[Version], least: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each range of releases with its minimum; the newest one ends behind itself."""
    start = 0
    for place in range(1, len(versions) + 1):
        if place == len(versions) or least[place] != least[start]:
            end = str(versions[place]) if place < len(versions) else f"{versions[-1]}.1"
            if least[start]:
                yield f">={versions[start]},<{end}", least[start]
            start = place


def _row(package: str, what: tuple[str, str], version: str, least: str) -> str:
    need, beside = what
    more = f", beside: {beside}" if beside else ""
    cells = f'package: {package}, version: "{version}", needs: {need}, least: {least}{more}'
    return f"  - {{{cells}}}\n"


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _asked(test: ast.expr) -> tuple[str, str] | None:
    """Return what ``is_accelerate_available("1.10.1")`` asks for."""
    if not isinstance(test, ast.Call) or not (name := _THERE.fullmatch(_called(test))):
        return None
    given = [*test.args, *(each.value for each in test.keywords)]
    versions = [str(each.value) for each in given if isinstance(each, ast.Constant)]
    return (name[1], versions[0]) if len(versions) == len(given) == 1 else None


def _imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ImportFrom):
            yield from (each.asname or each.name for each in node.names)
