"""The build of torch that a log names by its label: 2.10.0+cu130, or whl/cu130."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.likely_lines import likely
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDS = 1_500
"""Lines at the beginning and at the end of a log that are searched."""

# torchaudio 2.10.0+cu130 | https://download.pytorch.org/whl/nightly/rocm6.4
_LABEL = compiled(
    r"(?:\d\+|whl/(?:nightly/|test/)?)(cu\d{3}|rocm\d\.\d(?:\.\d)?|xpu)(?![\w.]*(?:torch|-cp))"
)


def label_in(lines: Sequence[str]) -> Fact:
    """Return the one label of a GPU build that a log names; Unknown where it names several."""
    found = {
        label for line in likely(ends_of(lines, ENDS), _LABEL) for label in _LABEL.findall(line)
    }
    if not found:
        return Absent("the log names no build of torch")
    if len(found) > 1:
        return Unknown("the log names several builds of torch", "the log")
    return Known(found.pop(), "the log")
