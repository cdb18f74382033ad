"""The newest release that all take, of the major version that is there where it has one."""

from __future__ import annotations

from fadoctor.repair.plan.choices.compatible_newest import Company
from tests.states.starts import start
from tests.unit.repair.plan.problems import problem, with_package

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
