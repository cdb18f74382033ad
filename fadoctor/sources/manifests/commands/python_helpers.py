"""Functions of a script that install what they are given: each call of one is an installation.

def pip(*names): subprocess.check_call([sys.executable, "-m", "pip", "install", *names])
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.sources.scripts.python_calls import Found

OPEN = "${value}"
_DEFINED = re.compile(
    r"([ \t]{0,12})(?:async[ \t]{1,9})?def[ \t]{1,9}(\w{1,80})\(([^)\n]{0,400})\)"
)
_PARAMETER = re.compile(r"(\*{0,2})(\w{1,80})")

Words = list[tuple[int, str]]
"""Words of a command with their lines."""


class Helper(NamedTuple):
    """A function whose command has one word that is given to it."""

    name: str
    line: int
    position: int
    """Of the parameter among those that a call gives by position."""
    takes_rest: bool
    """Whether it takes all that is given from there on."""
    words: Words
    condition: str
    """Why its command may not run; "" where it surely does."""


def helper_of(text: str, starter: Found, words: Words) -> Helper | None:
    """Return the function of a command, where one of its parameters is the word that is open."""
    words = [(line, word) for line, word in words if word]
    if words and words[0][1].startswith(f"{OPEN} -m pip"):
        words[0] = (words[0][0], words[0][1].replace(OPEN, "python", 1))
    if sum(word.count(OPEN) for _, word in words) != 1:
        return None
    found = _around(text, starter.line)
    if found is None or found[1].startswith("__"):
        return None
    line, name, parameters = found
    written = " ".join(each.written for each in starter.arguments)
    used = [
        (index, bool(star))
        for index, (star, parameter) in enumerate(parameters)
        if re.search(rf"\b{parameter}\b", written) and star != "**"
    ]
    if len(used) != 1 or parameters[0][1] in ("self", "cls"):
        return None
    return Helper(name, line, *used[0], words, starter.condition)


def _around(text: str, line: int) -> tuple[int, str, list[tuple[str, str]]] | None:
    """Return line, name and parameters of the function that a line stands in."""
    rows = text.split("\n")
    indent = len(rows[line - 1]) - len(rows[line - 1].lstrip()) if line <= len(rows) else 0
    for at in range(min(line, len(rows)) - 1, 0, -1):
        found = _DEFINED.match(rows[at - 1])
        if found is not None and len(found[1]) < indent:
            return at, found[2], _parameters(found[3])
        if rows[at - 1].strip() and not rows[at - 1].startswith((" ", "\t", ")")):
            break
    return None


def _parameters(text: str) -> list[tuple[str, str]]:
    found = (_PARAMETER.match(each.strip()) for each in text.split(","))
    return [(each[1], each[2]) for each in found if each is not None]


def filled(
    helper: Helper, call: Found, texts: Callable[[Found], Iterator[tuple[int, str]]]
) -> Words | None:
    """Return the command that one call comes to; None where it gives what cannot be told."""
    mine = [each for each in call.arguments if isinstance(each.key, int)][helper.position :]
    mine = mine if helper.takes_rest else mine[:1]
    values = list(texts(msgspec.structs.replace(call, arguments=tuple(mine))))
    if call.open or not values or any("$" in text for _, text in values):
        return None
    out: Words = []
    for _, word in helper.words:
        if OPEN not in word:
            out.append((call.line, word))
        elif word == OPEN and len(helper.words) > 1:
            out += [(line, shlex.quote(text)) for line, text in values]
        else:
            out.append((call.line, word.replace(OPEN, " ".join(text for _, text in values))))
    return out
