"""Read JSON with the place of every key: the standard reader keeps none."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from fadoctor.syntax.json_remarks import without_remarks
from fadoctor.syntax.tree import DEPTH_LIMIT, NODE_LIMIT, Node, Scalar, number

if TYPE_CHECKING:
    from fadoctor.model.errors import InputError
    from fadoctor.syntax.source import Source

# one of {}[],: or "text with \" in it" or 1.5e-3, true, NaN
_TOKEN = re.compile(
    r'(?P<mark>[{}\[\],:])|(?P<string>"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*")|(?P<word>[-+.\w]+)'
)
_SPACE = re.compile(r"[ \t\r\n]*")
_WORDS: dict[str, Scalar] = {
    "true": True, "false": False, "null": None, "NaN": float("nan"),
    "Infinity": float("inf"), "-Infinity": float("-inf"),
}  # fmt: skip


def read_json(source: Source) -> Node:
    """Return the tree; InputError with line and key where it is no JSON."""
    return _Reader(source).document()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source, self.text = source, without_remarks(source.text)
        self.starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self.at = self.count = 0
        self.kind, self.word, self.start = "", "", 0
        self._advance()

    def document(self) -> Node:
        node = self._node(())
        if self.kind:
            raise self._error((), "something follows the document")
        return node

    def _advance(self) -> None:
        """Go to the next token; "" is the end."""
        self.start = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr] # may be empty
        match = _TOKEN.match(self.text, self.start)
        if match is None:
            if self.start < len(self.text):
                raise self._error((), "not valid JSON")
            self.kind = self.word = ""
            return
        self.kind, self.word, self.at = str(match.lastgroup), match[0], match.end()

    def _node(self, path: tuple[str, ...]) -> Node:
        self.count += 1
        if self.count > NODE_LIMIT:
            raise self._error(path, f"more than {NODE_LIMIT:,} values")
        if len(path) > DEPTH_LIMIT:
            raise self._error(path[:4], f"more than {DEPTH_LIMIT} levels deep")
        line, column = self._position(self.start)
        if self.word == "{":
            return Node(self._mapping(path), line, column)
        if self.word == "[":
            return Node(self._items(path), line, column)
        value = self._scalar(path)
        self._advance()
        return Node(value, line, column)

    def _mapping(self, path: tuple[str, ...]) -> dict[str, Node]:
        found: dict[str, Node] = {}
        self._advance()
        while self.word != "}":
            if self.kind != "string":
                raise self._error(path, "not valid JSON: a key in double quotes is due here")
            key, (line, column) = str(self._scalar(path)), self._position(self.start)
            self._advance()
            self._expect(":", (*path, key))
            node = self._node((*path, key))
            found[key] = Node(node.value, line, column)
            self._separator("}", (*path, key))
        self._advance()
        return found

    def _items(self, path: tuple[str, ...]) -> tuple[Node, ...]:
        items: list[Node] = []
        self._advance()
        while self.word != "]":
            items.append(self._node((*path, f"[{len(items)}]")))
            self._separator("]", (*path, f"[{len(items) - 1}]"))
        self._advance()
        return tuple(items)

    def _separator(self, end: str, path: tuple[str, ...]) -> None:
        if self.word == end and self.kind == "mark":
            return
        self._expect(",", path)
        if self.word == end and self.kind == "mark":
            raise self._error(path, "not valid JSON: a comma after the last one")

    def _expect(self, mark: str, path: tuple[str, ...]) -> None:
        if self.kind != "mark" or self.word != mark:
            raise self._error(path, f"not valid JSON: a {mark!r} is due here")
        self._advance()

    def _scalar(self, path: tuple[str, ...]) -> Scalar:
        if self.kind == "string":
            try:
                return str(json.loads(self.word, strict=False))
            except ValueError as error:
                raise self._error(path, "not valid JSON: an unknown escape") from error
        if self.kind == "word":
            if self.word in _WORDS:
                return _WORDS[self.word]
            found = number(self.word)
            if found is not None:
                return found
        raise self._error(path, "not valid JSON: a value is due here")

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def _error(self, path: tuple[str, ...], problem: str) -> InputError:
        key = ".".join(part[:60] for part in path[:6])
        return self.source.error(problem, line=self._position(self.start)[0], key=key)
