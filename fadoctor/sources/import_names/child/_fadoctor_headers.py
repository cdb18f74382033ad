"""Which headers of functions ask a module for nothing that was not asked before.

Of a function whose body is left out, parameters matter only where their annotations and defaults
ask a module for a name, as ``x: torch.Tensor`` does. Most headers ask what the one above asked.
"""

from __future__ import annotations

import re
from typing import FrozenSet, Set

_PLAIN = re.compile(rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*")
_CHAIN = re.compile(rb"[A-Za-z_][\w.]*\.[A-Za-z_]\w*")
_OUTER = re.compile(rb"\n([A-Za-z_@\"')\]}]\w*)")
"""The first word of a line that is not indented."""

_BRANCH = re.compile(rb"\n[ \t]+(?:if|else|elif|try|except|finally|with|for|while|match|async)\b")
_CHANGING = (b"import ", b" as ", b"\tas ", b"global ", b"del ", b"\\\n")
_ANY = re.compile(rb"[A-Za-z_][\w.]*")
_LATER = re.compile(rb"\nfrom __future__ import [^\n]*\bannotations\b")
_DEFAULT = re.compile(rb"=\s*([^,\n]*)")
_TEXT = rb"\"[^\"\\\n]*\"|'[^'\\\n]*'"
_ITEM = rb"[^.,*()\[\]{}\"'#\\]|(?<=\d)\.(?=\d)|%b" % _TEXT
_INDEX = rb"\[(?:,|%b|\[(?:,|%b|\[(?:,|%b)*\])*\])*\]" % (_ITEM, _ITEM, _ITEM)
_SILENT = re.compile(rb"(?<=[(,])(?:%b|%b)+," % (_ITEM, _INDEX))
"""A parameter that asks a module for nothing; another one follows."""

_LAST_STAR = re.compile(rb"\*\s*,(?=\s*\))")


def is_later(text: bytes) -> bool:
    """Return whether a source seems to leave its annotations unevaluated."""
    return b"__future__" in text and _LATER.search(text) is not None


class Headers:
    """The headers of one module, in their order."""

    def __init__(self, *, later: bool) -> None:
        self.later = later
        """Whether annotations are not evaluated."""
        self.asked: Set[bytes] = set()
        self._roots: Set[bytes] = set()
        """The names that these begin with."""
        self._outer = b""
        """How the last statement of the module itself begins."""
        self._branches = False
        """Whether something since then may not run."""

    def pass_by(self, between: bytes) -> None:
        """Take the text between two functions, which may bind names anew."""
        if between.isspace():
            return
        outer = _OUTER.findall(between)
        if outer:
            self._outer, self._branches = outer[-1], False
        if not self._branches and _BRANCH.search(between):
            self._branches = True
        if not self.asked:
            return
        if any(sign in between for sign in _CHANGING):
            self.asked.clear()
            self._roots.clear()
        elif any(root in between for root in self._roots):
            for root in self._roots.intersection(_ANY.findall(between)):
                self._forget(root)

    def is_needless(self, indent: int, name: bytes, parameters: bytes) -> bool:
        """Return whether nothing is lost without the parameters of a function; note what they ask.

        `parameters` is all of the header that follows the name.
        """
        if name in self._roots:
            self._forget(name)
        chains = _asks(parameters, later=self.later)
        if chains is None:
            return False
        is_known = chains <= self.asked
        if not is_known and self._runs(indent):
            self.asked |= chains
            self._roots = {chain.partition(b".")[0] for chain in self.asked}
        return is_known

    def _runs(self, indent: int) -> bool:
        if not indent:
            self._outer = b"def"
            return True
        return self._outer == b"class" and not self._branches and indent <= 4

    def _forget(self, root: bytes) -> None:
        self.asked = {chain for chain in self.asked if not chain.startswith(root + b".")}
        self._roots.discard(root)


def without_silent(parameters: bytes) -> bytes:
    """Return the parameters of a function without those that ask a module for nothing."""
    if parameters.count(b"(") > 1 or b"/" in parameters:
        return parameters
    left = _SILENT.sub(_lines, parameters)
    return _LAST_STAR.sub(b"", left) if b"*" in left else left


def _lines(match: "re.Match[bytes]") -> bytes:
    return b"\n" * match[0].count(b"\n")


def _asks(parameters: bytes, *, later: bool) -> "FrozenSet[bytes] | None":
    """Return what a header asks modules for; None where it calls something, or binds a name."""
    if b"." not in parameters and parameters.count(b"(") <= 1 and b":=" not in parameters:
        return frozenset()
    if b'"' in parameters or b"'" in parameters or b"#" in parameters:
        if b'"""' in parameters or b"'''" in parameters:
            return None
        parameters = _PLAIN.sub(b"", parameters)
    if parameters.count(b"(") > 1 or b":=" in parameters or b"lambda" in parameters:
        return None
    if later:
        defaults = b"\n".join(_DEFAULT.findall(parameters))
        if b"[" not in defaults and b"{" not in defaults:
            parameters = defaults
    found = frozenset(_CHAIN.findall(parameters))
    rest = _CHAIN.sub(b"", parameters) if found else parameters
    return None if _LOOSE.search(rest) else found


_LOOSE = re.compile(rb"[\])}\s]\.(?!\.)|(?<!\.)\.\s")
"""A question to what is no plain name: ``a[b].c``."""
