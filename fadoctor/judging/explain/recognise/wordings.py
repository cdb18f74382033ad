"""The messages that rules answer, word by word, as the rules' own cases have them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.cases import Cases, read_case
from fadoctor.judging.engine.suite import cases_of, is_log, outcome_of
from fadoctor.judging.explain.recognise.words import words_in
from fadoctor.model.finding import Outcome
from fadoctor.model.packages import COMPANIONS, STACK
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.engine.suite import RuleFile, Suite
    from fadoctor.judging.explain.recognise.words import Word
    from fadoctor.model.rule import Symptom

FEWEST = 3
"""Words that a wording must have to be recognised with a gap."""

LONGEST = 600
"""Characters of a wording that are kept."""


# /opt/venv/x.so | C:\\v\\x.dll | 'compute_37' | 2.8.3 | sm_120
_VARIES = compiled(r"\S{0,200}[\\/]\S{0,200}|\b(?=[\w.+-]{0,60}\d)[\w.+-]{1,60}")


# KernelMetadata: another class is another message.
_CAMEL = compiled(r"[a-z][A-Z]")

_LETTERS, _LETTERS_BEFORE = compiled(r"[A-Za-z]{1,40}"), compiled(r"[A-Za-z]{1,40}\Z")


class Wording(msgspec.Struct, frozen=True):
    """One message as some program prints it."""

    rule: str
    text: str
    literal: tuple[int, ...]
    """Which of its words are the program's own; the others vary."""
    values: tuple[int, ...] = ()
    """Which of its words are values that vary."""
    names: tuple[int, ...] = ()
    """Which of them name a package or a file: no text without them is meant."""
    choices: tuple[int, ...] = ()
    """Which of them is one of several with which the message may end: another word there counts."""


def wordings_of(suite: Suite) -> Iterator[Wording]:
    """Yield the wordings of all rules, each once, from the cases that show them."""
    for file in suite.rules().values():
        yield from dict.fromkeys(_of_rule(file, suite))


def _of_rule(file: RuleFile, suite: Suite) -> Iterator[Wording]:
    alone = msgspec.structs.replace(suite.knowledge, rules=(file.rule,))
    for raw in cases_of(file):
        if not is_log(raw) or outcome_of(raw) is not Outcome.FAIL:
            continue
        with suppress(msgspec.ValidationError):
            case = read_case(raw)
            for match in Cases(alone).matcher(case).match(case.log):
                symptom = file.rule.symptoms[match.index]
                text = _shown(case.log, match.start, match.end)
                values = _values(text, match.captures.values())
                names = (*_names(text, values), *_own(text, case.log[match.start : match.end]))
                choices = _choices(text, symptom)
                literal = _literal(text, symptom)
                wording = Wording(file.rule.id, text, literal, values, names, choices)
                if len(wording.literal) >= FEWEST:
                    yield wording


def _shown(log: str, start: int, end: int) -> str:
    """Return what a pattern has matched; where that is short, the rest of its line too."""
    start, end = _whole_words(log, start, end)
    if len(words_in(log[start:end])) > FEWEST:
        return log[start:end][:LONGEST]
    first = log.rfind("\n", 0, start) + 1
    last = log.find("\n", end)
    return log[first : last if last >= 0 else len(log)].strip()[:LONGEST]


def _whole_words(log: str, start: int, end: int) -> tuple[int, int]:
    """Return where a match begins and ends with its words whole: Unsupported, not nsupported."""
    before, behind = _LETTERS_BEFORE.search(log, 0, start), _LETTERS.match(log, end)
    if before is not None and _LETTERS.match(log, start):
        start = before.start()
    if behind is not None and end and _LETTERS.match(log, end - 1):
        end = behind.end()
    return start, end


def _own(text: str, matched: str) -> tuple[int, ...]:
    """Return the one word that a pattern has matched of a longer line: it may not be lost."""
    at = text.find(matched)
    if at < 0 or len(words_in(matched)) > 1:
        return ()
    end = at + len(matched)
    return tuple(
        place for place, word in enumerate(words_in(text)) if word.start < end and word.end > at
    )


def _literal(text: str, symptom: Symptom) -> tuple[int, ...]:
    """Return which words are the program's own: of the pattern, or of no path and no number."""
    source = f"{symptom.pattern} {symptom.anchor}".lower()
    varies = [match.span() for match in _VARIES.finditer(text)]
    return tuple(
        place
        for place, word in enumerate(words_in(text))
        if word.text in source or not _is_in(word, varies)
    )


def _choices(text: str, symptom: Symptom) -> tuple[int, ...]:
    """Return the last word of a message where its pattern has others for it: above|or newer."""
    words = words_in(text)
    ends = f"[|(:]{re.escape(words[-1].text)}[|)]" if words else "(?!)"
    is_one = re.search(ends, (symptom.pattern or "").lower()) is not None
    return (len(words) - 1,) if is_one else ()


def _values(text: str, captured: Iterable[str]) -> tuple[int, ...]:
    spans = [
        (at, at + len(each))
        for each in captured
        if each and " " not in each and (at := text.find(each)) >= 0
    ]
    return tuple(place for place, word in enumerate(words_in(text)) if _is_in(word, spans))


def _names(text: str, values: tuple[int, ...]) -> tuple[int, ...]:
    varies = [match.span() for match in _VARIES.finditer(text)]
    return tuple(
        place
        for place, word in enumerate(words_in(text))
        if place not in values
        and (
            word.text in _NAMES
            or _is_in(word, varies)
            or _is_acronym(text, word)
            or _CAMEL.search(text, word.start, word.end)
        )
    )


def _is_acronym(text: str, word: Word) -> bool:
    """Return whether a word is written like HIP, cuDNN or GPUs: a CUDA error is none of HIP's.

    Names of exceptions (RuntimeError) are not.
    """
    letters = text[word.start : word.end]
    capitals = sum(map(str.isupper, letters))
    return capitals > 1 and 2 * capitals > len(letters)


def _is_in(word: Word, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= word.start < end for start, end in spans)


_NAMES = frozenset(part for name in STACK | COMPANIONS for part in name.split("-")) - {
    "flash", "attn", "kernel", "kernels", "python",
} | {"amd", "cuda", "cudnn", "hip", "nccl", "nvidia", "rocm"}  # fmt: skip
"""Words that name a package, or whose it is."""
