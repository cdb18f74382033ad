"""A wheel that a text names, and that an installer refuses by what the text says of the machine."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.logs.ends import ends_of
from fadoctor.sources.manifests.installed.wheel_tags import unfit
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FACT = "log.unfit_wheel"

ENDS = 400
"""Lines at the beginning and at the end of a log that are searched."""

MOST = 4
"""Most names of one line that are read."""

_END = ".whl"
# name-version(-build)?-python-abi-platform.whl, as PEP 427 has it
_WHEEL = compiled(
    r"(?<![\w.+%-])[A-Za-z][\w.]{0,60}-\d[\w.+%!]{0,80}(?:-\d\w{0,20})?"
    r"-(?:cp|py|pp)\w{1,12}(?:\.\w{1,12}){0,4}-\w{1,24}-\w{2,60}(?:\.\w{2,60}){0,4}\.whl\b"
)


def unfit_wheel(lines: Sequence[str], facts: Mapping[str, Fact]) -> Fact:
    """Return why the one wheel that a text names is refused on the machine that it tells of."""
    found = {
        match[0].replace("%2B", "+")
        for line in ends_of(lines, ENDS)
        if _END in line
        for match in islice(_WHEEL.finditer(line), MOST)
    }
    if len(found) != 1:
        return Absent("the log names no one wheel")
    problem = unfit(found.pop(), facts)
    return Known(problem, "the log") if problem else Absent("nothing told refuses it")
