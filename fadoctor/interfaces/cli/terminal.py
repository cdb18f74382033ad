"""What the terminal can show: width, colour, characters; the spinner; the debug log."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from fadoctor.interfaces.commands.observer import unheard
from fadoctor.report.style import Style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PLAIN_WIDTH = 100
_UNKNOWN_WIDTH = 80
"""Of a terminal that says it has no columns."""

_MAX_WIDTH = 120

_PATIENCE_S = 0.5
"""What is over sooner needs no word."""


def style_of(
    colour: str,
    output: Path | None,
    *,
    quiet: bool,
    verbose: bool,
    stream: TextIO | None = None,
) -> Style:
    """Return how to print to a file, or to a stream: standard output unless another is given."""
    stream = None if output else stream or sys.stdout
    return Style(
        width=_width(stream),
        colour=_wants_colour(colour, stream),
        ascii_only=stream is not None and not _can_show_marks(stream),
        verbose=verbose,
        quiet=quiet,
    )


def _width(stream: TextIO | None) -> int:
    """Return the terminal's width, bounded: long lines are hard to read. Pipes get a fixed one."""
    if stream is None or not stream.isatty():
        columns = os.environ.get("COLUMNS", "")
        return min(max(int(columns), 40), 500) if columns.isdigit() else _PLAIN_WIDTH
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        width = _PLAIN_WIDTH
    return min(max(width or _UNKNOWN_WIDTH, 40), _MAX_WIDTH)


def _wants_colour(colour: str, stream: TextIO | None) -> bool:
    if colour != "auto":
        return colour == "always"
    if stream is None or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _can_show_marks(stream: TextIO) -> bool:
    try:
        "✗✓".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@contextmanager
def spinner(
    what: str, *, quiet: bool, after_s: float = _PATIENCE_S
) -> Iterator[Callable[[str], None]]:
    """Show what is going on, on standard error, only at a terminal and only if it takes long.

    What is given is told what goes on next.
    """
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield unheard
        return
    from fadoctor.interfaces.cli.progress import ProgressLine

    progress = ProgressLine(sys.stderr, what, ascii_only=not _can_show_marks(sys.stderr))
    progress.start(after_s)
    try:
        yield progress.say
    finally:
        progress.stop()


def log_to_stderr(*, debug: bool) -> None:
    """Send the debug log to standard error where it is wanted."""
    if debug:
        import logging

        from fadoctor.syntax.credentials.hiding import hide_credentials

        class Hiding(logging.Formatter):
            """Hides credentials in whatever is logged, stacks included."""

            def format(self, record: logging.LogRecord) -> str:
                """Return the line."""
                return hide_credentials(super().format(record))

        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(Hiding("%(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler], level=logging.DEBUG)
