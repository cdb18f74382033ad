"""The lines that set and unset variables, as they are pasted: into a POSIX shell, or PowerShell."""

from __future__ import annotations

import shlex

from fadoctor.syntax.windows_command import powershell_set


def assignment(*items: str, windows: bool) -> str:
    """Return the line that sets variables, each given as ``NAME=VALUE``.

    A POSIX shell takes ``set A=1`` for its own arguments: pasted, it would do nothing, silently.
    """
    if windows:
        pairs = (item.partition("=") for item in items)
        return "; ".join(powershell_set(name, value) for name, _, value in pairs)
    pairs = (item.partition("=") for item in items)
    return f"export {' '.join(f'{name}={shlex.quote(value)}' for name, _, value in pairs)}"


def unassignment(*names: str, windows: bool) -> str:
    """Return the line that unsets variables."""
    if windows:
        return "; ".join(powershell_set(name, "") for name in names)
    return f"unset {' '.join(names)}"
