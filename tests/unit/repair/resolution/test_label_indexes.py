"""The index that a label names is written into the file that asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.resolution.judge import plan_base
from fadoctor.repair.resolution.label_indexes import with_label_indexes
from fadoctor.repair.resolution.requirement_line import option_for_pip
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.resolution.test_judge import on

if TYPE_CHECKING:
    from pathlib import Path

INDEX = "https://download.pytorch.org/whl/cu118"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("torch==2.2.1+cu118\ntorchvision==0.17.1+cu118\n", [("torch==2.2.1+cu118", INDEX)]),
        (f"--extra-index-url {INDEX}\ntorch==2.2.1+cu118\n", []),
        ("torch==2.2.1\n", []),
        ("torch==2.2.1+cu999\n", []),  # no table has that build
    ],
)
def test_the_index_is_named_once(tmp_path: Path, text: str, named: list[tuple[str, str]]) -> None:
    base = plan_base(on(tmp_path, text, "RTX 3090", "525.125.06"), session().knowledge)
    found = with_label_indexes(plan(base), base, session().knowledge)
    assert [(*each.requirements, each.index) for each in found.actions if each.index] == named
    told = [each for each in found.actions if "torch-label-without-index" in each.findings]
    assert not named or [each.requirements for each in told] == [(named[0][0],)]


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("- python=3.10\n- pip:\n  - torch==2.2.1+cu118", f"  - --extra-index-url {INDEX}"),
        ("- pip:\n  # a word\n  - einops\n  - torch==2.2.1", f"  - --extra-index-url {INDEX}"),
        ("- pip:\n  - einops\n- torch==2.2.1", ""),
        ("dependencies:\n  - torchvision=0.17.1", ""),
        ("- pip:\n  torch==2.2.1", ""),
    ],
)
def test_an_option_stands_in_the_list_for_pip(text: str, option: str) -> None:
    lines = text.split("\n")
    assert option_for_pip(lines, len(lines) - 1, INDEX) == option
