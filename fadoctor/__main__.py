"""Run the command line: ``python -m fadoctor`` and the console script ``fadoctor``."""

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from fadoctor.processes.interrupts import hear_every_interrupt
from fadoctor.processes.own_interpreter import note_start

RARELY = 100_000
"""Objects between two searches for cycles: a start makes many, and keeps them all."""

_UNSAID = 120
"""What Python itself exits with where the last of the output cannot be written."""

_RICHER_TYPING = "typing_extensions"
"""msgspec asks it for what `typing` has since Python 3.11: its import is a tenth of a start."""

_INTERRUPTED = 130
"""What shells return for Ctrl-C."""


def main() -> None:
    """Run the command line and end the process at once: taking modules apart helps nobody."""
    note_start()
    gc.set_threshold(RARELY)
    hear_every_interrupt()
    _import_msgspec()
    try:
        from fadoctor.interfaces.cli.app import main as run_command_line  # noqa: PLC0415 -- first the above

        run_command_line()
    except KeyboardInterrupt:  # while that was imported
        sys.stderr.write("fadoctor: interrupted\n")
        _leave(_INTERRUPTED)
    except SystemExit as end:
        if isinstance(end.code, int):
            _leave(end.code)
        raise


def _import_msgspec() -> None:
    """Import msgspec as where nothing else brings `typing_extensions`, which it does without."""
    if sys.version_info < (3, 11) or _RICHER_TYPING in sys.modules:
        return
    sys.modules[_RICHER_TYPING] = None  # type: ignore[assignment] # so says Python: import fails
    try:
        import msgspec  # noqa: F401, PLC0415 -- first the above
    finally:
        del sys.modules[_RICHER_TYPING]


def _leave(code: int) -> NoReturn:
    """End with a code; what was to be done at the end is done, and what was said is out."""
    atexit._run_exitfuncs()  # noqa: SLF001 -- there is no other name for it
    with suppress(OSError):  # what was said beside the result is no part of it
        if sys.stderr is not None:
            sys.stderr.flush()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        code = code or _UNSAID
    os._exit(code)


if __name__ == "__main__":
    main()
