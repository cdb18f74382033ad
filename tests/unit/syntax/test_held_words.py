"""Words are looked for among those that a text has, each once: the answers are those of `in`."""

from __future__ import annotations

import pytest

from fadoctor.syntax import held_words
from fadoctor.syntax.held_words import HeldWords

TEXT = "step 1: loss 0.5\nstep 2: loss 0.4\nImportError: libcudart.so.12: 显卡 不支持\n"


@pytest.mark.parametrize(
    "word",
    ["loss", "oss", "step 2: loss", "0.4\nImport", "libcudart.so.1", "支持", "", " ", "\n",
     "loss step", "0.5 step", "tepl", "step  2", "None"],
)  # fmt: skip
def test_a_text_holds_what_stands_in_it(word: str) -> None:
    assert HeldWords(TEXT)[word] is (word in TEXT)


def test_each_word_is_looked_for_once() -> None:
    held = HeldWords(TEXT)
    assert held["loss"]
    assert not held["torch"]
    assert dict(held) == {"loss": True, "torch": False}


def test_of_a_text_with_each_word_once_no_other_is_made() -> None:
    held = HeldWords("loss step", once=True)
    assert held["step"]
    assert held._each_once is held.text


def test_one_text_is_looked_through_once() -> None:
    assert held_words.held_words(TEXT) is held_words.held_words(str(TEXT))
