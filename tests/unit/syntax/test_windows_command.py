"""Quoting for PowerShell and cmd, read back by parsers of their rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.syntax.windows_command import cmd_line, cmd_set, powershell_line, powershell_set
from tests.work import examples

ARGUMENTS = [
    ("python", "-m", "pip", "install", "torch==2.10.0+cu126"),
    (r"C:\Users\Jane Doe\venv\Scripts\python.exe", "-m", "pip", "install", "a b"),
    ("pip", "install", "triton-windows>=3.4,<3.5", "unsloth[huggingface]", "x; y & z | w"),
    ("pip", "flash-attn @ https://example.org/flash_attn-2.8.3%2Bcu126-cp312-win_amd64.whl"),
    (r"C:\path with space\\", "--extra-index-url", "https://example.org/whl/cu126", "-Dname.x=1"),
    ("echo", "", "%PATH%", "^caret", "(round)", "@at", "a,b", "!x!"),
]


def read_powershell(line: str) -> list[str]:
    """Return the arguments of a command as PowerShell's rules read it (about_Quoting_Rules)."""
    words: list[str] = []
    word, at, has_word = "", 0, False
    line = line.removeprefix("& ")
    while at < len(line):
        char = line[at]
        if char in " \t":
            if has_word:
                words.append(word)
            word, has_word = "", False
        elif char in "'\"":
            end = at + 1
            text = ""
            while line[end] != char or line[end : end + 2] == char * 2:
                text += line[end]
                end += 2 if line[end] == char else 1
            assert char == "'" or not re.search(r"[$`]", text), "it would be expanded"
            word, has_word, at = word + text, True, end
        else:
            assert char not in ";&|<>$`(){}@,#\u2018\u2019\u201c", f"{char} is the shell's"
            word, has_word = word + char, True
        at += 1
    return [*words, *([word] if has_word else [])]


def to_program(words: list[str]) -> list[str]:
    """Return what a program gets: Windows has one line, which PowerShell 5.1 joins again."""
    line = " ".join(f'"{w}"' if re.search(r"\s", w) or not w else w for w in words)
    return read_c(line)


def read_c(line: str) -> list[str]:
    """Return the arguments as the C runtime of Windows reads a line."""
    words, word, is_quoted, has_word, at = [], "", False, False, 0
    while at < len(line):
        match = re.compile(r"(\\*)\"").match(line, at)
        if match:
            slashes = len(match[1])
            word += "\\" * (slashes // 2)
            at = match.end()
            has_word = True
            if slashes % 2:
                word += '"'
            else:
                is_quoted = not is_quoted
            continue
        if line[at] in " \t" and not is_quoted:
            if has_word:
                words.append(word)
            word, has_word = "", False
        else:
            word, has_word = word + line[at], True
        at += 1
    return [*words, *([word] if has_word else [])]


def read_cmd(line: str) -> list[str]:
    """Return the arguments after cmd: outside of double quotes nothing may be the shell's."""
    is_quoted = False
    for char in line:
        is_quoted ^= char == '"'
        assert is_quoted or char not in "&|<>^();,!@%", f"{char} is the shell's"
    return read_c(line)


@pytest.mark.parametrize("argv", ARGUMENTS)
def test_powershell_reads_what_was_meant(argv: tuple[str, ...]) -> None:
    words = read_powershell(powershell_line(argv))
    # PowerShell doubles no backslash before a quote that it adds: ours are there for that.
    assert [w.rstrip("\\") for w in to_program(words)] == [w.rstrip("\\") for w in argv]


@pytest.mark.parametrize("argv", ARGUMENTS)
def test_cmd_reads_what_was_meant(argv: tuple[str, ...]) -> None:
    assert read_cmd(cmd_line(argv)) == list(argv)


@given(st.lists(st.text("ab ;&|<>()^!%@,='[]{}#~.:\\/+-", max_size=12), min_size=1, max_size=4))
@settings(max_examples=examples(200), deadline=None, database=None)
@pytest.mark.property
def test_any_arguments(argv: list[str]) -> None:
    assert read_cmd(cmd_line(argv)) == argv
    found = read_powershell(powershell_line(argv))
    assert [w.rstrip("\\") for w in found] == [w.rstrip("\\") for w in argv]


def test_a_program_in_quotes_is_called() -> None:
    assert powershell_line((r"C:\my env\python.exe", "-V")) == r'& "C:\my env\python.exe" -V'
    assert cmd_line((r"C:\my env\python.exe", "-V")) == r'"C:\my env\python.exe" -V'


def test_most_commands_are_the_same_in_both() -> None:
    for argv in ARGUMENTS[:1] + ARGUMENTS[2:4]:
        assert powershell_line(argv) == cmd_line(argv)


def test_dollars_are_not_expanded() -> None:
    assert powershell_line(("echo", "$HOME `x")) == "echo '$HOME `x'"
    assert powershell_line(("echo", "it's $5")) == "echo 'it''s $5'"


def test_variables() -> None:
    assert powershell_set("MAX_JOBS", "4") == "$env:MAX_JOBS = '4'"
    assert powershell_set("X", "it's") == "$env:X = 'it''s'"
    assert powershell_set("X", "") == "$env:X = $null"
    assert cmd_set("X", "a&b") == 'set "X=a&b"'
    assert cmd_set("X", "") == "set X="
    line = powershell_line(("pip", "install", "x"), {"MAX_JOBS": "4"})
    assert line == "$env:MAX_JOBS = '4'; pip install x"
