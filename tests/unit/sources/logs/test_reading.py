"""Bytes of any encoding and length become blocks of whole lines, and clean lines."""

from __future__ import annotations

import io

import pytest

from fadoctor.sources.logs.cleaning import (
    LINE_LIMIT,
    PIECES_LIMIT,
    Line,
    clean_lines,
    without_credentials,
)
from fadoctor.sources.logs.reading import BLOCK, read_blocks
from fadoctor.sources.logs.sieve import Region
from tests.work import which_ends

TEXT = "first line\nsecond: 找不到指定的模块\n"


def blocks(data: bytes) -> list[bytes]:
    return list(read_blocks(io.BytesIO(data)))


def clean(data: bytes) -> list[str]:
    return [line.text for line in clean_lines(Region(1, data))]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_same_text_in_each_encoding(encoding: str) -> None:
    data = TEXT.encode(encoding)
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data
    assert b"".join(blocks(data)).decode() == TEXT


def test_blocks_end_with_lines_and_lose_nothing() -> None:
    data = b"".join(b"line %d of a log\n" % number for number in range(200_000))
    found = blocks(data)
    assert b"".join(found) == data
    assert len(found) > 2
    assert all(block.endswith(b"\n") for block in found)


def test_a_line_longer_than_a_block_comes_in_pieces() -> None:
    found = blocks(b"x" * (3 * BLOCK + 5))
    assert [len(block) for block in found] == [BLOCK, BLOCK, BLOCK, 5]


def test_an_empty_log_has_no_blocks_with_content() -> None:
    assert b"".join(blocks(b"")) == b""


def test_chinese_of_a_windows_console_is_read() -> None:
    assert clean("错误\uff1a找不到指定的模块。".encode("gb18030")) == ["错误: 找不到指定的模块。"]


def test_what_is_no_text_is_replaced() -> None:
    assert clean(b"caf\xe9 error") == ["caf\ufffd error"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[31;1mred\x1b[0m", "red"),
        (b"\x1b]8;;https://a.example\x07link\x1b]8;;\x07", "link"),
        (b"\x1b]0;title\x1b\\shown", "shown"),
        (b"[36mcopied[0m", "copied"),
        (b"a\x00b", "ab"),
        (b"x &lt;module&gt; &amp; y", "x <module> & y"),
        ("\u2018quoted\u2019\xa0text".encode(), "'quoted' text"),
        (b"a\x0bb\x0cc", "a b c"),
        (b"[1m]: an index, not a colour", "[1m]: an index, not a colour"),
    ],
)
def test_escapes_and_lookalikes(raw: bytes, text: str) -> None:
    assert clean(raw) == [text]


def test_progress_bars_go_and_what_follows_a_carriage_return_stays() -> None:
    raw = b"\r 10%|#         | 1/10 [00:01<00:09, 1.0s/it]\r100%|##########| 10/10 [00:10<00:00]"
    assert clean(raw + b"\rValueError: x\r\n") == ["", "ValueError: x", ""]


def test_lines_of_windows_are_no_more_than_others() -> None:
    assert clean(b"one\r\ntwo\r\r\n\r\nthree") == ["one", "two", "", "three"]


def test_of_many_carriage_returns_the_last_count() -> None:
    found = clean(b"\r".join(b"%d" % number for number in range(10_000)))
    assert len(found) == PIECES_LIMIT
    assert found[-1] == "9999"


def test_of_a_long_line_both_ends_are_read() -> None:
    (found,) = clean(b"begin" + b"x" * 10 * LINE_LIMIT + b" end")
    assert found.startswith("begin")
    assert found.endswith("end")
    assert len(found) < LINE_LIMIT + 100


def test_a_traceback_inside_a_json_log_is_unfolded() -> None:
    raw = rb'{"m": "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x"}'
    found = clean(raw)
    assert found[1:] == ['  File "a.py", line 1', 'ValueError: x"}']


def test_lines_carry_their_numbers_and_writers() -> None:
    region = Region(40, b"[rank1]: a\n(Worker pid=7) b\n")
    lines = [Line(40, "a", "rank1", 10), Line(41, "b", "Worker pid=7", 16)]
    assert list(clean_lines(region))[:2] == lines


def test_a_fence_in_a_list_does_not_indent_what_is_inside() -> None:
    data = b"- see\n\n    ```text\n    2025-01-02 03:04:05 torch 2.6.0\n      b\n    ```\n    c\n"
    assert [line.text for line in clean_lines(Region(1, data))][2:7] == [
        "```text", "torch 2.6.0", "  b", "    ```", "    c",
    ]  # fmt: skip


@pytest.mark.parametrize("unit", [b"\x1b[", b"\x1b]", b"[", b"&", b"1;", b"%|", b"\x9b", b"|"])
def test_no_cleaning_pattern_runs_away(unit: bytes) -> None:
    with which_ends():
        clean(unit * LINE_LIMIT)


def test_a_long_line_ends_with_whole_words_so_that_no_half_of_a_secret_is_left() -> None:
    secret = "Zq7" * 2_000
    data = b"x " * 2_040 + f"HF_TOKEN={secret} no kernel image".encode()
    (line,) = clean_lines(Region(1, data))
    assert line.text.endswith(" ...  no kernel image")
    assert without_credentials([line])[0].text.count("Zq7") == 0
