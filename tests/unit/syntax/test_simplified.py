"""Chinese tellings are read in either script."""

from __future__ import annotations

import pytest

from fadoctor.syntax.simplified import simplified
from tools.write_simplified import pairs_in, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u5b89\u88dd CUDA", "\u5b89\u88c5 CUDA"),
        ("\u986f\u5361", "\u663e\u5361"),
        ("\u5b89\u88c5 CUDA", "\u5b89\u88c5 CUDA"),
        ("torch.cuda", "torch.cuda"),
        ("\uc124\uce58 \u30c6\u30b9\u30c8", "\uc124\uce58 \u30c6\u30b9\u30c8"),
    ],
)
def test_traditional_characters_become_simplified(text: str, expected: str) -> None:
    assert simplified(text) == expected
    assert len(simplified(text)) == len(text)


def test_only_characters_of_the_tables_are_written() -> None:
    source = "\u88dd\t\u88c5\n\u986f\t\u663e\n\u53f0\t\u53f0\n\u5e79\t\u5e72 \u69a6\nab\tx\n"
    pairs = pairs_in(source, "\u88c5\u5e72\u53f0")
    assert pairs == [("\u5e79", "\u5e72"), ("\u88dd", "\u88c5")]
    module = written('_TRADITIONAL = (\n    ""\n)\n_SIMPLIFIED = (\n    ""\n)\nend\n', pairs)
    assert module == (
        '_TRADITIONAL = (\n    "\\u5e79\\u88dd"\n)\n_SIMPLIFIED = (\n    "\\u5e72\\u88c5"\n)\nend\n'
    )
