"""Words of a shell script as they are written: text, variables, and what is open."""

from __future__ import annotations

import msgspec


class Piece(msgspec.Struct, frozen=True):
    """A part of a word: text, a variable, or what only a run would tell."""

    text: str
    """Of text its value; of all else what is written."""
    at: int
    is_quoted: bool = False
    is_open: bool = False
    variable: str = ""
    index: str = ""
    """``@`` of ``${NAME[@]}``."""
    operator: str = ""
    """``:-`` of ``${NAME:-default}``."""
    default: tuple[Piece, ...] = ()


class RawWord(msgspec.Struct, frozen=True):
    """A word as it is written."""

    at: int
    end: int
    pieces: tuple[Piece, ...]
    items: tuple[RawWord, ...] | None = None
    """Of ``NAME=(a b)``: what stands in the parentheses."""

    @property
    def plain(self) -> str:
        """The word, where nothing in it is quoted or a variable; else nothing."""
        if any(each.is_quoted or each.is_open or each.variable for each in self.pieces):
            return ""
        return "".join(each.text for each in self.pieces)


def later(piece: Piece, by: int) -> Piece:
    """Return a piece that stands later in the text."""
    default = tuple(later(each, by) for each in piece.default)
    return msgspec.structs.replace(piece, at=piece.at + by, default=default)
