from __future__ import annotations

import pytest

from fadoctor.sources.manifests.shell_words import read_commands

KNOWN: dict[str, str | None] = {"X": "one two", "EMPTY": "", "ASKED": None}


def words(text: str) -> list[list[str]]:
    return [
        [("?" if word.is_open else "") + word.text for word in command.words]
        for command in read_commands(text, KNOWN)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\"f", [["a", "b c", "d ef"]]),
        ("a\\ b c", [["a b", "c"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a && b; c | d\ne & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a # b\nc#d", [["a"], ["c#d"]]),
        ("a $X \"$X\" '$X'", [["a", "one", "two", "one two", "$X"]]),
        ("a x$X", [["a", "xone", "two"]]),
        ("a $EMPTY b", [["a", "", "b"]]),
        ("a ${X:-y} ${NOT_SET:-y} ${EMPTY:-y} ${X:+y}", [["a", "one", "two", "y", "y", "y"]]),
        ("a $NOT_SET ${ASKED}", [["a", "?$NOT_SET", "?${ASKED}"]]),
        ("a $(b $(c) d) `e f` ${X%%y}", [["a", "?$(b $(c) d)", "?`e f`", "?${X%%y}"]]),
        ("a 2>&1 >b <c &>d", [["a"]]),
        ("a 'b", [["a", "b"]]),
        ('a "b', [["a", "b"]]),
        ("", []),
    ],
)  # fmt: skip
def test_words(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "conditional"),
    [
        ("a; if b; then c; else d; fi; e", ["b", "c", "d"]),
        ("for x in 1; do a; done\nb", ["x", "a"]),
        ("while a; do b; done", ["a", "b"]),
        ("a || b", ["b"]),
        ("[ -f x ] && b && c; d", ["b", "c"]),
        ("a && b", []),
        ("(a; b)", []),
        ("{ a; }", []),
    ],
)
def test_what_runs_under_a_condition(text: str, conditional: list[str]) -> None:
    commands = read_commands(text, {})
    assert [each.words[0].text for each in commands if each.is_conditional] == conditional


def test_a_bound_without_quotes_is_a_redirection() -> None:
    (command,) = read_commands("pip install torch>=2.0", {})
    assert command.text == "pip install torch"
    assert command.redirected == ("=2.0",)


@pytest.mark.parametrize(
    "text",
    ["(" * 100_000, "$(" * 50_000, '"$(' * 30_000, "a;" * 100_000, "$X " * 30_000, "`" * 9999],
)
def test_hostile_scripts_end(text: str) -> None:
    assert len(read_commands(text, KNOWN)) <= 5_000
