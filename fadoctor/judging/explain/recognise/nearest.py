"""An index over the program's own pages of rules, for words that no rule recognises.

It says what is near, never what is wrong: nothing that it finds is a finding. Texts about other
things are as near to some page as those that are about it.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise.page_words import places, rarity, terms
from fadoctor.model.fix import StepKind
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fadoctor.judging.explain.recognise.page_words import PageWords
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Knowledge

NEAREST = "The nearest pages of rules, which may be about something else:"
DECIDES = "What decides on"
STEPS = "Their first steps, if one of them is your problem:"
QUESTIONS = "page-questions"

AHEAD = 1.2
"""How many times as near as the next page the nearest one is, for its question to be asked."""

ENDS = 40
"""Lines at the beginning and at the end of a long text that are asked about."""

LOUD = 2
"""How often a line counts that complains."""

LONGEST = 400
"""Characters of a line that count."""

# Error. can't. 无法, 不, 没, 报错, 错误. エラー, ない. не. 오류, 안.
_COMPLAINS = compiled(
    r"(?i)error|exception|fail|cannot|can.?t\b|\bnot\b|unable|unsupported|fatal|missing|crash"
    r"|\u65e0\u6cd5|\u4e0d|\u6ca1|\u62a5\u9519|\u9519\u8bef|\u30a8\u30e9\u30fc|\u306a\u3044"
    r"|\b\u043d\u0435\b|\uc624\ub958"
)


_CHANGING = (StepKind.INSTALL, StepKind.UNINSTALL)
# pip install x | sudo apt remove y | --force-reinstall | rm -rf | Remove-Item | cmake --build
_CHANGES = compiled(
    r"(?i)\b(?:re-?|un)?instal|\bupgrad|\bupdat|\bremov|\bdelet|\bdowngrad|\breplac|\bpurge|\brm -"
    r"|\bdel /|\bwipe|\boverwrit|\bcompil|\bbuild\b|\bpull\b|\brename|\blink\b|\bln -|\bmv |\bpin\b"
)


class Near(msgspec.Struct, frozen=True):
    """A page that is near to some words."""

    rule: str
    title: str
    score: float


def asked_by(lines: Sequence[str]) -> str:
    """Return the part of a text that says most of what is asked: what complains, and its ends."""
    loud = [line for line in lines if _COMPLAINS.search(line)][-ENDS:]
    return "\n".join(line[:LONGEST] for line in (*ends_of(lines, ENDS), *loud * (LOUD - 1)))


def notes_near(
    texts: Sequence[str], index: PageWords, knowledge: Knowledge, step_of: Callable[[str], str]
) -> list[str]:
    """Return a sentence with titles and ids of the pages nearest to a text; none where none is.

    Where the text complains, a second one names the first step of each, and where one page is
    clearly ahead, a third asks what decides. `step_of`: the id of a rule -> its first step for this
    text, "" for none.
    """
    near = PageIndex(index).near(asked_by(texts))
    if not near:
        return []
    pages = "; ".join(f"{each.title} ({each.rule})" for each in near)
    notes = [f"{NEAREST} {pages}. `fadoctor rules show ID` prints a page."]
    if not complains(texts):
        return notes
    steps = [f"{each.rule}: {step}" for each in near if (step := step_of(each.rule))]
    notes += [f"{STEPS} {'; '.join(steps)}."] if steps else []
    if question := question_of(near, knowledge):
        notes.append(f"{DECIDES} {near[0].rule}: {question}")
    return notes


def harmless_title(fix: Fix) -> str:
    """Return the title of a fix that changes no package, file or driver; "" for another.

    The page may be about something else: then a package that is installed or removed does harm.
    """
    if fix.side_effects or any(step.kind in _CHANGING for step in fix.steps):
        return ""
    said = (fix.title, *(step.text for step in fix.steps))
    return "" if any(_CHANGES.search(each) for each in said) else fix.title


def complains(lines: Sequence[str]) -> bool:
    """Return whether some line says that something goes wrong."""
    return any(_COMPLAINS.search(line) for line in lines)


def question_of(near: Sequence[Near], knowledge: Knowledge) -> str:
    """Return what decides on the nearest page, where it is clearly ahead of the next one."""
    if len(near) < 2 or near[0].score < AHEAD * near[1].score:
        return ""
    table = knowledge.tables.get(QUESTIONS)
    rows = table.rows if table is not None else ()
    found = (str(row["question"]) for row in rows if row["page"] == near[0].rule)
    return next(found, "")


class PageIndex:
    """Pages by their words."""

    def __init__(self, index: PageWords) -> None:
        """Take the index."""
        self._index = index

    def near(self, text: str, most: int = 3) -> tuple[Near, ...]:
        """Return the pages that are nearest to a text, the nearest first."""
        pages = self._index.pages
        scores: dict[int, float] = {}
        for word, times in sorted(Counter(terms(text)).items()):
            found = tuple(places(self._index.words.get(word, b"")))
            asked = (1 + math.log(times)) * rarity(len(found), len(pages))
            for place, weight in found:
                scores[place] = scores.get(place, 0.0) + asked * weight
        best = sorted(scores, key=lambda place: (-scores[place], pages[place].rule))[:most]
        return tuple(
            Near(pages[place].rule, pages[place].title, round(scores[place], 3)) for place in best
        )
