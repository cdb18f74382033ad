"""Drivers that texts name by their branch alone."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Known, Unknown
from fadoctor.sources.completion.driver_branch import driver_of_branch

OPEN = {"driver.version": Unknown("not said", "the text")}


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ("My RTX 3060 runs with driver 470.", "470"),
        ("Since the 590 driver the card is gone.", "590"),
        ("NVIDIA driver version: 535, Ubuntu 22.04", "535"),
        ("\u9a71\u52a8\u7248\u672c\u662f535\uff0ctorch\u7528\u4e0d\u4e86", "535"),
        ("570-open driver here, and still no device", "570"),
        ("driver 550 on node 1, driver 550 on node 2", "550"),
        ("driver 550 on node 1, driver 470 on node 2", ""),
        ("This torch needs driver 580.", ""),
        ("With the 470 driver it worked.", ""),
        ("driver 535.104.05", ""),
        ("the driver 512 MB of memory", ""),
        ("RTX 3060 and torch 2.6", ""),
    ],
)
def test_the_one_branch_that_a_text_names(text: str, branch: str) -> None:
    found = driver_of_branch(OPEN, text)
    among = (f"{branch}.0", f"{branch}.999") if branch else None
    fact = found.get("driver.version")
    assert (fact.among if isinstance(fact, Unknown) else None) == among


@pytest.mark.parametrize(
    "fact", [Known("535.104.05", "a report"), Unknown("old", "x", ("1.0", "524.999"), "old")]
)
def test_what_a_report_says_of_the_driver_counts(fact: Known | Unknown) -> None:
    assert driver_of_branch({"driver.version": fact}, "driver 470") == {}
