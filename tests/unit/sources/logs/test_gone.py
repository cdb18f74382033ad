"""Cards of which a text says that they were taken out."""

from __future__ import annotations

import pytest

from fadoctor.sources.logs.named_gpus import without_gone


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I replaced my RTX 3070 with an RX 7900 XT", "RX 7900 XT"),
        ("Swapped my 3060 for an RX 7800 XT", "RX 7800 XT"),
        ("I switched my 4090 to my Linux server, and the RX 7600 is here", "RX 7600"),
        ("upgraded from an RX 6800 to an RTX 5070", "RTX 5070"),
        ("I put the RX 7600 into my main PC", "RX 7600"),
    ],
)
def test_a_card_that_was_taken_out(text: str, left: str) -> None:
    seen = without_gone(text)
    assert left in seen
    assert not any(gone in seen for gone in ("3070", "3060", "4090", "6800"))


@pytest.mark.parametrize(
    "text",
    [
        "I moved my RTX 3060 to the second slot",
        "My RTX 3060 and an RX 6800 are both installed",
        "switched to an RTX 3060",
        "I replaced the driver of my RTX 3060",
    ],
)
def test_a_card_that_stays(text: str) -> None:
    assert without_gone(text) == text


@pytest.mark.parametrize(
    ("text", "own", "other"),
    [
        ("I have an RX 6900 XT, it is slower than an RTX 3070", "6900", "3070"),
        ("I use a Radeon RX 7600 and wait 9 hours, with an RTX 4060 only 1 hour", "7600", "4060"),
    ],
)
def test_a_card_that_is_only_compared(text: str, own: str, other: str) -> None:
    seen = without_gone(text)
    assert own in seen
    assert other not in seen


def test_a_card_that_is_compared_with_none() -> None:
    text = "With an RTX 4060 only 1 hour, and I have an RX 7600"
    assert without_gone(text) == text
