"""HCL as data: jobs of Nomad, resources of Terraform, with the place of each key.

What is worked out by an expression is left out; of a call such as ``jsonencode`` its first argument
counts. A block that stands several times becomes a list. Nothing is refused: a file that ends early
ends there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from textwrap import dedent
from typing import TYPE_CHECKING

from fadoctor.syntax.text_lines import line_starts
from fadoctor.syntax.tree import DEPTH_LIMIT, NODE_LIMIT, Node, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.syntax.source import Source
    from fadoctor.syntax.tree import Scalar

SUFFIXES = (".hcl", ".tf", ".nomad")
_TOKEN = re.compile(
    r"(?P<remark>(?:#|//)[^\n]*|/\*[\s\S]*?(?:\*/|\Z))"
    r"|<<-?(?P<here>\w{1,40})[ \t]*\n"
    r'|(?P<string>"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*(?:"|\\?(?=\n)|\\?\Z))'
    r"|(?P<word>[A-Za-z_0-9.][\w.-]*)|(?P<line>\n)|(?P<mark>[^\s])"
)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}


class _Token:
    __slots__ = ("at", "kind", "text")

    def __init__(self, kind: str, text: str, at: int) -> None:
        self.kind, self.text, self.at = kind, text, at


def read_hcl(source: Source) -> Node:
    """Return what the file says."""
    return _Reader(source.text.replace("\r", "")).document()


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while found := _TOKEN.search(text, at):
        at = found.end()
        kind = str(found.lastgroup)
        if kind == "here":
            end = re.compile(rf"^[ \t]*{re.escape(found['here'])}[ \t]*$", re.MULTILINE).search(
                text, at
            )
            stop = end.start() if end else len(text)
            yield _Token("text", dedent(text[at:stop]), at)
            at = end.end() if end else len(text)
        elif kind == "string":
            inner = found[0][1:].removesuffix('"')  # one that is not closed ends with its line
            plain = _ESCAPE.sub(lambda one: _ESCAPES.get(one[1], one[1]), inner)
            yield _Token("text", plain, found.start())
        elif kind != "remark":
            yield _Token(kind, found[0], found.start())


class _Reader:
    def __init__(self, text: str) -> None:
        self._starts = line_starts(text)
        self._tokens = [*_tokens(text), _Token("end", "", len(text))][-(4 * NODE_LIMIT) :]
        self._at = self._count = 0

    def document(self) -> Node:
        return Node(self._body("", 0), 1, 1)

    @property
    def _now(self) -> _Token:
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _next(self) -> _Token:
        token = self._now
        self._at += 1
        return token

    def _skip(self, *texts: str) -> None:
        while self._now.kind == "line" or (self._now.kind == "mark" and self._now.text in texts):
            self._at += 1

    def _body(self, end: str, depth: int) -> dict[str, Node]:
        """Return the entries up to the bracket that closes them."""
        found: dict[str, Node] = {}
        while True:
            self._skip(",", ";")
            token = self._next()
            if token.kind == "end" or (token.kind == "mark" and token.text == end):
                return found
            if token.kind in ("word", "text"):
                self._entry(found, token, depth)

    def _entry(self, found: dict[str, Node], key: _Token, depth: int) -> None:
        while self._now.kind in ("word", "text"):  # labels of a block
            self._at += 1
        mark = self._now.text if self._now.kind == "mark" else ""
        if mark in ("=", ":"):
            self._at += 1
            node = self._placed(key, self._value(depth + 1))
        elif mark == "{" and depth < DEPTH_LIMIT:
            self._at += 1
            node = self._placed(key, self._body("}", depth + 1))
        else:
            return
        before = found.get(key.text)
        if before is None:
            found[key.text] = node
        elif node.mapping and isinstance(before.value, dict | tuple):
            items = before.value if isinstance(before.value, tuple) else (before,)
            found[key.text] = Node((*items, node), before.line, before.column)

    def _value(self, depth: int) -> object:
        """Return a value; None where an expression works it out."""
        self._count += 1
        token = self._next()
        if self._count > NODE_LIMIT or depth >= DEPTH_LIMIT:
            self._at = len(self._tokens)
            return None
        if token.kind == "mark" and token.text == "[":
            return self._items("]", depth)
        if token.kind == "mark" and token.text == "{":
            return self._body("}", depth)
        if token.kind == "word" and self._now.kind == "mark" and self._now.text == "(":
            self._at += 1
            items = self._items(")", depth)
            return items[0].value if items else None
        if token.kind == "text":
            value: object = token.text
        else:
            value = _WORDS.get(token.text, number(token.text))
        return value if self._ends() else None

    def _items(self, end: str, depth: int) -> tuple[Node, ...]:
        items: list[Node] = []
        while True:
            self._skip(",")
            token = self._now
            if token.kind == "end" or (token.kind == "mark" and token.text == end):
                self._at += 1
                return tuple(items)
            items.append(self._placed(token, self._value(depth + 1)))

    def _ends(self) -> bool:
        """Return whether a value ends here; else leave out the rest of the expression."""
        is_whole = True
        while self._now.kind not in ("line", "end"):
            if self._now.kind == "mark" and self._now.text in ",]})":
                break
            is_whole = False
            self._at += 1
        return is_whole

    def _placed(self, token: _Token, value: object) -> Node:
        row = bisect_right(self._starts, token.at)
        column = token.at - self._starts[row - 1] + 1
        return Node(value, row, column)  # type: ignore[arg-type] # values of the kinds above
