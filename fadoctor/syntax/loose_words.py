"""Words of an instruction of a Dockerfile, which is no shell: only quotes and variables count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.shell_filled_words import FilledWord
from fadoctor.syntax.shell_grammar import Grammar
from fadoctor.syntax.shell_pieces import Piece, RawWord
from fadoctor.syntax.shell_variables import Variables

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT = 20_000
"""Words of one instruction."""


def read_words(text: str, variables: Mapping[str, str | None], start: int = 0) -> list[FilledWord]:
    """Return the words of a text from an index on; variables that are None or missing stay open."""
    reader, known = Grammar(text, start), Variables(variables, takes_defaults=True)
    found: list[FilledWord] = []
    while reader.at < len(text) and len(found) < LIMIT:
        if text[reader.at].isspace():
            reader.at += 1
            continue
        at = reader.at
        pieces: list[Piece] = []
        while reader.at < len(text) and not text[reader.at].isspace():
            if not reader.piece(pieces) and not text[reader.at : reader.at + 1].isspace():
                pieces.append(Piece(text[reader.at : reader.at + 1], reader.at))
                reader.at += 1
        found.append(known.text(RawWord(at, reader.at, tuple(pieces))))
    return found


def pairs(words: list[FilledWord]) -> list[tuple[str, FilledWord]] | None:
    """Return names and values of ``ENV A=b C=d`` and the older ``ENV A b``; None of neither.

    A value stands where its name does.
    """
    found = [word.text.partition("=") for word in words]
    if words and not found[0][1]:
        rest = words[1:]
        text = " ".join(word.text for word in rest)
        opens = ((0, len(text)),) if any(word.is_open for word in rest) else ()
        return [(words[0].text, FilledWord(text, words[0].at, opens))]
    if not all(equals and name for name, equals, _ in found):
        return None
    return [
        (name, msgspec.structs.replace(word.part(len(name) + 1, len(word.text)), at=word.at))
        for word, (name, _, _) in zip(words, found, strict=True)
    ]
