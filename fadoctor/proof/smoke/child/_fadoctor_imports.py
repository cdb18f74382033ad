"""Import one module under the target's interpreter, and what programs import from it next.

Called as ``python _fadoctor_imports.py EVENTS STEPS``. EVENTS is the file that takes one JSON
object a line; STEPS is a JSON list of ``trl``, ``trl:SFTTrainer`` and so on, done in order until
one fails. Events go to a file because packages print while they are imported.

Only stdlib, Python 3.8 syntax: this is not fadoctor's interpreter.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

SCHEMA = 1
"""Version of the events; the other side refuses any other."""

TEXT_LIMIT = 600
TRACE_LIMIT = 6000


def main(events: str, steps: str) -> int:
    """Do the steps; tell of each when it begins and when it ends."""
    faulthandler.enable()
    descriptor = os.open(events, os.O_WRONLY | os.O_APPEND)

    def emit(event: str, **fields: Any) -> None:
        line = json.dumps(dict(fields, schema=SCHEMA, event=event))
        os.write(descriptor, line.encode("ascii") + b"\n")

    for step in json.loads(steps):
        emit("begin", step=step)
        started = time.monotonic()
        try:
            told = "done" if _do(step) else "lacks"
        except BaseException as error:
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            # The innermost cause stands first; the error that ends it all, last.
            trace = (
                text
                if len(text) <= TRACE_LIMIT
                else text[: TRACE_LIMIT // 3] + "\n...\n" + (text[-2 * TRACE_LIMIT // 3 :])
            )
            emit(
                "failed",
                step=step,
                type=type(error).__name__,
                text=str(error)[:TEXT_LIMIT],
                trace=trace,
                seconds=round(time.monotonic() - started, 3),
            )
            return 0
        emit(told, step=step, seconds=round(time.monotonic() - started, 3))
    emit("end", step="")
    return 0


def _do(step: str) -> bool:
    """Import a module, or ask a module for a name as ``from module import name`` does.

    False where this release has no such thing: others have it.
    """
    module, _, name = step.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if _is_part_of(error.name or "", module):
            return False
        raise
    if name and not hasattr(found, name):
        try:
            importlib.import_module(module + "." + name)
        except ModuleNotFoundError:
            try:
                getattr(found, name)  # the error of a lazy module says more
            except AttributeError as error:
                if str(error).replace("'", "") == "module %s has no attribute %s" % (module, name):
                    return False
                raise
            raise
    return True


def _is_part_of(missing: str, module: str) -> bool:
    """Return whether a package has not the part that is asked for, or what leads to it."""
    return "." in missing and (module + ".").startswith(missing + ".")


if __name__ == "__main__":
    code = main(sys.argv[1], sys.argv[2])
    # What was imported may have started threads that do not end, and hooks that fail at exit.
    os._exit(code)
