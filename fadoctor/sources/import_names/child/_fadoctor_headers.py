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


class Headers:
    """The headers of one module, in their order."""

    def __init__(self) -> None:
        self.asked: Set[bytes] = set()
        self._outer = b""
        """How the last statement of the module itself begins."""
        self._branches = False
        """Whether something since then may not run."""

    def pass_by(self, between: bytes) -> None:
        """Take the text between two functions, which may bind names anew."""
        outer = _OUTER.findall(between)
        if outer:
            self._outer, self._branches = outer[-1], False
        if not self._branches and _BRANCH.search(between):
            self._branches = True
        if not self.asked:
            return
        if any(sign in between for sign in _CHANGING):
            self.asked.clear()
            return
        roots = {chain.partition(b".")[0] for chain in self.asked}
        if any(root in between for root in roots):
            bare = roots.intersection(_ANY.findall(between))
            self.asked = {chain for chain in self.asked if chain.partition(b".")[0] not in bare}

    def is_needless(self, indent: int, name: bytes, parameters: bytes) -> bool:
        """Return whether nothing is lost without the parameters of a function; note what they ask.

        `parameters` is all of the header that follows the name.
        """
        self._forget(name)
        chains = _asks(parameters)
        if chains is None:
            return False
        is_known = chains <= self.asked
        if not is_known and self._runs(indent):
            self.asked |= chains
        return is_known

    def _runs(self, indent: int) -> bool:
        if not indent:
            self._outer = b"def"
            return True
        return self._outer == b"class" and not self._branches and indent <= 4

    def _forget(self, name: bytes) -> None:
        if self.asked:
            self.asked = {chain for chain in self.asked if not chain.startswith(name + b".")}


def _asks(parameters: bytes) -> "FrozenSet[bytes] | None":
    """Return what a header asks modules for; None where it calls something, or binds a name."""
    if b"." not in parameters and parameters.count(b"(") <= 1 and b":=" not in parameters:
        return frozenset()
    if b'"' in parameters or b"'" in parameters or b"#" in parameters:
        if b'"""' in parameters or b"'''" in parameters:
            return None
        parameters = _PLAIN.sub(b"", parameters)
    if parameters.count(b"(") > 1 or b":=" in parameters or b"lambda" in parameters:
        return None
    found = frozenset(_CHAIN.findall(parameters))
    rest = _CHAIN.sub(b"", parameters) if found else parameters
    return None if _LOOSE.search(rest) else found


_LOOSE = re.compile(rb"[\])}\s]\.(?!\.)|(?<!\.)\.\s")
"""A question to what is no plain name: ``a[b].c``."""
