"""The table of verdicts for a terminal: as much of it as the width has room for."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.verdict import Dtype, Measured, Predicted, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.report.paper import Paper

_VERSION_LIMIT = 24
"""Longest version that a table shows: own builds have long ones."""

_NAMES_WIDTH = 19
"""Characters of the longest name of a backend, with an indent before it and a comma behind."""

_INDENT, _GAP = 2, 2
_SHORTEST = 2
"""The form of a cell that is a sign alone."""

_MARKS = {
    Predicted.WORKS: ("✓", "+", "green"),
    Predicted.FAILS: ("✗", "x", "red"),
    Predicted.UNKNOWN: ("?", "?", "yellow"),
}
_RAN = {
    Measured.PASSED: (*_MARKS[Predicted.WORKS][:2], "green"),
    Measured.FAILED: (*_MARKS[Predicted.FAILS][:2], "bold red"),
    Measured.REFUSED: ("-", "-", "yellow"),
}

_IDS_SHOWN = 4


class Cell(msgspec.Struct, frozen=True):
    """What a cell says, from the longest form to the shortest."""

    forms: tuple[str, str, str]
    colour: str


class Row(msgspec.Struct, frozen=True):
    """Backends whose cells say the same."""

    names: list[str]
    version: str
    cells: tuple[Cell, ...]


def print_table(paper: Paper, verdicts: Sequence[Verdict]) -> None:
    """Print a row for each backend; in a short report one for all that say the same."""
    dtypes = [each for each in Dtype if any(verdict.dtype is each for verdict in verdicts)]
    rows = list(_rows(paper, verdicts, dtypes))
    form, room = _fitting(rows, dtypes, paper.style.width)
    versions = [row.version for row in rows]
    wide = _INDENT + max(map(len, ("version", *versions)))
    has_versions = paper.style.verbose and room >= _NAMES_WIDTH + wide
    room -= wide if has_versions else 0
    version = [("version", "")] if has_versions else []
    printed = [[("backend", ""), *version, *((dtype.value, "") for dtype in dtypes)]]
    for row in rows:
        first, *more = _wrapped(row.names, room)
        version = [(row.version, "")] if has_versions else []
        cells = [(cell.forms[form], cell.colour) for cell in row.cells]
        printed.append([(first, ""), *version, *cells])
        printed += [[(text, ""), *[("", "")] * (len(version) + len(cells))] for text in more]
    paper.columns(printed)
    if form == _SHORTEST:
        paper.line(_legend(paper, verdicts), "dim", indent=2, hang=2)


def _rows(paper: Paper, verdicts: Iterable[Verdict], dtypes: list[Dtype]) -> Iterable[Row]:
    alike: dict[tuple[Cell, ...], Row] = {}
    for backend, mine in _by_backend(verdicts).items():
        cells = tuple(_cell(paper, mine.get(dtype)) for dtype in dtypes)
        version = printable(next(iter(mine.values())).package_version, _VERSION_LIMIT)
        row = Row([backend], version, cells)
        if paper.style.verbose:
            yield row
        else:
            alike.setdefault(cells, Row([], "", cells)).names.append(backend)
    yield from alike.values()


def _by_backend(verdicts: Iterable[Verdict]) -> dict[str, dict[Dtype, Verdict]]:
    found: dict[str, dict[Dtype, Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.backend.value, {})[verdict.dtype] = verdict
    return found


def _cell(paper: Paper, verdict: Verdict | None) -> Cell:
    if verdict is None:
        return Cell(("", "", ""), "")
    word = verdict.predicted.value
    if verdict.measured is Measured.NOT_RUN:
        *pair, colour = _MARKS[verdict.predicted]
        mark = paper.mark((pair[0], pair[1]))
        return Cell((f"{mark} {word}", word, mark), colour)
    *pair, colour = _RAN[verdict.measured]
    ran = verdict.measured.value
    both = ran if verdict.predicted is Predicted.UNKNOWN else f"{word}, {ran}"
    return Cell((both, ran, paper.mark((pair[0], pair[1]))), colour)


def _fitting(rows: list[Row], dtypes: list[Dtype], width: int) -> tuple[int, int]:
    """Return the longest form of the cells that fits, and what it leaves for the names."""
    for form in range(_SHORTEST + 1):
        columns = (
            max(len(dtype.value), *(len(row.cells[index].forms[form]) for row in rows))
            for index, dtype in enumerate(dtypes)
        )
        room = width - _INDENT - sum(_GAP + column for column in columns)
        if room >= _NAMES_WIDTH:
            break
    return form, max(room, _NAMES_WIDTH)


def _wrapped(names: list[str], room: int) -> list[str]:
    return textwrap.wrap(
        ", ".join(names), room, subsequent_indent="  ",
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


def _legend(paper: Paper, verdicts: Iterable[Verdict]) -> str:
    words = [f"{paper.mark(pair[:2])} {name.value}" for name, pair in _MARKS.items()]
    if any(verdict.measured is Measured.REFUSED for verdict in verdicts):
        words.append("- refused")
    return ", ".join(words)


def reasons(verdicts: Iterable[Verdict]) -> Iterable[str]:
    """Say what was measured, and once each why cells fail or stay unknown."""
    said: dict[str, dict[str, list[str]]] = {}
    for verdict in verdicts:
        if verdict.measured is not Measured.NOT_RUN:
            yield f"{verdict.backend.value} {verdict.dtype.value}: {verdict.detail}"
        elif verdict.predicted is not Predicted.WORKS:
            because = ", ".join(verdict.because[:_IDS_SHOWN])
            more = len(verdict.because) - _IDS_SHOWN
            because += f" and {more} more" if more > 0 else ""
            why = ": ".join(part for part in (because, verdict.detail) if part)
            cells = said.setdefault(f"{verdict.predicted.value}, {why}", {})
            cells.setdefault(verdict.backend.value, []).append(verdict.dtype.value)
    for why, cells in said.items():
        yield f"{why}: " + ", ".join(f"{name} {'/'.join(dtypes)}" for name, dtypes in cells.items())


def gpu_names(gpus: list[str]) -> str:
    """Return ``gpu[0] A100``, or ``gpu[0-7] A100`` for GPUs that are alike."""
    subjects, models = zip(*(gpu.partition(" ")[::2] for gpu in gpus), strict=True)
    return f"{_subjects(list(subjects))} {' / '.join(dict.fromkeys(models))}".strip()


def _subjects(subjects: list[str]) -> str:
    """Return ``gpu[0-7]`` for a run of them, and all their names otherwise."""
    numbers = [name.removeprefix("gpu[").removesuffix("]") for name in subjects]
    if len(numbers) > 2 and all(map(str.isdigit, numbers)):
        first, last = int(numbers[0]), int(numbers[-1])
        if numbers == [str(number) for number in range(first, last + 1)]:
            return f"gpu[{first}-{last}]"
    return ", ".join(subjects)
