"""For which chips of AMD an image or an archive is made, by the names that a log has."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fadoctor.model.rule import Table

FACT = "log.made_for"

ENDS = 400
"""Lines at the beginning and at the end of a log that are searched."""

MOST = 20
"""Most names of one line that are read."""

# rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12 | llama-b4730-bin-win-hip-x64-gfx1030
_NAME = compiled(r"(?<![\w./:@-])[A-Za-z][\w./:+-]{5,160}")
# -gfx1030 | _gfx90a | .gfx110X | _mi300 | -mi325x
_PART = compiled(
    r"(?i)(?<=[-_.:])(?:gfx(?P<gfx>9[0-9a-f]{2}|1[0-2]\d[0-9x])|mi(?P<instinct>[123]\d\d)x?)"
    r"(?![0-9a-z])"
)
# What is made for ROCm says so; files of rocBLAS and targets of a compiler name a chip, too.
_OF_ROCM = compiled(r"(?i)(?<![a-z])(?:rocm|hip)(?![a-z])")
_NO_PROGRAM = compiled(r"(?i)tensile|hsaco|amdhsa|kernels?[._]|\.(?:dat|co|so|py|cpp|cu|hip|txt)$")
_TABLE = "amd-gpu-names"
_ANY = "x"
"""Stands for the last digit in the name of a build for a family: gfx110X."""


def made_for(lines: Sequence[str], tables: Mapping[str, Table]) -> Fact:
    """Return the chips for which what a log names is made; Absent where it names none."""
    texts = [line for line in ends_of(lines, ENDS) if "gfx" in line.lower() or "mi" in line.lower()]
    chips = dict.fromkeys(chip for text in texts for chip in _chips(text, tables))
    if not chips:
        return Absent("the log names no build for a chip of AMD")
    return Known(tuple(chips), "the log")


def _chips(text: str, tables: Mapping[str, Table]) -> Iterator[str]:
    for name in islice(_NAME.finditer(text), MOST):
        if not _OF_ROCM.search(name[0]) or _NO_PROGRAM.search(name[0]):
            continue
        for part in _PART.finditer(name[0]):
            if part["gfx"]:
                yield from _of_family(f"gfx{part['gfx'].lower()}", tables)
            else:
                yield from _of_instinct(part["instinct"], tables)


def _of_family(gfx: str, tables: Mapping[str, Table]) -> Iterator[str]:
    if not gfx.endswith(_ANY):
        yield gfx
        return
    begin = gfx.removesuffix(_ANY)
    yield from (str(row["gfx"]) for row in tables[_TABLE].rows if str(row["gfx"])[:-1] == begin)


def _of_instinct(number: str, tables: Mapping[str, Table]) -> Iterator[str]:
    """Yield the chips of an Instinct, or of its series: mi200 is MI210, MI250 and MI250X."""
    rows = [(str(row["gfx"]), cell_words(row["names"])) for row in tables[_TABLE].rows]
    same = f"MI{number}"
    exact = [gfx for gfx, names in rows if any(name.startswith(same) for name in names)]
    series = [
        gfx
        for gfx, names in rows
        if any(
            name[:3] == same[:3] and name[2:5].isdecimal() and len(name[2:5]) == len(number)
            for name in names
        )
    ]
    yield from exact or series
