"""Write a command's result: to standard output, or to the file of ``--output``."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from fadoctor.interfaces.cli.runner import harmless, is_stream
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from pathlib import Path


def write(text: str, output: Path | None, form: str = "text") -> None:
    """Write a result in a form of `--format`; UsageError where it cannot be written."""
    if is_stream(output):
        text = harmless(text, form, os.environ)
    if output is None:
        _print(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from error


def tell(text: str, limit: int = 2_000) -> None:
    """Say a line to a person on standard error: without credentials, whatever it quotes.

    They are hidden before the line is cut: what is left of one that was cut shows no longer that it
    is one.
    """
    sys.stderr.write(f"fadoctor: {printable(hidden(text), limit)}\n")
    sys.stderr.flush()


def hidden(text: str) -> str:
    """Return a text for a person without credentials."""
    from fadoctor.syntax.credentials.hiding import hide_credentials  # late: most say nothing

    return hide_credentials(text)


def refuse_closed() -> None:
    """Raise UsageError where there is no standard output to print to."""
    if sys.stdout is None:
        raise UsageError("standard output is closed: nothing could be printed")


def _print(text: str) -> None:
    refuse_closed()
    try:
        _write_all(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is left to say; the exit code still counts.
        drop_output()
    except OSError as error:
        drop_output()
        raise UsageError(f"standard output: {error.strerror or error}") from error


def _write_all(text: str) -> None:
    """Write a text; a locale that cannot spell it gets UTF-8, as the file of ``--output`` does.

    Text for a person is ASCII there. What is left are documents, whose readers want UTF-8.
    """
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def drop_output() -> None:
    """Send what is still in standard output's buffer nowhere: its last flush would fail again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fill_missing_streams() -> None:
    """Give closed standard streams a place, before files that are opened take their numbers.

    Standard error goes nowhere then, and standard input is empty; standard output stays None, for
    `write` to say so. What standard error has no room for is lost, and changes no exit code.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 -- to the end
    elif type(sys.stderr) is io.TextIOWrapper:  # as Python made it: no test's, no notebook's
        sys.stderr = _Said(
            sys.stderr.buffer, sys.stderr.encoding, sys.stderr.errors, line_buffering=True
        )
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 -- to the end


class _Said(io.TextIOWrapper):
    """Standard error: a disk that is full, or a reader that has gone, is nobody's failure."""

    def write(self, text: str, /) -> int:
        """Write, where there is room."""
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, where there is room."""
        with suppress(OSError):
            super().flush()
