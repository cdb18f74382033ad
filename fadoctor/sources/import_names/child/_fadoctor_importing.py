"""Functions that import a module by its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fadoctor.sources.import_names.child._fadoctor_values import UNKNOWN, Ext, Mod

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_calls import Call

TEXT_LIMIT = 1 << 20


def import_module(call: Call) -> Any:
    """Import a module by `importlib.import_module`."""
    name = call.given[0]
    if type(name) is not str or not name:
        return UNKNOWN
    level = len(name) - len(name.lstrip("."))
    if level and len(call.given) < 2:
        return UNKNOWN
    return _imported(call, call.frame.module.resolve(level, name[level:]), 0)


def _imported(call: Call, name: str, line: int) -> Any:
    return call.runner.import_(name, line, call.frame)


def import_plain(call: Call) -> Any:
    """Import a module by `__import__`, which gives the package that it lies in."""
    [name] = call.given
    if type(name) is not str or name.startswith(".") or call.named:
        return UNKNOWN
    found, top = _imported(call, name, _line(call, name)), name.partition(".")[0]
    if isinstance(found, Mod):
        return Mod(top)
    return Ext(top) if isinstance(found, Ext) else UNKNOWN


def _line(call: Call, name: str) -> int:
    """Return where a file calls `__import__` with a name: calls are kept without their lines."""
    text = call.runner.world.sources.peek(call.frame.module.spec.file, TEXT_LIMIT)
    pattern = re.compile(rb"__import__\(\s{0,99}[\"']" + re.escape(name.encode()) + rb"[\"']")
    lines = (number for number, line in enumerate(text.splitlines(), 1) if pattern.search(line))
    return next(lines, 0)
