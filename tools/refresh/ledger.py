"""The ledger of cells that were ever held against a primary source, and the page made of it.

Usage: python -m tools.refresh.ledger LOG --day DAY

Adds what a run of `python -m tools.refresh` has printed: a line for each release of which cells
agree with, or contradict, the files and metadata of the index. docs/generate.py makes the page.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LEDGER = Path(__file__).with_name("held.txt")
_HEAD = "# table | what was held | cells | day | how | wrong\n"
# agrees: torch-releases: torch 2.15.0 linux_x86_64: python, cuda
_AGREES = re.compile(r"agrees: ([a-z0-9-]{1,60}): ([^:|]{1,200}): ([a-z0-9_, -]{1,400})")
_AGAINST = re.compile(r"CONTRADICTION: ([a-z0-9-]{1,60}): ([^:|]{1,200}): ([a-z0-9_-]{1,60}) is ")


class Held(NamedTuple):
    """Cells of one table that were held against their source at once."""

    table: str
    what: str
    cells: int
    day: str
    how: str
    """`refreshed`, `drawn`, or `read` in a clone of a repository."""
    wrong: int = 0


def read(path: Path = LEDGER) -> list[Held]:
    """Return what the ledger has."""
    found = []
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("#") or len(cells) != len(Held._fields):
            continue
        table, what, number, day, how, wrong = cells
        found.append(Held(table, what, int(number), day, how, int(wrong)))
    return found


def add(more: Iterable[Held], path: Path = LEDGER) -> None:
    """Write more into the ledger; the same cells count once, with their last day."""
    known = {(each.table, each.what): each for each in read(path)}
    known |= {(each.table, each.what): each for each in more}
    lines = (" | ".join(map(str, each)) + "\n" for _, each in sorted(known.items()))
    path.write_text(_HEAD + "".join(lines), "utf-8")


def of_log(lines: Iterable[str], day: str) -> Iterator[Held]:
    """Yield what the report of a refresh says."""
    for line in lines:
        if match := _AGREES.fullmatch(line.strip()):
            columns = match[3].count(",") + 1
            yield Held(match[1], match[2], columns, day, "refreshed")
        elif match := _AGAINST.match(line.strip()):
            yield Held(match[1], f"{match[2]} {match[3]}", 1, day, "refreshed", 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Add the report of a refresh."""
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.ledger", description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--day", required=True)
    asked = parser.parse_args(arguments)
    found = list(of_log(asked.log.read_text("utf-8").splitlines(), asked.day))
    add(found)
    sys.stdout.write(f"{len(found)} lines, {sum(each.cells for each in found)} cells\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
