"""The table GPU x backend x dtype as a picture: each cell has a colour, a sign and a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.verdict import Dtype, Measured
from fadoctor.report.answer import State, state_of
from fadoctor.report.html.elements import Html, folded, joined, listed, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.model.verdict import Verdict

_SILENT = "no source says whether it works"
_VERSION_LIMIT = 24
"""Longest version that a table shows: own builds have long ones."""

_SIGNS = {State.WORKS: "✓", State.FAILS: "✗", State.UNKNOWN: "?"}


def tables(verdicts: Sequence[Verdict]) -> Iterator[Html]:
    """Yield a table for each GPU, one for those that are alike."""
    alike: dict[tuple[Verdict, ...], list[str]] = {}
    for gpu in dict.fromkeys(each.gpu for each in verdicts):
        of_gpu = (each for each in verdicts if each.gpu == gpu)
        same = tuple(msgspec.structs.replace(each, gpu="") for each in of_gpu)
        alike.setdefault(same, []).append(gpu)
    for mine, gpus in alike.items():
        yield tag("div", _table(mine, ", ".join(gpus)), class_="scroll", **_FOCUS)
        reasons = dict.fromkeys(_reasons(mine))
        if reasons:
            yield folded("Why not everything works", listed(reasons))


_FOCUS = {"tabindex": "0", "role": "region", "aria_label": "Table of backends"}
"""Of a box that scrolls: the keyboard must reach it."""


def _table(verdicts: Sequence[Verdict], gpus: str) -> Html:
    dtypes = [dtype for dtype in Dtype if any(each.dtype is dtype for each in verdicts)]
    words = ["backend", "version", *(dtype.value for dtype in dtypes)]
    head = tag("tr", *(tag("th", word, scope="col", class_=word) for word in words))
    rows = []
    for backend in dict.fromkeys(each.backend for each in verdicts):
        cells = {each.dtype: each for each in verdicts if each.backend is backend}
        version = next(iter(cells.values())).package_version
        shown = [_cell(cells.get(dtype)) for dtype in dtypes]
        name = tag("th", backend.value, scope="row")
        rows.append(
            tag(
                "tr",
                name,
                tag("td", printable(version, _VERSION_LIMIT) or "-", class_="quiet version"),
                *shown,
            )
        )
    body = [tag("caption", gpus), tag("thead", head), tag("tbody", joined(rows))]
    return tag("table", *body)


def _cell(verdict: Verdict | None) -> Html:
    if verdict is None:
        return tag("td", "")
    state = state_of(verdict)
    ran = verdict.measured is not Measured.NOT_RUN
    word = verdict.measured.value if ran else state.value
    return tag("td", f"{_SIGNS[state]} {word}", class_=state.value)


def _reasons(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for each in verdicts:
        if state_of(each) is not State.WORKS:
            why = ", ".join(each.because[:4]) or each.detail
            yield f"{each.backend.value} {each.dtype.value}: {why or _SILENT}"
