"""Bars of times are held against a baseline, and stop at twice of them."""

from __future__ import annotations

from itertools import count

import pytest

from bench.bars import UNIT_MS, Bars


def machine(slowness: float) -> Bars:
    """Return bars on a machine that needs so many baselines."""
    ticks = count()
    return Bars(lambda: next(ticks) * slowness * UNIT_MS / 1000)


@pytest.mark.parametrize(
    ("slowness", "measured", "said", "status"),
    [
        (1.0, 99.0, "bar 100 ms: met", 0),
        (1.0, 101.0, "bar 100 ms: MISSED", 0),
        (1.0, 299.0, "bar 100 ms: MISSED", 0),
        (1.0, 301.0, "bar 100 ms: MISSED", 1),
        (3.0, 299.0, "bar 100 ms (300 ms here): met", 0),
        (3.0, 901.0, "bar 100 ms (300 ms here): MISSED", 1),
        (0.5, 99.0, "bar 100 ms: met", 0),
    ],
)
def test_a_slow_machine_has_higher_bars(
    slowness: float, measured: float, said: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    bars = machine(slowness)
    assert bars.told("reading", measured, 100.0) == said
    assert bars.end() == status
    assert ("over 3 x their bars: reading" in capsys.readouterr().out) == bool(status)


def test_what_is_far_over_its_bar_is_measured_again(capsys: pytest.CaptureFixture[str]) -> None:
    bars, times = machine(0.5), iter([950.0, 310.0, 120.0, 90.0])
    assert bars.held("reading", lambda: next(times), 100.0) == (120.0, "bar 100 ms: MISSED")
    assert bars.end() == 0
    assert list(times) == [90.0]
    assert capsys.readouterr().out == ""


def test_what_stays_far_over_its_bar_stops(capsys: pytest.CaptureFixture[str]) -> None:
    bars, times = machine(0.5), iter([950.0, 910.0, 920.0, 930.0])
    assert bars.held("reading", lambda: next(times), 100.0) == (910.0, "bar 100 ms: MISSED")
    assert bars.end() == 1
    assert capsys.readouterr().out == "over 3 x their bars: reading\n"
