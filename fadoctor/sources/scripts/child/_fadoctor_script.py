"""Parse a Python script and print what it calls and sets, as one JSON object on one line.

Runs under fadoctor's own interpreter as ``python -I -S _fadoctor_script.py``. Standard input is a
JSON object: ``source`` (the text), ``wanted`` (last names of the calls and attributes to report)
and ``cells`` (for a notebook: the lines, counted from 1, where its cells begin). Nothing of the
script is run or imported. Limits on time and memory are set before the first byte of it is read: a
hostile script ends this process, not its reader.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import sys
import warnings

SCHEMA = 1
INPUT_LIMIT = 16 << 20
MEMORY_LIMIT = 240 << 20
CPU_S = 1.7

_TOO_DEEP = "nested too deeply or too large to be parsed"
_LIMITS = (
    ("too many nested", _TOO_DEEP),
    ("too many levels of indentation", _TOO_DEEP),
    ("Exceeds the limit", "a number has too many digits"),
)
"""How Python words limits of its own, and how we do."""


def parse(source: str, cells: list[int]) -> tuple[ast.AST, list[int]]:
    """Return the tree, and the first lines of the cells that are no Python and were left out."""
    try:
        return ast.parse(source), []
    except (SyntaxError, ValueError):
        if not cells:
            raise
    lines, skipped = source.split("\n"), []
    for start, after in zip(cells, [*cells[1:], len(lines) + 1]):
        if not is_python("\n".join(lines[start - 1 : after - 1])):
            skipped.append(start)
            lines[start - 1 : after - 1] = [""] * (after - start)
    return ast.parse("\n".join(lines)), skipped


def is_python(text: str) -> bool:
    """Return whether a cell can be parsed."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def read(request: dict[str, object]) -> dict[str, object]:
    """Return the answer for one request."""
    from fadoctor.sources.scripts.child._fadoctor_values import Script

    source, cells = str(request["source"]), [int(n) for n in list(request["cells"])]  # type: ignore[call-overload]
    tree, skipped = parse(source, cells)
    found = Script(source, frozenset(list(request["wanted"]))).read(tree)  # type: ignore[call-overload]
    return {"skipped_cells": skipped, **found}


def main() -> None:
    """Read one request and print the answer."""
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4)))
    from fadoctor.processes.child._fadoctor_limits import limit_resources

    limit_resources(MEMORY_LIMIT, CPU_S)
    gc.disable()  # a tree of a million nodes has no cycles, and looking for them takes seconds
    warnings.simplefilter("ignore")
    sys.stdout.write(json.dumps(answer_to(sys.stdin.buffer.read(INPUT_LIMIT))) + "\n")


def answer_to(data: bytes) -> dict[str, object]:
    """Answer one request, and name in words what kept the script from being parsed."""
    try:
        return {"schema": SCHEMA, "ok": True, **read(json.loads(data.decode("utf-8")))}
    except SyntaxError as error:
        return _trouble(_said(str(error.msg)), error.lineno or 0, error.offset or 0)
    except RecursionError:
        return _trouble(_TOO_DEEP)
    except MemoryError:  # the parser raises it for its own stack, too
        return _trouble(_TOO_DEEP)
    except ValueError as error:
        return _trouble(str(error))


def _said(problem: str) -> str:
    """Return a limit of the parser in our words: each Python has others, and another limit."""
    return next((ours for theirs, ours in _LIMITS if problem.startswith(theirs)), problem)


def _trouble(problem: str, line: int = 0, column: int = 0) -> dict[str, object]:
    return {"schema": SCHEMA, "ok": False, "error": problem[:200], "line": line, "column": column}


if __name__ == "__main__":
    main()
