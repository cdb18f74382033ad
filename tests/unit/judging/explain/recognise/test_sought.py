"""What an installer looked for in vain, and the Python that has files of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.recognise.sought import sought
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import ASSUMED_PLATFORM, OF_A_LOG, Environment, Target
from fadoctor.model.fact import Fact, Known, fact_text

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

_ASSUMED: dict[str, Fact] = {"host.platform": Known("linux_x86_64", ASSUMED_PLATFORM)}


def found(knowledge: Knowledge, *lines: str, facts: dict[str, Fact] | None = None) -> str:
    """Return the release, its Python, and the Python that listed what was seen."""
    target = Target(kind=OF_A_LOG, label="log", reason="a test")
    environment = Environment("0", target, _ASSUMED | (facts or {}))
    told = sought(lines, environment, Matrix(knowledge.tables))
    names = ("log.sought", "log.sought_python", "log.sought_by", "log.sought_own")
    return " ".join(fact_text(told[name], "-") for name in names)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        # torchvision 0.14.1 has no file for 3.11, and torch 1.13.1 none on Windows
        ("requirement torch==1.13.1 (from versions: 2.2.0, 2.3.1)", "torch 1.13.1 3.10 3.12 -"),
        ("requirement torch==1.10.0+cu113 (from versions: none)", "torch 1.10.0 3.9 - -"),
        ("requirement torch<2,>=1.9 (from versions: 2.9.0)", "torch 1.13.1 3.10 3.14 -"),
        ("requirement torch==2.6.0 (from versions: 1.4.0, 2.4.1)", "torch 2.6.0 3.12 3.8 -"),
        ("requirement torch==1.3.0 (from versions: 0.1.2, 0.1.2.post1)", "torch 1.3.0 - - -"),
        (
            "requirement torchvision==0.14.1 (from versions: 0.17.0)",
            "torchvision 0.14.1 3.10 3.12 -",
        ),
        ("requirement torch==2.0.9 (from versions: none)", "- - - -"),
        ("requirement acme==1.0 (from versions: none)", "- - - -"),
    ],
)
def test_a_python_with_the_files(knowledge: Knowledge, line: str, told: str) -> None:
    assert found(knowledge, f"Could not find a version that satisfies the {line}") == told


@pytest.mark.parametrize(
    "line",
    [
        "  Unable to find installation candidates for torch (1.13.1)",
        "    | Unable to find installation candidates for torch (1.13.1+cu117)",
    ],
)
def test_installers_beside_pip(knowledge: Knowledge, line: str) -> None:
    assert found(knowledge, "on Python 3.11", line) == "torch 1.13.1 3.10 - -"


def test_a_release_that_no_index_has_is_not_a_matter_of_python(knowledge: Knowledge) -> None:
    line = "Because acme depends on torch (1.13.1) which doesn't match any versions, it failed."
    assert found(knowledge, line) == "- - - -"


def test_a_python_that_is_named_is_not_chosen(knowledge: Knowledge) -> None:
    last = "ERROR: No matching distribution found for torch==2.0.1"
    assert found(knowledge, "with Python 3.11 and 3.12 it fails", last) == "torch 2.0.1 3.10 - -"


def test_a_python_that_has_the_files_is_another_build(knowledge: Knowledge) -> None:
    none = (
        "Could not find a version that satisfies the requirement torch==2.0.1 (from versions: none)"
    )
    own: dict[str, Fact] = {"python.version": Known("3.10.6", "a log")}
    assert found(knowledge, none, facts=own) == "torch 2.0.1 - - 3.10"


def test_a_system_that_is_told_is_enough(knowledge: Knowledge) -> None:
    none = (
        "Could not find a version that satisfies the requirement torch==1.3.0 (from versions: none)"
    )
    linux: dict[str, Fact] = {"host.platform": Known("linux_x86_64", "a log")}
    assert found(knowledge, none, facts=linux) == "torch 1.3.0 3.7 - -"
