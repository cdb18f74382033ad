"""The cells that exist: which run here, by default or with --thorough, and why others cannot."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fadoctor.report.paper import Paper

if TYPE_CHECKING:
    from fadoctor.model.smoke import CellList, ListedCell
    from fadoctor.report.style import Style

_NARROWEST = 20
"""Width of the last column, at least."""


def render(listed: CellList, style: Style) -> str:
    """Return the list as text: one line for backends, dtypes and cases that share a fate."""
    page = Paper(style)
    where = "a GPU" if listed.device == "cuda" else "the CPU (no GPU is here, or it was asked for)"
    page.line(f"Cells on {where}", "bold")
    rows = [[("backend", ""), ("dtypes", ""), ("default", ""), ("with --thorough", "")]]
    for backend in dict.fromkeys(each.cell.backend for each in listed.cells if each.runs != "no"):
        mine = [each for each in listed.cells if each.cell.backend is backend]
        rows.append([
            (backend.value, ""),
            (" ".join(dict.fromkeys(e.cell.dtype.value for e in mine if e.runs != "no")), ""),
            (_cases(mine, "default"), "green"),
            (_cases(mine, "thorough"), ""),
        ])  # fmt: skip
    if len(rows) > 1:
        page.columns(_fitting(rows, style.width))
        page.line("")
    else:
        page.line("None can run here.", indent=2)
    reasons: dict[str, dict[str, None]] = {}
    for each in listed.cells:
        if each.runs == "no":
            reasons.setdefault(each.reason, {})[each.cell.backend.value] = None
    for reason, names in reasons.items():
        page.line(f"not here, {reason}: {', '.join(names)}", "dim", indent=2, hang=2)
    return page.text()


def _fitting(rows: list[list[tuple[str, str]]], width: int) -> list[list[tuple[str, str]]]:
    """Return rows whose last column is broken where the terminal ends."""
    before = [max(len(cell[0]) for cell in column) for column in list(zip(*rows, strict=True))[:-1]]
    room = max(width - sum(before) - 2 * len(rows[0]), _NARROWEST)
    found = []
    for *cells, (text, colour) in rows:
        first, *others = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        found.append([*cells, (first, colour)])
        found += [[*(("", "") for _ in cells), (line, colour)] for line in others]
    return found


def _cases(mine: list[ListedCell], runs: str) -> str:
    by_case = dict.fromkeys(each.cell.case for each in mine if each.runs == runs)
    return " ".join(by_case) or "-"
