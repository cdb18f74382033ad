"""Names of wheels that a text has, whether in a command, an address or words."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ENDS = 400
"""Lines at the beginning and at the end of a text that are searched."""

MOST = 4
"""Most names of one line that are read."""

_END = ".whl"
# name-version(-build)?-python-abi-platform.whl, as PEP 427 has it
_WHEEL = compiled(
    r"(?<![\w.+%-])[A-Za-z][\w.]{0,60}-\d[\w.+%!]{0,80}(?:-\d\w{0,20})?"
    r"-(?:cp|py|pp)\w{1,12}(?:\.\w{1,12}){0,4}-\w{1,24}-\w{2,60}(?:\.\w{2,60}){0,4}\.whl\b"
)


# a terminal's width breaks an address: ...torch2 | .0cxx11abiFALSE-cp310-cp310-linux_x86_64.whl
_BROKEN = compiled(r"(?<![\w.+%-])[A-Za-z][\w.]{0,60}-\d[\w.+%-]{3,100}$")
_REST = compiled(r"\s{0,8}[\w.+%-]{1,100}\.whl\b")


def wheel_names(lines: Sequence[str]) -> frozenset[str]:
    """Return the names of the wheels that a text has, as their files are called."""
    return frozenset(
        match[0].replace("%2B", "+")
        for line in _whole(ends_of(lines, ENDS))
        if _END in line
        for match in islice(_WHEEL.finditer(line), MOST)
    )


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; one that ends within the name of a file, with what the next one begins with."""
    before = ""
    for line in lines:
        rest = _REST.match(line) if _END in line and before else None
        broken = _BROKEN.search(before) if rest is not None else None
        if broken is not None and rest is not None:
            yield broken[0] + rest[0].strip()
        yield line
        before = line
