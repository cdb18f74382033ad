"""Source code that somebody quotes is not what failed, unless its message stands below it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

ASKS = '        raise ValueError("xformers is not available. Make sure it is installed correctly")'
FAILS = (
    "NotImplementedError: No operator found for `memory_efficient_attention_backward` with inputs:"
)
RAISED = "ValueError: xformers is not available. Make sure it is installed correctly"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"    if is_xformers_available():\n    else:\n{ASKS}\n\n{FAILS}", "xformers-no-operator"),
        (f"---> 71 {ASKS}\n{FAILS}", "xformers-no-operator"),
        (f"{ASKS}\n{RAISED}", "optional-package-missing"),
        (f"{ASKS}", "optional-package-missing"),
    ],
)
def test_quoted_code_gives_way(knowledge: Knowledge, text: str, wanted: str) -> None:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    assert report.findings[0].rule_id == wanted
    assert len(report.findings) == 1
