"""What a shell script consists of: simple commands, and blocks that begin and end."""

from __future__ import annotations

import msgspec

from fadoctor.syntax.shell_pieces import RawWord


class Heredoc(msgspec.Struct):
    """A here-document; its lines are known once the line that announces it has ended."""

    mark: str
    is_indented: bool
    is_quoted: bool
    """Whether nothing in it is expanded."""
    at: int = 0
    end: int = 0


class Redirection(msgspec.Struct, frozen=True):
    """Where a command reads from or writes to."""

    operator: str
    target: RawWord
    heredoc: Heredoc | None = None


class Simple(msgspec.Struct, frozen=True):
    """A simple command."""

    words: tuple[RawWord, ...]
    redirections: tuple[Redirection, ...] = ()
    before: str = ""
    """Operator before it."""
    is_test: bool = False
    """Whether it is ``[[ ]]``, ``(( ))``, or negated."""
    tested: tuple[RawWord, ...] = ()
    """What stands in ``[[ ]]``."""


class Mark(msgspec.Struct, frozen=True):
    """The begin, a part or the end of a block."""

    kind: str
    """``open``, ``part``, ``close``."""
    what: str
    """``if``, ``loop``, ``for``, ``case``, ``(``, ``{``, ``function``; of a part its word."""
    before: str = ""
    name: str = ""
    """Of a function, or of the variable of a loop."""
    items: tuple[RawWord, ...] | None = None
    """What a loop goes over."""
