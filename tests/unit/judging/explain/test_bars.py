"""Progress bars: they go, and what stands beside them in a line stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.logs.cleaning import clean_lines
from fadoctor.sources.logs.sieve import Region
from tests.unit.judging.explain.conftest import CAUSES, is_right
from tests.unit.judging.explain.conftest import found as found_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.judging.explain.explain import Reading

ERROR = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
BARS = (
    "  0%|          | 0/10 [00:00<?, ?it/s]",
    "Epoch 3:  40%|████      | 4/10 [00:04<00:06,  1.01s/it, loss=0.31]",
    "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:01<00:03,  1.24s/it]",
    "Training: |          | 0/? [00:00<?, ?it/s]",
    "17it [00:02,  8.1it/s]",
    "     ━━━━━━━━━━━━━━━━━━━━ 8.4/8.4 MB 105.3 MB/s eta 0:00:00",
    "  3%|▎         | 3.1M/104M [00:01<00:33, 3.02MB/s]",
)


def lines(text: str) -> list[str]:
    return [line.text for line in clean_lines(Region(1, text.encode()))]


@pytest.mark.parametrize("bar", BARS)
def test_a_bar_alone_goes(bar: str) -> None:
    assert lines(bar) == []


@pytest.mark.parametrize("bar", BARS)
def test_what_is_glued_behind_a_bar_stays(bar: str) -> None:
    assert lines(bar + ERROR) == [ERROR]
    assert lines(f"{bar} {ERROR}") == [ERROR]


@pytest.mark.parametrize("bar", BARS[:1] + BARS[4:])
def test_what_is_glued_before_a_bar_stays(bar: str) -> None:
    assert lines(f"{ERROR} {bar}") == [ERROR]


def test_bars_between_which_something_was_printed() -> None:
    assert lines(f"{BARS[0]}{{'loss': 0.5}}{BARS[0]}{ERROR}") == ["{'loss': 0.5}", ERROR]


def test_a_bar_that_a_terminal_has_cut() -> None:
    assert lines("  0%|          | 0/10 [00:00<?, ?it") == []


def test_a_table_is_no_bar() -> None:
    for row in ("| torch | 2.6.0 |", "| GPU-Util | 3/10 MiB |", "| 0%| 12W / 70W |"):
        assert lines(row) == [row]


@pytest.mark.parametrize("bar", [BARS[0], BARS[1]])
def test_each_kind_of_report_behind_a_bar(read: Callable[[str], Reading], bar: str) -> None:
    wrong = [
        rule_id
        for rule_id, log in list(CAUSES.items())[::5]
        if not is_right(rule_id, found_in(read("start\n" + bar + log)))
    ]
    assert wrong == []
