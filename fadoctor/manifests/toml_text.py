"""TOML of manifests: parsed within bounds, and where in the text a key or an item stands."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from fadoctor.model.place import Place

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from fadoctor.manifests.source import Source

NESTING_LIMIT = 64
"""Brackets that may be open at once; real files have five."""

LINE_LIMIT = 1 << 18
"""Characters of one line; parsers go through it one by one."""

BRACKET_LIMIT = 120_000
"""Tables and arrays of one file: a lock of a thousand packages has 20,000."""

_DRIFT_LIMIT = 4 * NESTING_LIMIT

# Invalid value (at line 3, column 9)
_AT = re.compile(r" ?\(at (?:line (\d{1,9}), column \d{1,9}|end of document)\)")
# a.a.a.a = 1: each part takes a parser longer than the one before
_MANY_PARTS = re.compile(r"""(?:["']?[\w-]{1,100}["']?\s{0,3}\.\s{0,3}){64}""")
_TABLE = re.compile(r"\s{0,40}(\[\[?)\s{0,9}([^\]#\n]{1,300}?)\s{0,9}\]\]?\s{0,200}(?:#.*)?")
_KEY = re.compile(
    r"""\s{0,40}((?:[\w-]{1,100}|"[^"\n]{1,200}"|'[^'\n]{1,200}')(?:\s{0,9}\.\s{0,9}(?:[\w-]{1,100}|"[^"\n]{1,200}"|'[^'\n]{1,200}')){0,9})\s{0,9}="""
)
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def parse_toml(source: Source, text: str | None = None) -> dict[str, Any]:
    """Return what a file says; InputError with the line where it is no TOML or nests too deep.

    `text`: what is parsed in place of the whole file, with the same lines.
    """
    text = source.text if text is None else text
    _refuse_nesting(source, text)
    try:
        # parsers take line feeds for ends of lines; lone surrogates are no characters of TOML
        return tomllib.loads(text.encode("utf-8", "replace").decode())
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        raise source.error(f"no TOML: {_AT.sub('', str(error))}", line=line) from error
    except (RecursionError, ValueError) as error:  # a number of thousands of digits
        raise source.error("no TOML that can be read") from error


def _refuse_nesting(source: Source, text: str) -> None:
    """Refuse brackets in brackets in brackets before a recursive parser meets them."""
    if text.count("[") + text.count("{") > BRACKET_LIMIT:
        raise source.error(f"more than {BRACKET_LIMIT:,} tables and arrays")
    drift = 0  # of lines that open more than they close; brackets in strings count, too
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LINE_LIMIT:
            raise source.error(f"a line of more than {LINE_LIMIT:,} characters", line=number)
        opened = line.count("[") + line.count("{")
        if line.count(".") > NESTING_LIMIT and _MANY_PARTS.search(line):
            raise source.error(f"a key of more than {NESTING_LIMIT} parts", line=number)
        if not opened and drift == 0:
            continue
        closed = line.count("]") + line.count("}")
        drift = 0 if _TABLE.fullmatch(line) else max(0, drift + opened - closed)
        is_deep = opened > NESTING_LIMIT and _depth(line) > NESTING_LIMIT
        if is_deep or drift > _DRIFT_LIMIT:
            raise source.error(f"more than {NESTING_LIMIT} brackets in each other", line=number)


def _depth(line: str) -> int:
    """Return how many brackets are open at once, no further than is too many."""
    depth = deepest = 0
    for character in line:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > NESTING_LIMIT:
                break
        elif character in "]}":
            depth -= 1
    return deepest


class Places:
    """Where tables and keys of a file stand, by their dotted path.

    A table of an array has its index in the path: ``package[3].name``. Found by a scan of the
    lines, as parsers keep no positions.
    """

    def __init__(self, source: Source) -> None:
        """Scan the text once."""
        self._file = source.name
        self._lines = source.lines()
        self._found: dict[str, tuple[int, int]] = {}
        self._scan()

    def _scan(self) -> None:
        prefix = ""
        counts: dict[str, int] = {}
        for index, line in enumerate(self._lines):
            if table := _TABLE.fullmatch(line):
                prefix = _dotted(table[2])
                if table[1] == "[[":
                    counts[prefix] = counts.get(prefix, -1) + 1
                prefix = _numbered(prefix, counts)
                self._found.setdefault(prefix, (index, line.index("[")))
            elif key := _KEY.match(line):
                path = f"{prefix}.{_dotted(key[1])}" if prefix else _dotted(key[1])
                self._found.setdefault(path, (index, key.start(1)))

    def of(self, path: str, text: str = "") -> Place:
        """Return the place of a key; with `text`, where that first stands in its value.

        The nearest table or key above it where it stands in no line of its own, else line 1.
        """
        while path and path not in self._found:
            path = path.rpartition(".")[0]
        line, column = self._found.get(path, (0, 0))
        if text:
            line, column = self._within(line, column, text)
        return Place(self._file, line + 1, column + 1)

    def _within(self, line: int, column: int, text: str) -> tuple[int, int]:
        """Return where a text stands behind a key, before the next key or table at the margin."""
        start = column
        for index in range(line, len(self._lines)):
            content = self._lines[index]
            if index > line and (_TABLE.fullmatch(content) or _KEY.match(content)):
                break
            at = content.find(text, start)
            if at >= 0:
                return index, at
            start = 0
        return line, column


def _dotted(text: str) -> str:
    return ".".join(part.strip("\"'") for part in _PART.findall(text))


def _numbered(path: str, counts: dict[str, int]) -> str:
    """Return a table's path with the index of each array that it lies in."""
    parts = path.split(".")
    out = ""
    for end in range(1, len(parts) + 1):
        plain = ".".join(parts[:end])
        out = f"{out}.{parts[end - 1]}" if out else parts[end - 1]
        if plain in counts:
            out = f"{out}[{counts[plain]}]"
    return out
