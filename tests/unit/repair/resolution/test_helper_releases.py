"""Releases of packages without a table of their own: by Python, and without gaps."""

from __future__ import annotations

from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.repair.resolution.helper_releases import HelperReleases
from tests.unit.repair.plan.problems import session


def releases(python: str) -> HelperReleases:
    return HelperReleases(session().matrix, python)


def newest(package: str) -> str:
    """Return the newest release that the table has, whatever the day."""
    rows = session().matrix.tables["helper-releases"].rows
    words = [w for row in rows if row["package"] == package for w in str(row["version"]).split()]
    return max(words, key=version_key)


def test_the_newest_is_for_the_python() -> None:
    assert releases("3.12").of("transformers")[0] == newest("transformers")
    assert releases("3.10").of("transformers")[0] == "5.20.2"
    assert releases("3.13t").of("trl")[0] == newest("trl")
    assert releases("3.10").of("trl")[0] == "1.14.2"


def test_of_an_unknown_python_nothing_is_known() -> None:
    assert releases("").of("transformers") == ()
    assert releases("").of("bitsandbytes") == ()


def test_releases_with_others_between_them_are_left_out() -> None:
    found = releases("3.12").of("unsloth_zoo")
    assert found[0] == newest("unsloth-zoo")
    assert "2025.11.6" not in found


def test_what_a_release_requires() -> None:
    found = releases("3.12")
    assert found.requires("trl", "0.12.2") == {"accelerate": ">=0.34.0", "transformers": "<4.47.0"}
    assert found.requires("transformers", "5.23.0") == {}  # it stands in an extra
    assert found.requires("transformers", "4.42.0") == {"numpy": "<2.0,>=1.17"}
    assert found.requires("trl", "0.0.1") == {}


def test_numpy_of_each_python() -> None:
    assert releases("3.10").of("numpy")[0] == "2.2.6"
    assert releases("3.8").of("numpy") == ("1.24.4", "1.23.5")
