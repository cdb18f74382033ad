"""How text is printed."""

from __future__ import annotations

import msgspec


class Style(msgspec.Struct, frozen=True):
    """How to print: what the terminal can show, and how much is wanted."""

    width: int = 80
    colour: bool = False
    ascii_only: bool = False
    verbose: bool = False
    quiet: bool = False
    """One line."""
    brief: bool = False
    """Only what is wrong: no table, nothing about the environment."""
