"""Ranges of versions that exclude each other."""

from __future__ import annotations

import pytest

from fadoctor.repair.plan.choices.released import can_agree, is_there, just_before, within_both
from tests.unit.repair.plan.problems import golden


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("<4.0.0", ">=5.29.6", False),
        ("==1.2.*", ">=1.3", False),
        ("==2.0", "==2.1", False),
        ("<2", ">1.9", True),
        ("<=3.6.0,>=2.16", ">=3.6.0", True),
        ("~=1.2", "<1.3", True),
        ("!=1.0,>=1", "<1.0.1", True),
        ("", ">1", True),
    ],
)
def test_whether_a_version_may_be_in_both(first: str, second: str, *, expected: bool) -> None:
    assert can_agree(first, second) is can_agree(second, first) is expected


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (">=5,<6", ">=5.15,<5.20", ">=5.15,<5.20"),
        (">=4.55,<5", ">=4.50,<4.57", ">=4.55,<4.57"),
        ("<=5", "<5", "<5"),
        (">=4.5,!=4.6", "<5", ">=4.5,<5,!=4.6"),
        ("", "<5", "<5"),
        ("<5", "<5", "<5"),
    ],
)
def test_what_is_in_two_ranges(first: str, second: str, both: str) -> None:
    assert within_both(first, second) == within_both(second, first) == both


@pytest.mark.parametrize(
    ("version", "before"), [("2.2", "2.1.9999"), ("3.0.0", "2.9999"), ("0", ""), ("1.0rc1", "")]
)
def test_a_version_just_before_another(version: str, before: str) -> None:
    assert just_before(version) == before


@pytest.mark.parametrize(
    ("package", "expected"), [("flash_attn", True), ("xformers", True), ("accelerate", False)]
)
def test_a_package_whose_metadata_cannot_be_read_may_be_there(
    package: str, *, expected: bool
) -> None:
    assert is_there(golden("broken-everything"), package) is expected
