"""Replace credentials in a text; its lines stay, and what holds none costs next to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.credentials.addresses import secrets_in_addresses
from fadoctor.syntax.credentials.blocks import blocks
from fadoctor.syntax.credentials.named import MARKS, named_secrets
from fadoctor.syntax.credentials.shapes import digits, shaped_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HIDDEN = "***"


def hide_credentials(text: str) -> str:
    """Return a text with what is a credential replaced by ``***``."""
    spans = sorted(_spans(text))
    return _without(text, spans) if spans else text


def hide_in_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines of a text without credentials: as many as they were."""
    return hide_credentials("\n".join(lines)).split("\n") if lines else []


def hide_in_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, of which one may say what the next is."""
    spans = sorted(_spans(" ".join(words)))
    clean, at = [], 0
    for word in words:
        mine = [(max(0, start - at), min(len(word), end - at)) for start, end in spans]
        inside = [span for span in mine if span[0] < span[1]]
        clean.append(_without(word, sorted([*inside, *_spans(word)])))
        at += len(word) + 1
    return clean


def _spans(text: str) -> Iterator[tuple[int, int]]:
    yield from shaped_secrets(text)
    yield from secrets_in_addresses(text)
    yield from digits(text)
    if may_name(text):
        yield from named_secrets(text)
    if "---" in text or "-Lines" in text:
        yield from blocks(text)


def may_name(text: str) -> bool:
    """Say whether a word is in a text without which nothing in it is the name of a secret."""
    lowered = text.lower()
    return any(mark in lowered for mark in MARKS)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text without spans, which may lie in each other; the ends of lines stay."""
    kept, at = [], 0
    for start, end in spans:
        begin = max(start, at)
        if begin >= end:
            continue
        kept.append(text[at:begin])
        inside = text[begin:end]
        marked = "\n".join(HIDDEN if line.strip() else line for line in inside.split("\n"))
        is_joined = begin == at and kept[-1] == "" and at > 0
        kept.append(marked.removeprefix(HIDDEN) if is_joined else marked)
        at = end
    kept.append(text[at:])
    return "".join(kept)
