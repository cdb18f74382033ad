"""A rule's page has each framework's own line for a setting, of its newest release."""

from __future__ import annotations

import pytest

from fadoctor.report.setting_lines import setting_items
from tests.shipped import compiled


def said(**wanted: str) -> dict[str, list[str]]:
    """Return framework -> its lines."""
    items = setting_items(wanted, compiled().knowledge)
    return {each.spans[0].text: [s.text for s in each.spans if s.code] for each in items}


def test_both_settings_are_said_in_the_words_of_each_framework() -> None:
    """It was "setting: attention sdpa, in the words of the framework", with nothing to copy."""
    found = said(attention="sdpa", dtype="fp16")
    assert found["transformers: "] == ['attn_implementation="sdpa"', "dtype=torch.float16"]
    assert found["LLaMA-Factory: "] == ["flash_attn: sdpa", "fp16: true, bf16: false"]


def test_a_framework_that_lacks_one_of_them_is_not_named() -> None:
    assert "vLLM: " not in said(attention="sdpa", dtype="fp16")
    assert said(dtype="fp16")["vLLM: "] == ["--dtype half"]


@pytest.mark.parametrize("wanted", [{}, {"attention": "of-nobody"}])
def test_without_a_setting_there_is_no_line(wanted: dict[str, str]) -> None:
    assert said(**wanted) == {}
