"""The lines that set and unset variables, as they are pasted into a shell: POSIX, or cmd."""

from __future__ import annotations

import shlex


def assignment(*items: str, windows: bool) -> str:
    """Return the line that sets variables, each given as ``NAME=VALUE``.

    A POSIX shell takes ``set A=1`` for its own arguments: pasted, it would do nothing, silently.
    """
    if windows:
        return "&".join(f"set {item}" for item in items)
    pairs = (item.partition("=") for item in items)
    return f"export {' '.join(f'{name}={shlex.quote(value)}' for name, _, value in pairs)}"


def unassignment(*names: str, windows: bool) -> str:
    """Return the line that unsets variables."""
    return "&".join(f"set {name}=" for name in names) if windows else f"unset {' '.join(names)}"
