"""What is installed under a name that means something else."""

from __future__ import annotations

import pytest
from packaging.version import Version

from fadoctor.knowledge.matrix.index_names import (
    INSTEAD,
    MISTAKEN,
    mistaken_facts,
    nearest_releases,
)
from fadoctor.model.fact import Known, Unknown
from tests.unit.repair.plan.problems import session


def told(**installed: str) -> object:
    there = {name.replace("_", "-"): version for name, version in installed.items()}
    facts = mistaken_facts({"packages.installed": Known(there, "test")}, session().matrix)
    fact = facts[MISTAKEN]
    assert isinstance(fact, Known)
    return fact.value


def test_what_is_installed_is_told_by_its_version() -> None:
    assert told(flash_attn_3="0.0.0", apex="0.9.10.dev0") == {
        "flash-attn-3": "(PyPI has only 0.0.0, an empty file that was withdrawn)",
        "apex": "(on PyPI that is a toolkit for the web framework Pyramid)",
    }
    assert told(flash_attn_3="3.0.0", apex="0.1", sageattention="2.2.0", flashinfer="0.2.5") == {}


def test_a_list_that_could_not_be_read_stays_open() -> None:
    unread = Unknown("no", "test")
    found = mistaken_facts({"packages.installed": unread}, session().matrix)
    assert found == {MISTAKEN: unread, INSTEAD: unread}


@pytest.mark.parametrize(
    ("name", "version", "near"),
    [
        ("torch", "2.7.5", ("2.7.1", "2.8.0")),
        ("transformers", "4.46.4", ("4.46.3", "4.47.0")),
        ("flash-attn", "2.2.4", ()),  # there is one
        ("transformers", "4.46.0", ()),  # withdrawn, and still there
        ("torch", "2.99.0", ()),  # newer than the tables
        ("torch", "2.7.0+cu126", ()),  # of another index
    ],
)
def test_a_release_that_was_never_made(name: str, version: str, near: tuple[str, ...]) -> None:
    assert nearest_releases(name, version, session().matrix) == near


def test_the_newest_series_may_have_got_a_release_since() -> None:
    rows = session().matrix.tables["torch-releases"].rows
    known = sorted(Version(text) for row in rows for text in str(row["version"]).split())
    newest = sorted({each.release[:2] for each in known})[-3:]
    for series in newest:
        patch = f"{series[0]}.{series[1]}.97"
        assert nearest_releases("torch", patch, session().matrix) == ()
