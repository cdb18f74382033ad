"""Quote a line of a log: what a rule took from it, and words that are known to be harmless.

A log may hold a secret that nothing announces. Whatever is neither captured by the rule's pattern,
nor a word of the rules, a number, a version, a path or a name made of such words, is ``...``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.rule_words import PART, RuleWords
from fadoctor.model.rule import kept_with
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line

LEFT_OUT = "..."

_WORD = compiled(r"\S+")
_NUMBER = (
    r"[(\[{<'\"]{0,3}(?:v?\d{1,8}(?:[.,:/x-]\d{1,8}){0,8}(?:[.+](?:post|dev|rc|cu|cpu|git|[ab])?\d{0,8}){0,4}"
    r"|0x[0-9a-fA-F]{1,16})[%)\]}>'\",.;:]{0,4}"
)
_FLAG = r"['\"]?-(?:[fWlm][A-Za-z][\w=+,-]{0,40}|O\d|std=[\w+]{2,12}|shared|pthread)['\",]{0,2}"
_PATH = r"(?:[(\[{<'\"=:,]{0,3}(?:-[ILB])?(?:file://)?(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/|\$))"
_PLACE = ("site-packages", "dist-packages", "lib/python", "/usr/", "/opt/", "/proc/", "/sys/")
_RANDOM = r"(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{12,}"
_MANGLED = r"['\"(]?_Z[A-Z0-9]\w{1,400}['\"),.:;]{0,3}"
_SHORT = 2
_LONG = 40
_TAG = 8
_MOST_KEPT = 20_000

_PLAIN = frozenset({
    "the", "and", "was", "were", "with", "for", "from", "this", "that", "has", "have", "not", "but",
    "can", "could", "line", "file", "most", "recent", "call", "last", "info", "debug", "warn",
    "warning", "error", "fatal", "exit", "code", "exited", "status", "process", "step", "epoch",
    "loss", "train", "training", "trainer", "eval", "rank", "main", "module", "init", "def",
    "class", "self", "return", "raise", "import", "none", "true", "false", "args", "kwargs",
    "forward", "backward", "model", "models", "layer", "layers", "output", "outputs", "input",
    "inputs", "hidden", "states", "config", "kernel", "launch", "worker", "engine", "core", "exec",
    "run", "runner", "server", "request", "response", "event", "loop", "thread", "async",
    "when", "while", "during", "because", "failed", "failure", "found", "missing", "lib", "bin",
    "src", "tmp", "usr", "opt", "python", "home", "user", "users", "root", "data", "work",
    "workspace", "causal", "conditional", "generation", "sequence", "classification", "tokenizer",
    "via", "then", "than", "into", "over", "also", "only", "still", "here", "there", "its", "our",
    "your", "you", "please", "try", "use", "using", "used", "got", "get", "see", "more", "all",
    "any", "each", "other", "first", "second", "new", "old", "same", "some", "such", "too", "very",
    "just", "now", "again", "always", "never", "after", "before", "between", "without", "about",
    "env", "envs", "venv", "conda", "build", "setup", "wheel", "pip", "test", "tests", "utils",
})  # fmt: skip
"""Words of every log."""


_ENDINGS = ("ing", "ed", "es", "s", "er", "ers", "ly", "ion", "ions", "d")


def vocabulary_of(knowledge: Knowledge) -> Vocabulary:
    """Return the words of a knowledge base; they are gathered once."""
    return kept_with(knowledge, "vocabulary", Vocabulary)


class Vocabulary:
    """The words of the rules: those of messages and patterns are what the rules look for."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Take the rules."""
        self._knowledge = knowledge
        self._words: RuleWords | None = None
        self._known: dict[str, bool] = {}

    def has(self, word: str) -> bool:
        """Return whether a word, or what it is an ending of, stands in rules or in every log."""
        lowered = word.lower()
        found = self._known.get(lowered)
        if found is None:
            found = lowered in _PLAIN or self._is_in_rules(lowered)
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[lowered] = found
        return found

    def _is_in_rules(self, word: str) -> bool:
        if self._words is None:
            self._words = RuleWords(self._knowledge)
        stems = [word, f"{word}s", f"{word}ed", f"{word}ing"]
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) > len(ending) + _SHORT:
                stem = word.removesuffix(ending)
                stems += [stem, f"{stem}e", f"{stem}ed", f"{stem}ing"]
        return any(map(self._words.has, stems))


def as_written(shown: Iterable[Line], read: Iterable[Line]) -> Iterator[Line]:
    """Yield lines as they stand in a text, where they were matched as a program prints them."""
    by_number: dict[int, list[Line]] = {}
    for line in read:
        by_number.setdefault(line.number, []).append(line)
    for line in shown:
        there = by_number.get(line.number, [])
        is_repaired = len(there) == 1 and line.text not in there[0].text
        yield there[0] if is_repaired else line


def quote(text: str, captures: Mapping[str, str], known: Vocabulary) -> str:
    """Return a line with ``...`` for words that cannot be told from secrets."""
    taken = list(_spans(text, captures.values()))
    said: list[str] = []
    at = 0
    for word in _WORD.finditer(text):
        is_taken = any(start < word.end() and word.start() < end for start, end in taken)
        shown = word[0] if is_taken or is_harmless(word[0], known) else LEFT_OUT
        gap = text[at : word.start()]
        at = word.end()
        if shown == LEFT_OUT and said and said[-1] == LEFT_OUT:
            continue
        said += [gap, shown]
    return "".join(said)


def _spans(text: str, values: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where captured values stand in a line."""
    for value in values:
        at = text.find(value) if value else -1
        while at >= 0:
            yield at, at + len(value)
            at = text.find(value, at + len(value))


def is_harmless(word: str, known: Vocabulary) -> bool:
    """Return whether a word is a number, a path, a name of code or one of the rules."""
    if not any(char.isalnum() for char in word) or re.fullmatch(_NUMBER, word):
        return True
    is_path = re.match(_PATH, word) or any(place in word for place in _PLACE)
    if is_path and not re.search(_RANDOM, word):
        return True
    if re.fullmatch(_MANGLED, word) or re.fullmatch(_FLAG, word):
        return True
    return all(_is_known(piece, known) for piece in re.split(r"[^\w.]+", word) if piece)


def _is_known(name: str, known: Vocabulary) -> bool:
    """Return whether a name is of the rules, or put together mostly of their words."""
    stripped = name.strip("._")
    if not stripped or re.fullmatch(_NUMBER, stripped) or known.has(stripped):
        return True
    parts = re.findall(PART, stripped)
    words = [part for part in parts if not part.isdecimal()]
    long = [part for part in words if len(part) > _SHORT]
    if not long:
        return len(words) <= 1 and len(stripped) <= _TAG  # sm_90, cu124, x86
    return 2 * sum(map(known.has, long)) > len(long)
