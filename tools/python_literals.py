"""Write collections of words as Python: filled lines, in one order, as no formatter would."""

from __future__ import annotations

import json
import textwrap

_WIDTH = 100
_HARD = "\u00a0"
"""A space at which no line ends."""


def assigned(name: str, value: object, meaning: str, annotation: str = "") -> str:
    """Return a constant and its meaning; where it is longer than a line, in several."""
    head = f"{name}: {annotation} = " if annotation else f"{name} = "
    body = head + _said(value)
    if len(body) > _WIDTH:
        body = head + _in_lines(value)
    text = textwrap.fill(meaning, _WIDTH - 6)
    return f'{body}\n"""{text}{chr(10) if chr(10) in text else ""}"""\n'


def _said(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_said(k)}: {_said(v)}" for k, v in value.items()) + "}"
    if isinstance(value, frozenset):
        return "frozenset({" + ", ".join(map(_said, sorted(value))) + "})"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_said, value)) + ("," if len(value) == 1 else "") + ")"
    return json.dumps(value)


def _in_lines(value: object) -> str:
    """Return a mapping with a line for each key, other collections filled."""
    if isinstance(value, dict):
        return "{\n" + "".join(f"{_entry(key, each)}\n" for key, each in value.items()) + "}"
    first, last = ("frozenset({", "})") if isinstance(value, frozenset) else ("(", ")")
    inner = _said(value).removeprefix(first).removesuffix(last)
    return f"{first}\n{_filled(inner, 4)},\n{last}"


def _entry(key: object, value: object) -> str:
    line = f"    {_said(key)}: {_said(value)},"
    return line if len(line) <= _WIDTH else _filled(line.strip(), 4, 8)


def _filled(text: str, first: int, more: int = 4) -> str:
    lines = textwrap.fill(
        text.replace('": ', f'":{_HARD}'),
        _WIDTH,
        initial_indent=" " * first,
        subsequent_indent=" " * more,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace(_HARD, " ")
