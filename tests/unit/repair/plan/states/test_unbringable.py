"""What comes along and no list names: a release of it has to take what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.plan.choices.released import accepts
from tests.unit.repair.plan.problems import session
from tests.unit.repair.resolution.test_sources_alone import planned_for

if TYPE_CHECKING:
    from pathlib import Path


def test_no_release_is_planned_whose_companion_refuses_a_pin(tmp_path: Path) -> None:
    """Regression: uv refused unsloth 2026.9.14: its unsloth-zoo takes no transformers 4.51.3."""
    text = "unsloth==2025.8.1\ntransformers==4.51.3\n"
    plan = planned_for(tmp_path, text, "A100", "3.14", "linux_x86_64")
    [version] = [each.after for each in plan.changes if each.distribution == "unsloth"]
    candidates, helpers = session().candidates, session().candidates.helpers
    [wanted] = [
        str(row["unsloth_zoo"])
        for row in candidates.tables["unsloth-releases"].rows
        if version in str(row["version"]).split()
    ]
    listed = [
        release
        for row in candidates.tables["helper-releases"].rows
        if row["package"] == "unsloth-zoo"
        for release in str(row["version"]).split()
        if accepts(wanted, release)
    ]
    needs = [helpers.needs("unsloth-zoo", release)["transformers"] for release in listed]
    assert any(accepts(each, "4.51.3") for each in needs)


@pytest.mark.parametrize(
    ("name", "specifier", "expected"),
    [
        ("unsloth-zoo", ">=2026.9.9", True),
        ("unsloth-zoo", ">=2025.1.1", False),  # some of these are not listed
        ("unsloth-zoo", "<2026.9.9", False),  # nor are those before the oldest one
        ("unsloth-zoo", ">=9999", False),
        ("nobody-lists-it", ">=1", False),
    ],
)
def test_whether_all_releases_of_a_range_are_listed(
    name: str, specifier: str, *, expected: bool
) -> None:
    assert session().candidates.helpers.lists_all(name, specifier) is expected
