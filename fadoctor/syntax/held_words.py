"""Which words a text holds, each looked for once."""

from __future__ import annotations

from functools import cached_property, lru_cache

KEPT = 6
"""Texts of which it is remembered: one log as it is, in small letters, and parts of it."""


class HeldWords(dict[str, bool]):
    """Which words a text holds, asked by word: `HeldWords(text)["torch"]`.

    A log repeats its words: among those that it has, each once, there is a fourth to look through.
    """

    def __init__(self, text: str, *, once: bool = False) -> None:
        """Take a text; `once`: one that has each of its words once."""
        super().__init__()
        self.text = text
        self._is_once = once

    @cached_property
    def _each_once(self) -> str:
        return self.text if self._is_once else " ".join(set(self.text.split()))

    def __missing__(self, word: str) -> bool:
        """Look for a word, or for several with blanks between them."""
        longest = max(word.split(), key=len, default="")
        held = longest in self._each_once and (longest == word or word in self.text)
        self[word] = held
        return held


held_words = lru_cache(maxsize=KEPT)(HeldWords)
"""The same text is looked through once, whoever asks."""
