"""YAML as data: what is a number and what stays text, and everything that is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.knowledge.matrix.yaml_reader import SIZE_LIMIT, key_path, read_yaml
from fadoctor.model.errors import RuleDataError


def read(text: str) -> Any:
    return read_yaml(text, "file.yaml").data


def refused(text: str) -> RuleDataError:
    with pytest.raises(RuleDataError) as caught:
        read(text)
    assert str(caught.value).startswith("file.yaml")
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.10", "2.10"),
        ("8.0", "8.0"),
        ("525.60.13", "525.60.13"),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("True", "True"),
        ("NULL", "NULL"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ('""', ""),
        ('"null"', "null"),
        ("'12'", "12"),
        ("12", 12),
        ("-5", -5),
        ("0", 0),
        ("012", "012"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("2026-11-20", "2026-11-20"),
        ("=2.6", "=2.6"),
        ("123456789012345678", 123456789012345678),
        ("1234567890123456789", "1234567890123456789"),
        ("| \n  a\n  b", "a\nb"),
        (">-\n  a\n  b", "a b"),
        ("[1, '1', 1.0]", [1, "1", "1.0"]),
        ("{a: 2.10, b: }", {"a": "2.10", "b": None}),
        ("[]", []),
        ("日本 é", "日本 é"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    found = read(f"key: {text}")["key"]
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("# nothing\n", None),
        ("only text", "only text"),
        ("\ufeffa: b", {"a": "b"}),
        ("a: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
        ("<<: {a: b}", {"<<": {"a": "b"}}),
        ("12: a\n2.10: b\ntrue: c", {"12": "a", "2.10": "b", "true": "c"}),
        ("a: b\n...\n", {"a": "b"}),
    ],
)
def test_documents(text: str, expected: Any) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &x b", "anchors and aliases"),
        ("&x a: b", "anchors and aliases"),
        ("a: &x {b: c}", "anchors and aliases"),
        ("a: *x", "anchors and aliases"),
        ("*x : b", "anchors and aliases"),
        ("a: &x [*x]", "anchors and aliases"),
        ("a: !!str b", "tags"),
        ("a: ! b", "tags"),
        ("!!str a: b", "tags"),
        ("a: !!python/object/apply:os.system [id]", "tags"),
        ("!!map {a: b}", "tags"),
        ("? [a, b]\n: c", "a key is not plain text"),
        ("? {a: b}\n: c", "a key is not plain text"),
        ("a: b\n---\nc: d", "two documents"),
        ("a: b\n---\n", "two documents"),
        ("a: b\nc: d\na: e", "the key is duplicated"),
        ("1: b\n'1': c", "the key is duplicated"),
        ("a: [b", "not valid YAML"),
        ("a:\n\tb: c", "not valid YAML"),
        ("a: b: c", "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        ("a: \x1b[31m", "not valid YAML"),
        ("%YAML 9.9\n---\na: b", "not valid YAML"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    assert problem in refused(text).problem


@pytest.mark.parametrize("text", ["[", "{", "- ", "? ", "{a: ", "[[{a: "])
def test_endless_nesting_is_refused_and_does_not_end_the_process(text: str) -> None:
    refused(text * 100_000)


@pytest.mark.parametrize("unit", ["{a: %s}", "[%s]"])
def test_the_limit_of_nesting(unit: str) -> None:
    def nested(depth: int) -> str:
        text = "x"
        for _ in range(depth):
            text = unit % text
        return text

    assert read(nested(24))
    assert "too deeply" in refused(nested(25)).problem


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed() -> None:
    error = refused("a: " + "[" * (SIZE_LIMIT + (1 << 20)))
    assert error.problem == "larger than 8 MiB"


def test_a_lone_surrogate_is_refused() -> None:
    refused("a: \ud800")


def test_lines_of_values() -> None:
    document = read_yaml("a: 1\nb:\n  - x\n  - c: {d: e,\n      f: g}\n", "file.yaml")
    lines = {key_path(path): line for path, line in document.lines.items()}
    assert lines == {
        "": 1, "a": 1, "b": 2, "b[0]": 3, "b[1]": 4, "b[1].c": 4, "b[1].c.d": 4, "b[1].c.f": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "line"),
    [((), 1), (("b", 0), 3), (("b", 7), 2), (("b", 0, "x", "y"), 3), (("nowhere",), 1)],
)
def test_the_line_of_what_is_not_there_is_that_of_what_is_above(path: Any, line: int) -> None:
    document = read_yaml("a: 1\nb:\n  - x\n", "file.yaml")
    assert document.line(path) == line


def test_errors_name_file_line_and_key() -> None:
    assert str(refused("a:\n  b:\n    - &x c")) == (
        "file.yaml:3 at `a.b[0]`: anchors and aliases are not allowed"
    )
    assert str(refused("a: b\nc: [")).startswith("file.yaml:3: not valid YAML: ")
    error = read_yaml("a:\n  b: c", "f.yaml").error(("a", "b", 0), "is bad")
    assert (error.path, error.line, error.key, error.problem) == ("f.yaml", 2, "a.b[0]", "is bad")


def test_a_key_that_stands_twice_is_shown_where_it_stands_again() -> None:
    assert refused("a: b\nc: d\na: e").line == 3


@pytest.mark.parametrize("text", ['"\\e[31m": 1\n"\\e[31m": 2', 'k:\n  "\\u202e": &x 1'])
def test_an_error_carries_no_terminal_escapes(text: str) -> None:
    assert str(refused(text)).isprintable()
