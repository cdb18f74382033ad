"""Long and hostile logs: little is kept, nothing runs away, and what matters is found."""

from __future__ import annotations

import io
import os
import resource
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import read_log
from fadoctor.sources.logs.reading import read_blocks
from fadoctor.sources.logs.sieve import (
    AFTER,
    BEFORE,
    ENDS,
    KEPT,
    RARE,
    REPEATS,
    WHOLE,
    WORDS,
    Sifted,
    _find,
    sift,
)
from tests.unit.judging.explain.conftest import found, noise
from tests.work import calls_of, which_ends

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.engine.symptoms import Matcher
    from fadoctor.model.rule import Knowledge

AMPERE = b"RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
NOISE = noise(4_000).encode()
MEBIBYTES = int(os.environ.get("FADOCTOR_TESTS_LOG_MIB", "4"))
"""Size of hostile logs; 1024 for the full size."""


class Stream:
    """A log that is made while it is read: a piece, again and again."""

    def __init__(self, piece: bytes, size: int) -> None:
        self._piece, self._left = piece, size

    def read(self, size: int, /) -> bytes:
        count = min(size, self._left)
        self._left -= count
        times = count // len(self._piece) + 1
        return (self._piece * times)[:count]


def sifted(data: bytes, matcher: Matcher) -> Sifted:
    return sift(read_blocks(io.BytesIO(data)), matcher.anchors())


def kept_lines(kept: Sifted) -> Iterator[tuple[int, bytes]]:
    for region in kept.regions:
        for offset, line in enumerate(region.data.splitlines()):
            yield region.line + offset, line


def test_few_words_are_looked_for() -> None:
    assert len(WORDS) <= 8
    assert len(set(WORDS)) == len(WORDS)
    assert not any(one != other and one in other for one in WORDS for other in WORDS)


def test_anchors_are_few(matcher: Matcher) -> None:
    """Each is looked for in every line of a log: take one that is there already.

    With 322 of them `bench/explain.py` reads as fast as with 300 or 240.
    """
    assert len(matcher.anchors()) < 324


def test_a_pasted_log_is_kept_whole(matcher: Matcher) -> None:
    data = NOISE[: WHOLE - 1]
    kept = sifted(data, matcher)
    assert kept.is_whole
    assert b"".join(region.data for region in kept.regions) == data


def test_of_a_long_log_surroundings_and_the_end_are_kept(matcher: Matcher) -> None:
    data = NOISE + AMPERE + NOISE
    kept = sifted(data, matcher)
    lines = data.splitlines()
    wanted = lines.index(AMPERE.strip()) + 1
    numbers = [number for number, _ in kept_lines(kept)]
    assert not kept.is_whole
    assert kept.lines == len(lines)
    assert set(range(wanted - BEFORE, wanted + AFTER)) <= set(numbers)
    assert numbers == sorted(set(numbers))
    assert len(numbers) < BEFORE + AFTER + ENDS / 60
    assert all(lines[number - 1] == line for number, line in kept_lines(kept))


@pytest.mark.parametrize("shift", range(0, 400, 37))
def test_numbers_are_right_wherever_blocks_end(matcher: Matcher, shift: int) -> None:
    padding = b"x" * shift + b"\n" + NOISE * 3
    data = padding + AMPERE + NOISE * 4
    kept = dict(kept_lines(sifted(data, matcher)))
    assert kept[padding.count(b"\n") + 1] == AMPERE.strip()


def test_repetitions_are_kept_a_few_times(matcher: Matcher) -> None:
    one = b"step %d " + AMPERE
    data = b"".join(
        one.replace(b"%d", b"%d" % number) + noise(200).encode() for number in range(60)
    )
    kept = sifted(data, matcher)
    times = sum(line.endswith(AMPERE.strip()) for _, line in kept_lines(kept))
    assert REPEATS <= times <= REPEATS + 8  # and those at the end of the log


def test_what_is_kept_is_bounded(matcher: Matcher) -> None:
    data = b"".join(b"Error of kind %s: " % bytes([97 + n % 26, 97 + n // 26 % 26, 97 + n // 676])
                    + b"y" * 300 + b"\n" for n in range(17_000))  # fmt: skip
    kept = sifted(data, matcher)
    assert kept.overflowed
    assert sum(len(region.data) for region in kept.regions) < 3 * KEPT + 2 * ENDS + (2 << 20)
    assert kept.regions[0].line == 1


@pytest.mark.parametrize("word", RARE)
@pytest.mark.parametrize("letters", [0, 3, 5_000])
def test_a_word_is_found_by_its_rare_letter_where_find_finds_it(word: bytes, letters: int) -> None:
    """Also behind more of the letter than are tried, at both ends, and cut off."""
    text = word[1:] + b"\n" + (b"a " + RARE[word] + b" ") * letters + word + b" and " + word[:-1]
    for tried in (text, text + word, word, b"", word[:-1]):
        for start in (0, 1, len(tried) // 2, len(tried)):
            assert _find(tried, word, start) == tried.find(word, start)


HOSTILE = {
    "no line end": b"x",
    "no line end, matches": b"FlashAttention only supports Ampere GPUs or newer. Error ",
    "NUL": b"\x00",
    "escapes": b"\x1b[31m\x1b]0;x\x07Error \x1b[\n",
    "invalid UTF-8": b"\xc3Error\xff\xfe\n",
    "markup": b"[bold red]Error[/] [link=https://a.example]x[/link]\n",
    "carriage returns": b" 10%|#  | 1/9 [00:01<00:09]\r",
    "a million matches": AMPERE,
    "tracebacks": b'Traceback (most recent call last):\n  File "a.py", line 1\n' + AMPERE,
    "empty lines": b"\n",
    "brackets": b"((((([[[[[ pid=Error\n",
    "quotes": b"'`\"Command '['",
}


def _read(knowledge: Knowledge, piece: bytes, size: int) -> list[tuple[str, str]]:
    return found(read_log(Stream(piece, size), "hostile", knowledge))


@pytest.mark.sampled
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_logs_are_little_work(knowledge: Knowledge, kind: str) -> None:
    """How long a mebibyte takes, bench/explain.py says."""
    causes: list[tuple[str, str]] = []
    with which_ends():
        calls = calls_of(lambda: causes.extend(_read(knowledge, HOSTILE[kind], MEBIBYTES << 20)))
    assert calls < 20_000_000
    assert {rule_id for rule_id, _ in causes} <= {"gpu-too-old-fa2"}


@pytest.mark.long
@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(knowledge: Knowledge) -> None:
    _read(knowledge, HOSTILE["markup"], 8 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _read(knowledge, HOSTILE["markup"], 96 << 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40 << 10
