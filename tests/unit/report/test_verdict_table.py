"""The table at every width: as much as there is room for, and never a line that breaks."""

from __future__ import annotations

import pytest

from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict
from fadoctor.report.paper import Paper
from fadoctor.report.style import Style
from fadoctor.report.verdict_table import gpu_names, print_table

ROTATED = (Predicted.WORKS, Predicted.FAILS, Predicted.UNKNOWN)


def cells(*measured: Measured) -> list[Verdict]:
    """Return every backend in every dtype."""
    return [
        Verdict(
            "", backend, "2.8.0+own.build.of.a.long.name", dtype,
            ROTATED[(row + column) % 3], (), measured[(row + column) % len(measured)], "",
        )
        for row, backend in enumerate(Backend)
        for column, dtype in enumerate(Dtype)
    ]  # fmt: skip


def lines(width: int, *measured: Measured, verbose: bool = False, plain: bool = False) -> list[str]:
    paper = Paper(Style(width=width, verbose=verbose, ascii_only=plain))
    print_table(paper, cells(*measured or (Measured.NOT_RUN,)))
    return paper.text().splitlines()


@pytest.mark.parametrize("width", [44, 50, 80, 160])
@pytest.mark.parametrize("measured", [(Measured.NOT_RUN,), tuple(Measured)])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider(width: int, measured: tuple[Measured, ...], *, verbose: bool) -> None:
    found = lines(width, *measured, verbose=verbose)
    assert max(map(len, found)) <= width
    assert all(any(backend.value in line for line in found) for backend in Backend)


def test_signs_alone_have_a_legend() -> None:
    narrow, wide = lines(50, *Measured), lines(160, *Measured)
    assert "refused" in narrow[-1], narrow[-1]
    assert {"✓", "✗", "?"} <= set("".join(narrow))
    assert not any("works, " in line for line in narrow[:-1])
    assert any("works, passed" in line for line in wide)
    assert "".join(lines(50, *Measured, plain=True)).isascii()


def test_what_comes_out_alike_is_one_row_and_each_has_its_own_where_all_is_wanted() -> None:
    assert len(lines(160)) == 1 + len(ROTATED)
    assert len(lines(160, verbose=True)) == 1 + len(Backend)
    assert "version" in lines(160, verbose=True)[0]


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        (["gpu[0] A"], "gpu[0] A"),
        (["gpu[0] A", "gpu[1] A"], "gpu[0], gpu[1] A"),
        ([f"gpu[{n}] A" for n in range(8)], "gpu[0-7] A"),
        ([f"gpu[{n}] A" for n in (9, 10, 11)], "gpu[9-11] A"),
        ([f"gpu[{n}] A" for n in (0, 1, 3)], "gpu[0], gpu[1], gpu[3] A"),
        (["gpu[0] A", "gpu[1] B", "gpu[2] B"], "gpu[0-2] A / B"),
        (["cpu"], "cpu"),
    ],
)
def test_gpus_that_are_alike_are_named_once(gpus: list[str], said: str) -> None:
    assert gpu_names(gpus) == said
