"""Words of instructions of a Dockerfile."""

from __future__ import annotations

import pytest

from fadoctor.syntax.loose_words import LIMIT, pairs, read_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=b C='d e'", ["A=b", "C=d e"]),
        ("A=$X B=${X:-z} C=${D:-e f}", ["A=one two", "B=one two", "C=e f"]),
        ("A=b;c D=e&f G=(h)", ["A=b;c", "D=e&f", "G=(h)"]),
        ("A=b<c D=e>f #g", ["A=b<c", "D=e>f", "#g"]),
        ('A="b \\"c\\""\n D\\ e', ['A=b "c"', "D e"]),
        ("", []),
        ("   ", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert [word.text for word in read_words(text, {"X": "one two"})] == expected


def test_what_is_not_known_is_open() -> None:
    first, second = read_words("A=$B C=d", {"B": None})
    assert (first.is_open, first.text, second.is_open) == (True, "A=$B", False)


def test_pairs() -> None:
    assert [(n, w.text, w.at) for n, w in pairs(read_words("A=b C='d e'", {})) or ()] == [
        ("A", "b", 0),
        ("C", "d e", 4),
    ]
    assert [(n, w.text) for n, w in pairs(read_words("A b  c", {})) or ()] == [("A", "b c")]
    assert pairs(read_words("A=b c", {})) is None
    assert pairs([]) == []


def test_one_instruction_has_a_limit() -> None:
    assert len(read_words("a " * (LIMIT + 10), {})) == LIMIT
