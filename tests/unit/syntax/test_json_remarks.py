"""JSON with remarks."""

from __future__ import annotations

import pytest

from fadoctor.syntax.json_remarks import without_remarks


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('{"a": 1} // x', '{"a": 1}     '),
        ('{"a": "http://x/*y*/"}', '{"a": "http://x/*y*/"}'),
        ('{"a\\"//": 1, /* x\n y */ "b": 2}', '{"a\\"//": 1,     \n      "b": 2}'),
        ('1 /* no end {"a": 1}', "1" + " " * 19),
        ('"no end // x\n//', '"no end // x\n  '),
    ],
)
def test_every_other_character_stays_where_it_was(text: str, plain: str) -> None:
    assert without_remarks(text) == plain
