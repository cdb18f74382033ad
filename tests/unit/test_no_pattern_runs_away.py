"""No expression of the package reads a run of what it repeats in more ways than one.

`(?:#[^\n]*|\\s)*` reads ``#a#a#a`` in 2**n ways where it may end anywhere. Such nests are found in
every expression that a module holds, and each is given a long run that cannot match in the end.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

import fadoctor
from fadoctor.syntax.patterns import LatePattern
from tests.unit.test_every_module import CHILDREN, OPTIONAL
from tests.work import which_ends

if TYPE_CHECKING:
    from collections.abc import Iterator

parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

_RUN = 40
_ENDS = ("", "\0", "\n\0", " \0")
_LETTERS = "a #1-.\"\n /:,'x_=<{[(\\@A|"


def expressions() -> dict[str, re.Pattern[str]]:
    """Return the expressions that modules hold, and the texts among their names that are some."""
    found = {}
    for each in pkgutil.walk_packages(fadoctor.__path__, "fadoctor."):
        if each.name.rpartition(".")[2].startswith(CHILDREN) or each.name in OPTIONAL:
            continue
        if each.name == "fadoctor.__main__":
            continue
        module = importlib.import_module(each.name)
        for name, value in vars(module).items():
            for number, one in enumerate(_members(value)):
                pattern = _as_pattern(one)
                if pattern is not None:
                    found[f"{each.name}.{name}.{number}"] = pattern
    return found


def _members(value: object) -> Iterator[object]:
    if isinstance(value, (tuple, list)):
        for each in value[:500]:
            yield from _members(each)
    elif isinstance(value, dict):
        for each in list(value.values())[:500]:
            yield from _members(each)
    else:
        yield value


def _as_pattern(value: object) -> re.Pattern[str] | None:
    if isinstance(value, LatePattern):
        return re.compile(value.pattern, value.flags)
    if isinstance(value, re.Pattern):
        return value if isinstance(value.pattern, str) else None
    if isinstance(value, str) and ("(?:" in value or "[^" in value) and len(value) < 5_000:
        try:
            return re.compile(value)
        except (re.error, OverflowError):
            return None
    return None


def _inside(kind: str, value: Any) -> list[Any]:
    """Return the sequences that a part of an expression holds."""
    if kind.endswith("_REPEAT"):
        return [value[2]]
    if kind == "SUBPATTERN":
        return [value[3]]
    if kind == "BRANCH":
        return list(value[1])
    if kind in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    return [value] if kind == "ATOMIC_GROUP" else []


def _repeats(sequence: Any) -> bool:
    """Return whether something of any length is in a sequence."""
    return any(
        (str(kind).endswith("_REPEAT") and value[1] > 8)
        or any(_repeats(each) for each in _inside(str(kind), value))
        for kind, value in sequence
    )


def nests(sequence: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is repeated without end and repeats itself, with what must stand before it."""
    for kind, value in sequence:
        inner = _inside(str(kind), value)
        if str(kind) in ("MAX_REPEAT", "MIN_REPEAT") and value[1] > 12 and _repeats(inner[0]):
            yield before, inner[0]
        for each in inner:
            yield from nests(each, before)
        before += sample([(kind, value)])


def sample(sequence: Any, longest: int = 1) -> str:
    """Return a text that a sequence matches, as a rule."""
    return "".join(_sample(str(kind), value, longest) for kind, value in sequence)


def _sample(kind: str, value: Any, longest: int) -> str:
    if kind == "LITERAL":
        return chr(int(value))
    if kind in ("ANY", "NOT_LITERAL"):
        return "b" if value == ord("a") else "a"
    if kind == "IN":
        return _letter(value)
    if kind.endswith("_REPEAT"):
        return sample(value[2]) * int(max(value[0], longest if value[1] else 0))
    if kind in ("SUBPATTERN", "BRANCH", "ATOMIC_GROUP"):
        return sample(_inside(kind, value)[0], longest)
    return ""


def _letter(members: Any) -> str:
    """Return a letter of a set."""
    for letter in _LETTERS:
        if any(_is_member(letter, *each) for each in members) is not _is_negated(members):
            return letter
    literals = (chr(value) for kind, value in members if str(kind) == "LITERAL")
    return next(literals, "a")


def _is_negated(members: Any) -> bool:
    return str(members[0][0]) == "NEGATE"


def _is_member(letter: str, kind: Any, value: Any) -> bool:
    if str(kind) == "LITERAL":
        return ord(letter) == int(value)
    if str(kind) == "RANGE":
        return int(value[0]) <= ord(letter) <= int(value[1])
    classes = {"SPACE": r"\s", "DIGIT": r"\d", "WORD": r"\w"}
    name = str(value).removeprefix("CATEGORY_")
    expression = classes.get(name.removeprefix("NOT_"), "")
    is_in = bool(expression and re.match(expression, letter))
    return is_in is not name.startswith("NOT_") if expression else False


def pieces(sequence: Any) -> list[str]:
    """Return texts that a sequence matches, each of its branches once, and pairs of these."""
    found = [sample(sequence, longest) for longest in (0, 1, 2)]
    for kind, value in sequence:
        if str(kind) in ("BRANCH", "SUBPATTERN"):
            found += [text for each in _inside(str(kind), value) for text in pieces(each)[:2]]
    single = [text for text in dict.fromkeys(found) if text]
    return single + [one + other for one in single for other in single if one != other][:12]


def runs(pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield texts that an expression would read in many ways, if it had such a nest."""
    for before, inner in nests(parser.parse(pattern.pattern, pattern.flags)):
        for piece in pieces(inner):
            yield from (before + piece * _RUN + end for end in _ENDS)


def tried(pattern: re.Pattern[str]) -> None:
    for text in runs(pattern):
        pattern.match(text)
        pattern.search(text)


def test_no_expression_runs_away() -> None:
    found = expressions()
    assert len(found) > 400
    for name, pattern in found.items():
        with which_ends(f"{name}: {pattern.pattern[:200]}"):
            tried(pattern)


@pytest.mark.parametrize("pattern", [
    r"(?:\s|[-?:](?=\s)|[&!]\S*|#[^\n]*)*(?=[\[{])", r"(?:\w+,?)+;", r"x(?:a|b*c*)*y",
])  # fmt: skip
def test_one_that_does_is_seen(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is one that the reader of YAML had."""
    monkeypatch.setattr("tests.work.PATIENCE_S", 0.5)
    with pytest.raises(pytest.fail.Exception), which_ends():
        tried(re.compile(pattern))
