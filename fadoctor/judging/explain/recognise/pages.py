"""What is compiled for texts that no pattern fits: wordings of rules, and words of their pages."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.suite import load_suite
from fadoctor.judging.explain.recognise.page_words import PageWords, index_of
from fadoctor.judging.explain.recognise.tolerant import Tolerant
from fadoctor.judging.explain.recognise.wordings import Wording, wordings_of
from fadoctor.knowledge.matrix.load import COMPILED, compiled_in_use, is_checkout, state_of
from fadoctor.model.typed import decode

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.rule import Knowledge

FILE = "pages.json"
FORM = "form 21"


class Pages(msgspec.Struct, frozen=True, dict=True):
    """Wordings and words of all rules, and of which state of them."""

    stamp: str
    wordings: tuple[Wording, ...] = ()
    index: PageWords = PageWords()

    @cached_property
    def tolerant(self) -> Tolerant:
        """The wordings, ready to be compared."""
        return Tolerant(self.wordings)


def load_pages(knowledge: Knowledge) -> Pages:
    """Return the compiled pages; those of a checkout are made anew where its rules changed.

    Rules of a user's own folders have none.
    """
    stamp = _stamp(knowledge)
    found = None
    for folder in (compiled_in_use(), COMPILED):
        with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
            found = _read(folder / FILE, state_of(folder / FILE))
            if found.stamp == stamp or not is_checkout():
                return found
    if is_checkout():
        suite = load_suite()
        if found is not None and found.stamp == _stamp(suite.knowledge):
            return found
        return write_pages(COMPILED)
    return Pages(stamp)


@lru_cache(1)
def _read(file: Path, _state: tuple[int, int, int]) -> Pages:
    return decode(file.read_bytes(), Pages)


def write_pages(folder: Path) -> Pages:
    """Compile the pages of the shipped rules into a folder."""
    suite = load_suite()
    pages = Pages(_stamp(suite.knowledge), tuple(wordings_of(suite)), index_of(suite))
    with suppress(OSError):
        temporary = folder / f"{FILE}.{os.getpid()}"
        temporary.write_bytes(msgspec.json.encode(pages))
        temporary.replace(folder / FILE)
    return pages


def _stamp(knowledge: Knowledge) -> str:
    return f"{FORM} {knowledge.sha256}"
