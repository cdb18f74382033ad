"""Advice that names several programs, each before a colon: the program of a log has its own part.

vLLM: --enforce-eager. SGLang: --disable-cuda-graph. Use it until the server starts without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.settings import (
    frameworks_at_work,
    named_frameworks,
    shown_frameworks,
)
from fadoctor.judging.explain.fixes.situations import SENTENCE
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fix import StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from fadoctor.judging.engine.scope import Scope
    from fadoctor.model.fix import Fix, Step

TABLE = "frameworks"

_LEAST = 2
"""So many parts make a choice between programs."""

# Such are: SGLang before 0.4 | AUTOMATIC1111 and its forks | Other scripts. Not: With torch 2.6
_LABEL = compiled(
    r"(?P<label>(?!(?:Newer|Older|On|In|With|Without|If|For|Then|Since|At|By|To|From|Or|As|Run|Use)\b)"
    r"[A-Za-z][\w.-]{1,30}(?:,? [\w.-]{1,30}){0,5}): "
)


class OwnProgram:
    """The programs at work in a log, read once it is asked for them."""

    def __init__(self, scope: Scope, lines: Sequence[str]) -> None:
        """Take the facts of a log, and its lines."""
        self._scope = scope
        self._lines = lines
        self._words: frozenset[str] | None = None

    def advised(self, fix: Fix) -> Fix:
        """Return a fix without those parts of its advice that are for other programs."""
        steps = tuple(self._step(step) for step in fix.steps)
        return fix if steps == fix.steps else msgspec.structs.replace(fix, steps=steps)

    def _step(self, step: Step) -> Step:
        if step.kind is not StepKind.ADVICE or ": " not in step.text:
            return step
        sentences = SENTENCE.split(step.text)
        labels = [_label(sentence) for sentence in sentences]
        named = [at for at, label in enumerate(labels) if label]
        if len(named) < _LEAST:
            return step
        own = self._own()
        mine = [at for at in named if not own.isdisjoint(_words(labels[at]))]
        if not mine or len(mine) == len(named):
            return step
        kept = [
            sentence
            for at, sentence in enumerate(sentences)
            if at < named[0] or at > named[-1] or _part(at, named) in mine
        ]
        return msgspec.structs.replace(step, text=" ".join(kept))

    def _own(self) -> AbstractSet[str]:
        """Return the words, in small letters, by which advice calls the programs of the log."""
        if self._words is None:
            matrix = self._scope.matrix
            shown = shown_frameworks("\n".join(self._lines), matrix)
            found = frameworks_at_work(self._scope.environment, matrix, shown) if shown else ()
            found = found or named_frameworks(self._lines, matrix)
            self._words = frozenset(
                word.casefold()
                for row in matrix.tables[TABLE].rows
                if row["framework"] in found
                for word in (str(row["label"]), *cell_words(row.get("named")))
            )
        return self._words


def _label(sentence: str) -> str:
    found = _LABEL.match(sentence)
    return found["label"] if found is not None else ""


def _words(label: str) -> AbstractSet[str]:
    """Return what a label may name: itself and each of its words."""
    whole = label.casefold()
    return {whole, *whole.replace(",", " ").split()}


def _part(at: int, named: Sequence[int]) -> int:
    """Return the labelled sentence to which one belongs: the last one up to it."""
    return max(each for each in named if each <= at)
