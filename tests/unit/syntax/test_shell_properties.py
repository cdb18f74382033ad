"""Whatever stands in a script, it is read, and its words stand in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fadoctor.syntax.loose_words import read_words
from fadoctor.syntax.shell import read_shell

PARTS = (
    "a", "b=c", "A=(", ")", "(", "((", "))", "$(", "`", "'", '"', "$'", "\\", "\n", "\r\n", " ",
    ";", ";;", "&&", "||", "|", "&", ">", "<", "<<E", "<<-'E'", "<<\\E", "E\n", "<<<", "2>&1",
    "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "case", "esac", "{",
    "}", "[[", "]]", "=~", "f()", "function g", "f", "!", "$A", "${A:-", "${A[@]}", "${", "#",
    "bash -c", "eval", "sudo", "export", "unset A", "read A", "IFS=,", "shift", "$@", "*", "?(",
    "é", "\x00", "\x0b", "\udcff", "[", "~", "<(", "$((", "\\\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=40), st.sampled_from(("", " ", "\n")))
def test_any_text_is_read(parts: list[str], between: str) -> None:
    text = between.join(parts)
    for command in read_shell(text, {"A": "x y"}).commands:
        assert 0 <= command.start <= len(command.words)
        for word in command.words:
            assert -1 <= word.at <= len(text)
            assert all(0 <= start <= end <= len(word.text) for start, end in word.opens)
            assert -1 <= word.place(len(word.text)) <= len(text) + len(word.text)
    for word in read_words(text, {}):
        assert 0 <= word.at < len(text)
