"""Read TOML 1.0 with the place of every value, which the standard library's reader does not give.

Locks are megabytes in a few shapes of line, so that the most frequent ones have a short way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Generic

from fadoctor.syntax.data_tree import DataTree, S
from fadoctor.syntax.toml_scalars import plain_value, unescape
from fadoctor.syntax.tree import Node

if TYPE_CHECKING:
    from fadoctor.model.errors import InputError
    from fadoctor.syntax.tree import Value

_DEPTH_LIMIT = 64
_LINE_LIMIT = 500_000
_ESCAPED_LIMIT = 100_000
_VALUE_LIMIT = 400_000

# the line: name = "torch"
_SHORT_LINE = re.compile(
    r'([A-Za-z0-9_-]+)[ \t]*=[ \t]*("([^"\\\x00-\x08\x0a-\x1f\x7f]*)")[ \t]*(?:\r?\n|\Z)'
)
# {file = "torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl", hash = "sha256:..."}
_SHORT_PAIR = re.compile(r'([A-Za-z0-9_-]+)[ \t]*=[ \t]*("([^"\\\x00-\x08\x0a-\x1f\x7f]*)")')
_SHORT_TABLE = re.compile(
    rf"\{{[ \t]*{_SHORT_PAIR.pattern}(?:[ \t]*,[ \t]*{_SHORT_PAIR.pattern}){{0,20}}[ \t]*\}}"
)
_GAP = re.compile(r"[ \t]*")
_END = re.compile(r"[ \t]*(?:#[^\x00-\x08\x0a-\x1f\x7f]*)?(?:\r?\n|\Z)")
_SPACE = re.compile(r"[ \t]*(?:(?:#[^\x00-\x08\x0a-\x1f\x7f]*)?\r?\n[ \t]*)*")
# package.dependencies, and the sign that ends it
_BARE_PATH = re.compile(r"([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){0,60})[ \t]*(?=[=\]])")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WORD = re.compile(r"[A-Za-z0-9_+.:-]+(?: [0-9][0-9:.+Zz-]*)?")
_BASIC = re.compile(r'"([^"\\\x00-\x08\x0a-\x1f\x7f]*)"')
_LITERAL = re.compile(r"'([^'\x00-\x08\x0a-\x1f\x7f]*)'")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_CONTROL_OR_END = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HEADER, _DOTTED, _CLOSED, _ARRAY = "header", "dotted", "closed", "array"


def read_toml(source: S) -> DataTree[S]:
    """Return the data of a text; InputError with the line where it is not TOML."""
    return _Parser(source).document()


class _Parser(Generic[S]):
    """One pass over the text; `made` remembers how a table came to be: some may not be extended."""

    def __init__(self, source: S) -> None:
        self.text, self.pos = source.text, 0
        self.tree = DataTree(source, Node({}, 1, 1))
        self.made: dict[int, str] = {}
        self.count = 0

    def error(self, problem: str, at: int | None = None) -> InputError:
        line, _ = self.tree.position(self.pos if at is None else at)
        return self.tree.source.error(f"no TOML: {problem}", line=line)

    def node(self, value: Value, at: int) -> Node:
        return Node(value, *self.tree.position(at))

    def document(self) -> DataTree[S]:
        text, length = self.text, len(self.text)
        if text.count("\n") > _LINE_LIMIT:
            raise self.tree.source.error(f"more than {_LINE_LIMIT:,} lines")
        current = self.tree.root.value
        while self.pos < length:
            found = _SHORT_LINE.match(text, self.pos)
            if found is not None and isinstance(current, dict) and found[1] not in current:
                current[found[1]] = self.node(found[3], found.start(2))
                self.pos = found.end()
                continue
            if (end := _END.match(text, self.pos)) is not None and end.end() > self.pos:
                self.pos = end.end()
                continue
            self.skip(_GAP)
            if text.startswith("[", self.pos):
                current = self.header()
            else:
                self.pair(current)
            if (end := _END.match(text, self.pos)) is None:
                raise self.error("something after the value, where the line should end")
            self.pos = end.end()
        return self.tree

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.pos)
        if found is not None:
            self.pos = found.end()

    def expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.pos):
            raise self.error(f"expected {mark}")
        self.pos += len(mark)

    def header(self) -> Value:
        """Read ``[a.b]`` or ``[[a.b]]``; return the table that it opens."""
        at = self.pos
        mark = "[[" if self.text.startswith("[[", at) else "["
        self.pos += len(mark)
        keys = self.keys()
        self.expect("]" * len(mark))
        table = self.tree.root
        for key in keys[:-1]:
            table = self.step(table, key, at)
        return (
            self.appended(table, keys[-1], at) if mark == "[[" else self.opened(table, keys[-1], at)
        )

    def step(self, table: Node, key: str, at: int) -> Node:
        """Return the table below a table, made where it is missing; of a list its last item."""
        assert isinstance(table.value, dict)  # noqa: S101 -- of every node that is passed
        found = table.value.setdefault(key, self.node({}, at))
        if isinstance(found.value, list) and self.made.get(id(found)) == _ARRAY:
            found = found.value[-1]
        if not isinstance(found.value, dict) or self.made.get(id(found)) == _CLOSED:
            raise self.error(f"{key} is not a table that can be extended", at)
        return found

    def opened(self, parent: Node, key: str, at: int) -> Value:
        assert isinstance(parent.value, dict)  # noqa: S101 -- of every node that is passed
        found = parent.value.get(key)
        if found is None:
            found = parent.value[key] = self.node({}, at)
        elif not isinstance(found.value, dict) or id(found) in self.made:
            raise self.error(f"{key} is duplicated", at)
        self.made[id(found)] = _HEADER
        return found.value

    def appended(self, parent: Node, key: str, at: int) -> Value:
        assert isinstance(parent.value, dict)  # noqa: S101 -- of every node that is passed
        found = parent.value.get(key)
        if found is None:
            found = parent.value[key] = self.node([], at)
            self.made[id(found)] = _ARRAY
        if not isinstance(found.value, list) or self.made.get(id(found)) != _ARRAY:
            raise self.error(f"{key} is duplicated", at)
        item = self.node({}, at)
        self.made[id(item)] = _HEADER
        found.value.append(item)
        return item.value

    def keys(self) -> list[str]:
        """Read ``a."b c".d``."""
        path = _BARE_PATH.match(self.text, self.pos)
        if path is not None and path[1].count(".") < _DEPTH_LIMIT:
            self.pos = path.end()
            return path[1].split(".")
        keys = []
        while True:
            self.skip(_GAP)
            bare = _BARE_KEY.match(self.text, self.pos)
            if bare is not None:
                keys.append(bare[0])
                self.pos = bare.end()
            elif self.text[self.pos : self.pos + 1] in {'"', "'"}:
                keys.append(self.quoted())
            else:
                raise self.error("expected a key")
            if len(keys) > _DEPTH_LIMIT:
                raise self.error(f"nested more than {_DEPTH_LIMIT} deep")
            self.skip(_GAP)
            if not self.text.startswith(".", self.pos):
                return keys
            self.pos += 1

    def pair(self, table: Value, depth: int = 0) -> None:
        """Read ``key = value`` into a table."""
        at = self.pos
        keys = self.keys()
        self.expect("=")
        self.skip(_GAP)
        value = self.value(depth)
        assert isinstance(table, dict)  # noqa: S101 -- of every node that is passed
        for key in keys[:-1]:
            node = table.get(key)
            if node is None:
                node = table[key] = self.node({}, at)
                self.made[id(node)] = _DOTTED
            elif self.made.get(id(node)) != _DOTTED:
                raise self.error(f"{key} is duplicated", at)
            assert isinstance(node.value, dict)  # noqa: S101 -- what is dotted is a table
            table = node.value
        if keys[-1] in table:
            raise self.error(f"{keys[-1]} is duplicated", at)
        table[keys[-1]] = value

    def value(self, depth: int) -> Node:
        self.count += 1
        if self.count > _VALUE_LIMIT:
            raise self.error(f"more than {_VALUE_LIMIT:,} values")
        at, char = self.pos, self.text[self.pos : self.pos + 1]
        if char in {'"', "'"}:
            if self.text.startswith(char * 3, at):
                return self.node(self.long(), at)
            return self.node(self.quoted(), at)
        if depth > _DEPTH_LIMIT:
            raise self.error(f"nested more than {_DEPTH_LIMIT} deep")
        if char == "[":
            return self.node(self.array(depth), at)
        if char == "{":
            node = self.node(self.inline(depth), at)
            self.made[id(node)] = _CLOSED
            return node
        word = _WORD.match(self.text, at)
        if word is None:
            raise self.error("expected a value")
        self.pos = word.end()
        try:
            return self.node(plain_value(word[0]), at)
        except ValueError as error:
            raise self.error("neither text in quotes nor a number", at) from error

    def array(self, depth: int) -> list[Node]:
        self.pos += 1
        items = []
        self.skip(_SPACE)
        while not self.text.startswith("]", self.pos):
            items.append(self.value(depth + 1))
            self.skip(_SPACE)
            if self.text.startswith(",", self.pos):
                self.pos += 1
                self.skip(_SPACE)
            elif not self.text.startswith("]", self.pos):
                raise self.error("expected , or ] in the list")
        self.pos += 1
        return items

    def inline(self, depth: int) -> dict[str, Node]:
        short = _SHORT_TABLE.match(self.text, self.pos)
        if short is not None:
            found = _SHORT_PAIR.finditer(self.text, self.pos, short.end())
            pairs = [(pair[1], self.node(pair[3], pair.start(2))) for pair in found]
            table = dict(pairs)
            if len(table) == len(pairs):
                self.pos = short.end()
                return table
        self.pos += 1
        table = {}
        self.skip(_GAP)
        if self.text.startswith("}", self.pos):
            self.pos += 1
            return table
        while True:
            self.pair(table, depth + 1)
            self.skip(_GAP)
            if self.text.startswith("}", self.pos):
                self.pos += 1
                return table
            self.expect(",")

    def quoted(self) -> str:
        """Read a text of one line."""
        found = _BASIC.match(self.text, self.pos) or _LITERAL.match(self.text, self.pos)
        if found is not None:
            self.pos = found.end()
            return found[1]
        at = self.pos
        end = self.closing('"', at + 1) if self.text.startswith('"', at) else -1
        if end < 0 or _CONTROL_OR_END.search(self.text, at + 1, end):
            raise self.error("a text that does not end in its line")
        self.pos = end + 1
        return self.unescaped(self.text[at + 1 : end], at)

    def closing(self, mark: str, start: int) -> int:
        """Return where a text ends, -1 where it has no end; a quote can be escaped."""
        end = self.text.find(mark, start)
        while end >= 0 and mark[0] == '"':
            before = end
            while before > start and self.text[before - 1] == "\\":
                before -= 1
            if (end - before) % 2 == 0:
                break
            end = self.text.find(mark, end + 1)
        return end

    def long(self) -> str:
        """Read a text of several lines; up to two quotes may stand before those that end it."""
        at = self.pos
        mark = self.text[at : at + 3]
        end = self.closing(mark, at + 3)
        if end < 0 or _CONTROL.search(self.text, at + 3, end):
            raise self.error("a text of several lines that has no end, or controls in it")
        for _ in range(2):
            end += self.text.startswith(mark, end + 1)
        self.pos = end + 3
        text = self.text[at + 3 : end].replace("\r\n", "\n").removeprefix("\n")
        return self.unescaped(text, at) if mark[0] == '"' else text

    def unescaped(self, text: str, at: int) -> str:
        if "\\" not in text:
            return text
        if len(text) > _ESCAPED_LIMIT:
            raise self.error("a text with escapes that is too long", at)
        try:
            return unescape(text)
        except ValueError as error:
            raise self.error("an invalid escape sequence", at) from error
