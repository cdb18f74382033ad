"""Write the table of graphics in AMD's processors from a list of processors with their graphics.

Usage: python -m tools.refresh.processors LIST [--table FILE]

LIST is a file in which each line has the name of a processor first, in quotes, and the name of its
graphics in quotes, such as AMD's own list as the references of the table name it. Graphics that
have a number are told apart by it. Those that are only "Radeon Graphics" or "Vega 8" are told
apart by the number of the processor, as `SERIES` says. Desktop processors whose graphics only
drive a display are left out: a text that names one means the card beside it.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.refresh.cli import TABLES
from tools.refresh.names.tables import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Key = tuple[str, str]
    """The graphics, and their chip."""

TABLE = "processor-graphics"

NUMBERED = {
    "660M": "gfx1035", "680M": "gfx1035",
    "740M": "gfx1103", "760M": "gfx1103", "780M": "gfx1103",
    "820M": "gfx1153", "840M": "gfx1152", "860M": "gfx1152",
    "880M": "gfx1150", "890M": "gfx1150",
    "8040S": "gfx1151", "8050S": "gfx1151", "8060S": "gfx1151",
}  # fmt: skip
"""Graphics whose own name says the chip; 610M is two chips, and drives a display."""

SERIES = (
    (r"2[2-8]\d0(?:U|H|GE?)", "gfx902"),  # Raven Ridge
    (r"3[2-7]\d0[UHC]|3[2-4][05]0GE?|3580U|3780U", "gfx902"),  # Raven 2, Dali, Picasso
    (r"4[2-9][05-9][05]?\d?(?:U|HS?|GE?)", "gfx90c"),  # Renoir
    (r"5[1-9]\d[05](?:U|C|H[SX]?|GE?)", "gfx90c"),  # Lucienne, Cezanne, Barcelo
    (r"7[34567]30U", "gfx90c"),  # Barcelo again
)
"""Numbers of processors, and the chip of their unnumbered graphics, by AMD's code names."""

_LINE = re.compile(
    r'\["AMD (?P<name>Ryzen [^"]{2,60})",.{0,160}?"(?P<graphics>[^"]*(?:Radeon|Vega)[^"]*)"'
)
_MODEL = re.compile(
    r"Ryzen (?P<ai>AI )?(?:Max\+? )?(?:[3579] )?(?:PRO )?(?:HX )?(?:PRO )?"
    r"(?P<model>\d{3,4}(?:HX|HS|GE?|[HUZC])?)$"
)
_NUMBER = re.compile(r"\b(?P<number>[678]\d0M|80\d0S)\b")
_WIDTH = 140
"""Characters of a line of the table, at most; longer rows go on in the next line."""


def graphics_of(model: str, graphics: str) -> Key | None:
    """Return the graphics of a processor and their chip; None where they count as none."""
    if number := _NUMBER.search(graphics):
        chip = NUMBERED.get(number["number"])
        return (f"Radeon {number['number']}", chip) if chip else None
    chip = next((chip for form, chip in SERIES if re.fullmatch(form, model)), None)
    return ("Radeon Graphics", chip) if chip else None


def read(lines: Iterable[str]) -> dict[Key, list[str]]:
    """Return the models of processors by their graphics."""
    found: dict[Key, dict[str, None]] = {}
    for line in lines:
        named = _LINE.search(line)
        model = _MODEL.search(named["name"].strip()) if named else None
        if not named or not model or "Max" in named["name"]:
            continue
        key = graphics_of(model["model"], named["graphics"])
        if key is not None:
            name = f"{'AI-' if model['ai'] else ''}{model['model']}"
            found.setdefault(key, {})[name] = None
    return {key: sorted(found[key]) for key in sorted(found)}


def with_known(
    found: Mapping[Key, Sequence[str]], rows: Iterable[Mapping[str, object]]
) -> dict[Key, list[str]]:
    """Return what was read, with the processors that the table has and the list lacks."""
    merged = {key: set(models) for key, models in found.items()}
    listed = {model for models in found.values() for model in models}
    for row in rows:
        key = (str(row["graphics"]), str(row.get("gfx") or ""))
        merged.setdefault(key, set()).update(set(str(row["processor"]).split()) - listed)
    return {key: sorted(merged[key]) for key in sorted(merged) if merged[key]}


def written(found: Mapping[Key, Sequence[str]]) -> str:
    """Return the rows as they stand in the table."""
    text = ""
    for (graphics, chip), models in found.items():
        line = "  - {processor:"
        for model in models:
            if len(line) + len(model) > _WIDTH:
                text, line = f"{text}{line}\n", "     "
            line += f" {model}"
        text += f"{line}, graphics: {graphics}, gfx: {chip}}}\n"
    return text


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return 0."""
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.processors", description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("--table", type=Path, default=TABLES / f"{TABLE}.yaml")
    options = parser.parse_args(argv)
    found = read(options.list.read_text("utf-8").splitlines())
    head, mark, _ = options.table.read_text("utf-8").partition("rows:\n")
    options.table.write_text(
        head + mark + written(with_known(found, rows_of(options.table))), "utf-8"
    )
    sys.stderr.write(f"{sum(map(len, found.values()))} processors were read\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
