"""What installers say of releases that no table has."""

from __future__ import annotations

import pytest

from fadoctor.sources.completion.told_requirements import told_requirements

THERE = {"trainer-of-mine": "1.4.0", "flash-attn": "2.8.1", "numpy": "2.2.0"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            (
                "trainer-of-mine 1.4.0 requires flash-attn==2.7.3, but you have flash-attn 2.8.1 "
                "which is incompatible."
            ),
            {"flash-attn": "==2.7.3"},
        ),
        (
            "ERROR: Trainer_of.mine 1.4 has requirement numpy<2,>=1.2, but you'll have numpy 2.2.0",
            {"numpy": "<2,>=1.2"},
        ),
        (
            'trainer-of-mine 1.4.0 requires numpy<2; python_version < "3.13", but you have numpy 2',
            {"numpy": "<2"},
        ),
        (
            "The package `trainer-of-mine` requires `numpy>=1.2,<2`, but `2.2.0` is installed",
            {"numpy": ">=1.2,<2"},
        ),
        (
            "VersionConflict: (numpy 2.2 (/x), Requirement.parse('numpy<2'), {'trainer-of-mine'})",
            {"numpy": "<2"},
        ),
    ],
)
def test_a_line_of_an_installer_says_what_a_release_requires(
    line: str, told: dict[str, str]
) -> None:
    assert told_requirements(f"x\n{line}\n", THERE) == {"trainer-of-mine": told}


@pytest.mark.parametrize(
    "line",
    [
        "trainer-of-mine 1.3.0 requires flash-attn==2.7.3, but you have flash-attn 2.8.1",
        "trainer-of-mine 1.4.0 requires einops==0.8, but you have einops 0.7",
        "trainer-of-mine 1.4.0 requires flash-attn, which is not installed.",
        "trainer-of-mine 1.4.0 requires flash-attn==2.7.3 and runs",
    ],
)
def test_of_another_release_or_package_it_says_nothing(line: str) -> None:
    assert told_requirements(line, THERE) == {}
