"""The precision of a DeepSpeed configuration that stands in a text."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import fact_text
from fadoctor.sources.logs.pasted_settings import DTYPE, settings_in
from fadoctor.sources.pasted.claims import PastedLine

ON = '{"%s": {"enabled": true},\n "zero_optimization": {"stage": 2}}'


def asked(text: str) -> str:
    lines = [PastedLine(number, row) for number, row in enumerate(text.split("\n"), start=1)]
    found = settings_in(lines, "a.log")
    return fact_text(found[DTYPE], "") if found else ""


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (f"my file:\n{ON % 'bf16'}\nthen it stops", "bf16"),
        (ON % "fp16", "fp16"),
        (f"{ON % 'bf16'}\n{ON % 'fp16'}", ""),  # which one counts is not told
        ((ON % "bf16").replace("true", "false"), ""),
        ((ON % "bf16").replace("true", '"auto"'), ""),
        ('{"bf16": {"enabled": true}}', ""),  # nobody knows whose file it is
        ("{'bf16': {'enabled': True}, 'zero_optimization': {}", ""),  # cut
        ('{"bf16": {"enabled": tr}, "zero_optimization": 1}', ""),
    ],
)
def test_what_a_file_in_a_text_asks_for(text: str, dtype: str) -> None:
    assert asked(text) == dtype
