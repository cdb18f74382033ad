"""The grammar of the shell gives the same words as tree-sitter's, and costs little."""

from __future__ import annotations

import pytest

from fadoctor.syntax.shell_events import Simple
from fadoctor.syntax.shell_grammar import Grammar
from tests.unit.syntax.shell_scripts import ALL, BLOCKS, DOCUMENTS
from tests.work import which_ends


def spans(text: str) -> list[list[str]]:
    return [
        [text[word.at : word.end] for word in each.words]
        for each in Grammar(text).read()
        if isinstance(each, Simple) and each.words
    ]


@pytest.mark.parametrize("text", ALL)
def test_the_words_are_those_of_tree_sitter(text: str) -> None:
    pytest.importorskip("tree_sitter_bash")
    compare_shell = pytest.importorskip("tools.compare_shell")
    found = compare_shell.compare(text)
    assert found.is_sound
    assert found.differing == []
    assert found.same or text.startswith("[[")


def test_a_difference_is_seen() -> None:
    pytest.importorskip("tree_sitter_bash")
    compare_shell = pytest.importorskip("tools.compare_shell")
    other = compare_shell.read("a b\nc\n")
    assert other == {0: ("a", "b"), 4: ("c",)}
    # tree-sitter makes two words of this one
    assert compare_shell.compare('a $"b"\n').differing == [(("a", "$", '"b"'), ("a", '$"b"'))]


@pytest.mark.parametrize("text", [text for text in ALL if "'" not in text or "<<" not in text])
def test_line_ends_of_windows_change_no_word(text: str) -> None:
    windows = text.replace("\n", "\r\n")
    found = [[w.replace("\r\n", "\n") for w in each] for each in spans(windows)]
    assert found == spans(text)


@pytest.mark.parametrize("text", BLOCKS)
def test_blocks_begin_and_end(text: str) -> None:
    kinds = [each.kind for each in Grammar(text).read() if not isinstance(each, Simple)]
    assert kinds.count("open") == kinds.count("close")


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_here_document_is_no_command(text: str) -> None:
    words = {word for each in spans(text) for word in each}
    assert not words & {"don't", "it's", "c`", "EOF", "E"}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("fi done } esac ) ;; a b\n", ["a", "b"]),
        ("if a\nb\n", ["a"]),
        ("case a in b) c", ["c"]),
        ("a 'b", ["a", "'b"]),
        ('a "b', ["a", '"b']),
        ("a ${b", ["a", "${b"]),
        ("a $(b", ["a", "$(b"]),
        ("a `b", ["a", "`b"]),
        ("a \\", ["a", "\\"]),
        ("a <<E\nb\n", ["a"]),
    ],
)
def test_mistakes_are_read_as_far_as_they_make_sense(text: str, first: list[str]) -> None:
    assert spans(text)[0] == first


HOSTILE = {
    "parentheses": "(" * 300_000,
    "substitutions": "$(" * 300_000,
    "sums": "$((" * 100_000,
    "braces": "${a:-" * 40_000,
    "quoted": '"$(' * 100_000,
    "quoted braces": '"${a:-' * 40_000,
    "backticks": "`" * 300_001,
    "documents": "a <<E\n" * 100_000,
    "tests": "[[ " * 100_000,
    "cases": "case a in " * 100_000,
    "arrays": "A=(" * 100_000,
    "functions": "a() { " * 100_000,
    "backslashes": "\\" * 300_000,
    "brackets": "a[" * 200_000,
    "extended": "@(" * 200_000,
    "loops": "for a in " * 100_000,
    "odd": "\x0b" * 40_000 + "\xa0" * 40_000,
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_scripts_cost_little(text: str) -> None:
    with which_ends():
        events = Grammar(text).read()
    assert len(events) < 60_000
