"""Of a long text both ends are read, each line once."""

from __future__ import annotations

import pytest

from fadoctor.sources.logs.ends import ends_of


@pytest.mark.parametrize(
    ("lines", "read"),
    [("", ""), ("abc", "abc"), ("abcd", "abcd"), ("abcde", "abde"), ("abcdefg", "abfg")],
)
def test_two_lines_of_each_end(lines: str, read: str) -> None:
    assert "".join(ends_of(tuple(lines), 2)) == read
