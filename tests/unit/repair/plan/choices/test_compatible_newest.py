"""The newest release that all take, of the major version that is there where it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.repair.plan.choices.compatible_newest import Company
from tests.states.starts import start
from tests.unit.repair.plan.problems import problem, with_package

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from fadoctor.repair.plan.states.requirements import Requirements

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "580.65.06")


def company(trl: str) -> Company:
    found = with_package(start("vision of another torch", A100), "transformers", "4.57.6")
    found = with_package(with_package(found, "accelerate", "1.10.1"), "trl", trl)
    return Company(problem(found), found, {}, {}, careful=False)


def test_another_major_version_comes_only_where_none_of_this_fits() -> None:
    newest = company("0.24.0").newest("trl")
    assert newest is not None
    assert newest.version.startswith("0.29.")
    beyond = company("0.24.0").newest("trl", ">=1.2")
    assert beyond is not None
    assert beyond.version.startswith("1.")


def test_of_a_range_both_may_be_chosen() -> None:
    mine, other = company("0.24.0").newest_of_each_major("trl", ">=0.25")
    assert (mine.version.partition(".")[0], other.version.partition(".")[0]) == ("0", "1")
    assert len(company("1.2.0").newest_of_each_major("trl", ">=0.25")) == 1


def test_what_all_require_is_asked_once_while_the_same_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each violated requirement asked again: forty times for a whole state."""
    required, asked = Company._required, []

    def counted(this: Company, there: Mapping[str, str]) -> Requirements:
        asked.append(len(there))
        return required(this, there)

    monkeypatch.setattr(Company, "_required", counted)
    one = company("0.24.0")
    first = one.newest("trl")
    assert first is not None
    assert one.newest("trl", ">=0.25") == first
    assert len(asked) == 1
    followers = {"trl": first}
    more = Company(one.problem, one.environment, {}, followers, careful=False)
    assert more.newest("accelerate") is not None
    del followers["trl"]
    assert more.newest("accelerate") is not None
    assert len(asked) == 3
