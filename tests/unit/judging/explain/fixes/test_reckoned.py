"""The numbers of a fix that follow from the numbers of a log."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.fixes.reckoned import reckoned
from fadoctor.model.fact import Fact, Known, Unknown, fact_text

SILENT = Unknown("not read", "")


def number(name: str, *lines: str, memory: Fact = SILENT) -> str:
    return fact_text(reckoned(lines, memory)[name], "")


@pytest.mark.parametrize(
    ("line", "jobs"),
    [
        ("a laptop with 16 GB RAM", "1"),
        ("RAM: 32 GB", "3"),
        ("64GiB of system memory", "7"),
        ("Mem:           31Gi       2.1Gi", "3"),
        ("an RTX 4080 with 16 GB VRAM", ""),
        ("1024 GB RAM", "32"),
        ("128 GB RAM and MAX_JOBS=8", "4"),
    ],
)
def test_jobs_fit_into_the_memory_that_is_named(line: str, jobs: str) -> None:
    assert number("log.jobs", line) == jobs


def test_a_report_counts_more_than_words() -> None:
    assert number("log.jobs", "16 GB RAM", memory=Known(64 << 30, "a report")) == "7"


@pytest.mark.parametrize(
    ("line", "share"),
    [
        ("Free memory on device cuda:0 (9.83/23.64 GiB) on startup is less than", "0.41"),
        ("Free memory on device (0.60/23.64 GiB) on startup is less than", ""),
        ("Free memory on device cuda:1 (5.00/0.00 GiB)", ""),
    ],
)
def test_a_share_is_what_is_free(line: str, share: str) -> None:
    assert number("log.gpu_share", line) == share
