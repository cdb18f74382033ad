"""What a look at a pattern tells is true of every match, and saves compiling it."""

from __future__ import annotations

import re

import pytest

from fadoctor.syntax.patterns import LatePattern, compiled
from fadoctor.syntax.sought_words import sought_words


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", ()),
        ("abc", (("abc",),)),
        ("abc?", (("ab",),)),
        ("abc*d", (("ab",),)),
        ("abc+", (("abc",),)),
        ("ab{0,3}cd", (("cd",),)),
        ("ab{2}", (("ab",),)),
        (r"a\.b\b c", (("a.b c",),)),
        (r"a\x41\u5e93", (("aA\u5e93",),)),
        (r"\d{3}\u5e93[ab]", (("\u5e93",),)),
        ("[abc]de", (("de",),)),
        ("[]x]de[^]y]f", (("de",),)),
        ("(?:ab|cd)?ef", (("ef",),)),
        ("ab|", ()),
        ("(?P<one>ab(?:cd|x))+ef", (("ab",), ("ef",))),
        (r"(?!no)ab(?<!xy)cd(?=ef)", (("abcd",), ("ef",))),
        (r"(ab)\1", ()),
        (r"(?x)ab", ()),
        (r"(?P<a>ab)(?P=a)", ()),
        (r"\N{BULLET}ab", ()),
        ("ab)", ()),
        ("(ab", ()),
    ],
)
def test_words_of_a_pattern(pattern: str, words: tuple[tuple[str, ...], ...]) -> None:
    assert sought_words(pattern, folded=False) == words


def test_one_of_several_words() -> None:
    ((*words,),) = sought_words("(?:abc|d(?:ef|gh)|ij[kl])", folded=False)
    assert sorted(words) == ["abc", "ef", "gh", "ij"]


def test_a_pattern_for_both_cases_is_looked_for_in_small_letters() -> None:
    assert sought_words("ABc", folded=True) == (("abc",),)
    assert compiled("ABc", re.IGNORECASE).search("xAbC")
    assert compiled("(?i:ABc)").search("xAbC")
    assert compiled("(?i)ABc|\u00d6l").search("\u00d6L")
    assert sought_words("\u039f\u03a3", folded=True) == ()


TEXTS = ("", "nothing", "cuda 12.8, CUDA 13.0")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("pattern", ["cuda (?P<number>[0-9.]{4})", r"\d", "(?i)CUDA"])
def test_a_late_pattern_does_as_one_that_is_compiled(pattern: str, text: str) -> None:
    known = re.compile(pattern, re.ASCII)

    def late() -> re.Pattern[str]:
        compiled.cache_clear()
        return compiled(pattern)

    for _ in range(2):  # before and after it was compiled
        assert str(late().search(text)) == str(known.search(text))
        assert str(late().match(text)) == str(known.match(text))
        assert str(late().fullmatch(text)) == str(known.fullmatch(text))
        assert list(map(str, late().finditer(text))) == list(map(str, known.finditer(text)))
        assert late().findall(text) == known.findall(text)
        assert late().split(text) == known.split(text)
        assert late().split(text, 1) == known.split(text, 1)
        assert late().sub("x", text) == known.sub("x", text)
        assert late().sub("x", text, count=1) == known.sub("x", text, count=1)
        assert late().subn("x", text) == known.subn("x", text)
    assert (late().groups, late().flags) == (known.groups, known.flags)


def test_a_text_without_its_words_compiles_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    late = LatePattern("undefined (?:symbol|name): ([a-z]{1,9})", int(re.ASCII))
    with monkeypatch.context() as patched:
        patched.setattr(re, "compile", None)
        assert late.search("an undefined reference") is None
    assert late.search("undefined name: x") is not None
