"""What a Python script calls and sets, read by a child process that parses it and runs nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable
from fadoctor.model.typed import convert, encode_for_python
from fadoctor.processes.command import HAS_PROCESSES, Ending, Result
from fadoctor.processes.script_child import ask_script

TIMEOUT_S = 10.0
"""The child ends itself after two seconds of processor time; a busy machine may take longer."""

_OUTPUT_LIMIT = 16 << 20
_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_script.py"


class ArgumentValue(msgspec.Struct, frozen=True):
    """What an argument is."""

    kind: str
    """``literal``, ``name``, ``mapping``, ``list``, ``call`` or ``computed``."""
    literal: bool | int | float | str | None = None
    name: str = ""
    """Dotted, imports resolved: ``torch.bfloat16``; of a call: what is called."""
    why: str = ""
    items: tuple[Argument, ...] = ()
    text: str = ""
    """A text that is put together, with ``${value}`` for what is not known."""
    open: bool = False
    """Whether a mapping or a list holds more than could be told."""


class Argument(msgspec.Struct, frozen=True):
    """One argument of a call, or one item of a mapping."""

    key: str | int
    """The keyword, or the position counted from 0."""
    value: ArgumentValue
    line: int
    column: int
    written: str


class Found(msgspec.Struct, frozen=True):
    """A call, or an assignment to an attribute or a variable of the environment."""

    form: str
    """``call`` or ``assignment``."""
    name: str
    """``transformers.AutoModel.from_pretrained``, ``<model>.half``, ``os.environ[NAME]``."""
    of: tuple[str, ...]
    """Calls whose results the variable at the beginning of the name holds."""
    condition: str
    """Why it may not happen; empty where it does."""
    line: int
    column: int
    written: str
    value: ArgumentValue | None
    """Of an assignment."""
    arguments: tuple[Argument, ...]
    open: bool
    """Whether a call has more arguments than could be told."""

    def argument(self, *keys: str | int) -> Argument | None:
        """Return the first of these arguments that is given."""
        given = {argument.key: argument for argument in self.arguments}
        return next((given[key] for key in keys if key in given), None)


class ChildAnswer(msgspec.Struct, frozen=True):
    """What the child says."""

    ok: bool
    error: str = ""
    line: int = 0
    column: int = 0
    found: tuple[Found, ...] = ()
    is_cut: bool = False
    skipped_cells: tuple[int, ...] = ()


def read_calls(
    source: str, file: str, wanted: frozenset[str], cells: tuple[int, ...] = ()
) -> ChildAnswer:
    """Return the calls and assignments whose last name is wanted; InputError where it is no Python.

    `cells` are the first lines of a notebook's cells: one that is no Python is left out.
    """
    request = {"source": source, "wanted": sorted(wanted), "cells": cells}
    answer = convert(_answered(encode_for_python(request), file), ChildAnswer)
    if not answer.ok:
        column = f" (column {answer.column})" if answer.column else ""
        problem = printable(f"not Python that can be read: {answer.error}{column}")
        raise InputError(file, problem, line=answer.line)
    return answer


def _answered(request: bytes, file: str) -> dict[str, object]:
    """Return what the child says.

    In a browser there are no processes, and the page's worker is the fence: it is parsed there.
    """
    if not HAS_PROCESSES:
        from fadoctor.sources.scripts.child import _fadoctor_script as script  # noqa: PLC0415 -- a child's

        return script.answer_to(request)
    found, result = ask_script(_SCRIPT, request, TIMEOUT_S, _OUTPUT_LIMIT)
    if found is None:
        raise InputError(file, _trouble(result))
    return found


def _trouble(result: Result) -> str:
    if result.ending in (Ending.SIGNALLED, Ending.TIMED_OUT):
        return "parsing it needs more time or memory than the limit"
    if result.truncated or result.ok:
        return "it calls more than can be read"
    return printable(f"the process that parses it {result.describe()}")
