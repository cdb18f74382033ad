"""The command line, put together: one module a command beside this one.

A start builds and imports only the command that is asked for; help has all of them.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from fadoctor import __version__
from fadoctor.interfaces.cli.examples import epilog
from fadoctor.interfaces.cli.output import (
    drop_output,
    fill_missing_streams,
    hidden,
    refuse_closed,
    write,
)
from fadoctor.interfaces.cli.support import EXIT_INTERNAL, EXIT_INTERRUPTED, interrupted
from fadoctor.model.errors import FadoctorError, UsageError
from fadoctor.processes.ending import ends_by_signals

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the disk or the user's share of it says: no fault of this program."""

COMMANDS = ("check", "explain", "fix", "run", "smoke", "trace", "facts", "fleet", "hook", "mcp")
"""In the order of the help. Each is a function of its name, in the module of its name."""

GROUPS = ("rules",)
"""Commands with commands of their own: each is the `app` of the module of its name."""

_COMPLETE = "_FADOCTOR_COMPLETE"
"""The variable by which a shell asks for proposals: typer's name for it."""

_SETTINGS = {name: {"ignore_unknown_options": True} for name in ("run", "trace")}


def _version(value: bool) -> None:  # noqa: FBT001 -- typer calls it so
    if value:
        write(f"fadoctor {__version__}\n", None)
        raise typer.Exit


def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def build(names: Iterable[str] = (*COMMANDS, *GROUPS), *, completion: bool = False) -> typer.Typer:
    """Return the command line with some of its commands; `completion` with that of shells."""
    if completion:
        from fadoctor.interfaces.cli.completion import answer_first_tab

        answer_first_tab()
    app = typer.Typer(
        name="fadoctor",
        help="Environment doctor for FlashAttention: will it work, if not why, and what to do.",
        no_args_is_help=True,
        add_completion=completion,
        pretty_exceptions_enable=False,
    )
    app.callback()(_common)
    for name in names:
        module = import_module(f"fadoctor.interfaces.cli.{name}")
        if name in GROUPS:
            app.add_typer(module.app)
        else:
            settings = _SETTINGS.get(name)
            app.command(context_settings=settings, epilog=epilog(name))(getattr(module, name))
    return app


def _asked() -> typer.Typer:
    """Return the command line with the command that the first argument names, or with all."""
    typed = _typed_so_far()
    first = sys.argv[1:2] if typed is None else typed[1:2]
    if "--help" in sys.argv[1:] and "--" not in sys.argv:
        refuse_closed()
    completion = typed is not None or not first or first[0].startswith("--")
    names = (*COMMANDS, *GROUPS)
    # the word that is being typed may be the command itself
    is_whole = typed is None or len(typed) > 2
    if first and first[0] in names and is_whole:
        return build(first, completion=completion)
    if first == ["--version"] and typed is None:
        return build(())
    return build(completion=completion)


def _typed_so_far() -> list[str] | None:
    """Return the words of the line that a shell wants completed; None on any other start."""
    if _COMPLETE not in os.environ:
        return None
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return words.split()


def _shown(error: Exception) -> str:
    """Return what an error says without credentials: it may quote what was typed or read."""
    return hidden(str(error))


def main() -> None:
    """Run the command line; every error becomes one line on standard error and its exit code."""
    debug = "--debug" in sys.argv
    fill_missing_streams()
    try:
        with ends_by_signals():
            code = _asked()(standalone_mode=False, prog_name="fadoctor")
        if code == EXIT_INTERRUPTED:  # typer's word for Ctrl-C
            code = interrupted()
    except FadoctorError as error:
        if debug:
            raise
        sys.stderr.write(f"fadoctor: {_shown(error)}\n")
        code = error.exit_code
    except BrokenPipeError:  # the reader of a help page has gone
        drop_output()
        code = 0
    except (typer.Abort, KeyboardInterrupt):
        code = interrupted()
    except Exception as error:  # isolation point: the user sees a line, not a stack
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # the parser's own errors
            if hasattr(error, "message"):  # it quotes what was typed
                error.message = hidden(str(error.message))
            _propose_format(error)
            error.show()
            sys.exit(error.exit_code)
        if debug:
            raise
        code = _unexpected(error)
    sys.exit(code)


def _propose_format(error: Exception) -> None:
    """Propose ``--format json`` where somebody types ``--json``."""
    from fadoctor.interfaces.cli.options.formats import ReportFormat

    name = str(getattr(error, "option_name", "")).removeprefix("--")
    if name in {each.value for each in ReportFormat}:
        # In its message: the oldest typer that we allow writes its own list of options as a tuple.
        message = getattr(error, "message", "")
        vars(error).update(
            message=f"{message} (Possible options: --format {name})", possibilities=None
        )


def _is_out_of_room(error: Exception) -> bool:
    """Return whether the loader, or code in C, found no room and raised no MemoryError."""
    if isinstance(error, SystemError):
        return "error return without exception set" in str(error)
    return isinstance(error, ImportError) and "failed to map segment" in str(error)


def _unexpected(error: Exception) -> int:
    """Say what nobody foresaw, and return the exit code."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        drop_output()
        sys.stderr.write(f"fadoctor: cannot write: {error.strerror}\n")
        return UsageError.exit_code
    if isinstance(error, MemoryError) or _is_out_of_room(error):
        sys.stderr.write("fadoctor: there is not enough memory here: ulimit -v may limit it\n")
        return UsageError.exit_code
    name = type(error).__name__
    sys.stderr.write(
        f"fadoctor: internal error: {name}: {_shown(error)} (--debug shows the stack)\n"
    )
    return EXIT_INTERNAL
