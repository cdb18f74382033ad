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
import re
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
    except (SyntaxError, ValueError) as error:
        found = without_nested(source, error)
        if found is not None:
            return found, []
        if not cells:
            raise
    lines, skipped = source.split("\n"), []
    for start, after in zip(cells, [*cells[1:], len(lines) + 1]):
        if not is_python("\n".join(lines[start - 1 : after - 1])):
            skipped.append(start)
            lines[start - 1 : after - 1] = [""] * (after - start)
    return ast.parse("\n".join(lines)), skipped


def without_nested(source: str, error: Exception) -> ast.AST | None:
    """Return the tree with an empty text for every f-string that holds its own quotes.

    f"{names["a"]}" is Python since 3.12: older ones refuse the file for it. None where the file is
    refused for another reason.
    """
    lines = source.split("\n")
    for _ in range(NESTED_LIMIT):
        row = (error.lineno or 0) - 1 if isinstance(error, SyntaxError) else -1
        if not 0 <= row < len(lines) or "f-string" not in str(error):
            return None
        changed = emptied(lines[row])
        if changed == lines[row]:
            return None
        lines[row] = changed
        try:
            return ast.parse("\n".join(lines))
        except (SyntaxError, ValueError) as again:
            error = again
    return None


NESTED_LIMIT = 50


def emptied(line: str) -> str:
    """Return a line whose first f-string with quotes of its own is an empty text."""
    for found in PREFIX.finditer(line):
        start = found.end() - 1
        end = end_of_text(line, start)
        if line[start] in line[start + 1 : end]:
            return line[: found.start()] + "''" + line[end + 1 :]
    return line


PREFIX = re.compile(r"(?<!\w)(?:[rR]?[fF]|[fF][rR])[\"']")


def end_of_text(line: str, start: int) -> int:
    """Return where the quote at `start` is closed, outside of every field; -1 for nowhere."""
    depth = 0
    for at in range(start + 1, len(line)):
        depth += {"{": 1, "}": -1}.get(line[at], 0)
        if line[at] == line[start] and depth == 0 and line[at - 1] != "\\":
            return at
    return -1


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
