"""The release that accepts what is installed, by what releases declare."""

from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.fitting_release import (
    FittingSetting,
    built_for,
    fitting_release,
    fitting_torch,
    moved_with,
    refusing,
)
from fadoctor.knowledge.matrix.query import Matrix, Row
from fadoctor.model.rule import Table
from tests.unit.repair.plan.problems import session

REQUIRES = "release-requires"
_KEYS = {"package": "word", "version": "release"}
_COLUMNS = {"requires": "list", "python": "text", "systems": "list"}


def row(package: str, version: str, requires: str, systems: str = "", python: str = "") -> Row:
    cells = {"requires": requires or None, "python": python or None, "systems": systems or None}
    return {"package": package, "version": version, **cells}


def matrix(*rows: Row) -> Matrix:
    """Return the shipped tables, with some releases instead of those that were read."""
    shipped = dict(session().matrix.tables)
    shipped[REQUIRES] = Table(REQUIRES, "made", _KEYS, _COLUMNS, (), "source-read", rows)
    return Matrix(shipped)


LIBRARY = (
    row("lens", "1.0", "torch<2.5"),
    row("lens", "1.1", "torch<2.6", python=">=3.9"),
    row("lens", "1.2 1.2.1", "torch<2.7"),
    row("lens", "1.3", "torch<2.8"),
    row("lens", "2.0", ""),
)


@pytest.mark.parametrize(
    ("torch", "here", "unmet", "release"),
    [
        ("2.6.0", "1.1", "<2.6", "1.2.1"),  # the newest of the nearest minor release
        ("2.7.1", "1.1", "<2.6", "1.3"),
        ("2.9.0", "1.3", "<2.8", "2.0"),  # which gave the bound up
        ("2.6.0+cu124", "1.0", "<2.5", "1.2.1"),
        ("2.4.1", "2.0", ">=2.5", "1.3"),
    ],
)
def test_the_nearest_release_that_accepts_torch(
    torch: str, here: str, unmet: str, release: str
) -> None:
    setting = FittingSetting({"torch": torch, "lens": here}, kept={"torch": unmet})
    assert fitting_release("lens", setting, matrix(*LIBRARY)) == release


def test_no_release_is_named_that_only_says_less() -> None:
    """A release that names no torch says nothing of an old one, and an older release neither."""
    silent = matrix(
        row("lens", "0.9", ""), row("lens", "1.0", "torch>=2.6"), row("lens", "1.1", "")
    )
    setting = FittingSetting({"torch": "2.5.1", "lens": "1.0"}, kept={"torch": ">=2.6"})
    assert fitting_release("lens", setting, silent) == ""


def test_a_compiled_release_has_to_name_its_torch() -> None:
    compiled = matrix(
        row("lens", "1.0", "torch==2.5.0", "linux"), row("lens", "1.1", "torch>=2.5", "linux")
    )
    setting = FittingSetting({"torch": "2.6.0", "lens": "1.0"}, kept={"torch": "==2.5.0"})
    assert fitting_release("lens", setting, compiled) == ""


def test_what_a_release_pins_has_to_accept_torch_as_well() -> None:
    pinning = matrix(
        row("lens", "1.0", "core==1.0 torch<2.5"), row("lens", "1.1", "core==1.1 torch<2.9"),
        row("core", "1.1", "torch>=2.7"),
    )  # fmt: skip
    setting = FittingSetting({"torch": "2.6.0", "lens": "1.0"}, kept={"torch": "<2.5"})
    assert fitting_release("lens", setting, pinning) == ""


def test_no_release_is_named_that_another_package_refuses() -> None:
    rows = (*LIBRARY, row("camera", "3.0", "lens<1.2"), row("camera", "4.0", "lens<3"))
    there = {"torch": "2.6.0", "lens": "1.1", "camera": "3.0"}
    setting = FittingSetting(there, kept={"torch": "<2.6"})
    assert fitting_release("lens", setting, matrix(*rows)) == ""
    assert refusing("lens", ">=1.2,<2", setting, matrix(*rows)) == ["camera"]
    assert moved_with("camera", {"lens": ">=1.2,<2"}, setting, matrix(*rows)) == "4.0"
    assert refusing("lens", ">=1.1,<2", setting, matrix(*rows)) == []


@pytest.mark.parametrize(
    ("torch", "release"), [("2.6.0+cu124", "2.6.1"), ("2.7.1", "2.7.0"), ("1.9.0", "")]
)
def test_the_release_that_was_compiled_for_this_torch(torch: str, release: str) -> None:
    there = {"torch": torch, "torch-tensorrt": "2.5.0"}
    assert built_for("torch-tensorrt", FittingSetting(there, "3.10"), session().matrix) == release


def test_a_torch_with_the_triton_that_is_required() -> None:
    """Regression: a newer liger-kernel was looked for, which asks for a newer triton as well."""
    there = {"torch": "2.2.2+cu121", "torchvision": "0.17.2+cu121", "triton": "2.2.0"}
    setting = FittingSetting({**there, "liger-kernel": "0.5.2"}, "3.10", kept={"triton": ">=2.3.1"})
    assert fitting_release("liger-kernel", setting, session().matrix) == ""
    assert fitting_torch("liger-kernel", setting, session().matrix) == (
        "torch==2.3.1+cu121", "torchvision==0.18.1+cu121",
    )  # fmt: skip
