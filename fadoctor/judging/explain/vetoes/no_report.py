"""Tell a text that reports no failure of its own: a list of changes, a guide, a solved problem.

It may quote any message. What it quotes is a note then, and what it tells is no cause.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise.ideas import ideas_of, small_idea
from fadoctor.judging.explain.recognise.told_words import is_printed
from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.finding import Confidence, Severity
from fadoctor.syntax.likely_lines import likely, likely_numbers
from fadoctor.syntax.patterns import compiled
from fadoctor.syntax.simplified import simplified

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line

LINES_LIMIT = 4_000
"""Most lines of a text that is read as a list or a guide."""

TITLE_LINES = 4
"""Fewest lines of a guide that only its title says to be one."""

CHAPTERS = 3
"""Fewest different chapters of a project's page, or marks of a source of a manual."""

FRONT = 8
"""Lines at the start of a page among which the one with its title stands, between two rules."""

LINKS = 2
"""Fewest links to other pages that a page of a manual has."""

RELEASES, CHANGES, ISSUES = 2, 3, 3
"""Fewest headings of releases, lines that name a change, and numbers of issues of a list."""

PAIRS = 2
"""Fewest problems with their solutions of a list of answers."""

_OF_A_PERSON = ("own-account", "report-form")
"""Ideas of a person who speaks of a machine of their own, or fills in a form."""

LAST = 2
"""Sentences at the end of a text that may say that all is well."""

# ## [0.0.35] - 2026-02-20 | ### v0.45.1 | Version 1.3: | ## [v4.8.1](https://x) (2026-07-03)
_RELEASE = compiled(
    r"(?i)\W{0,6}(?:(?:version|release)\s{1,2})?\[?v?(?P<version>\d{1,4}\.\d{1,4}[\w.+?-]{0,24})\]?"
    r"(?:\([^()\s]{1,200}\))?[\s:-]{0,4}[(\[]?(?:\d{4}-[\d?]{2}-[\d?]{2})?[)\]]?\s{0,4}:?\s{0,4}"
)
_MARKED = compiled(r"(?i)\s{0,4}(?:[#\[v]|version|release)")
_NUMBERS = compiled(r"\d{1,4}(?:\.\d{1,4}){1,3}")
# by @x in https://github.com/o/r/pull/12 | (#12) | in #12
_CHANGE = compiled(
    r"\s{0,8}(?:[-*+\u2022]|\d{1,3}\.)\s[^\n]{0,600}?"
    r"(?:\(#\d{1,6}[,)]|\bin (?:#\d{1,6}|https?://\S{1,120}/pull/\d{1,6})\b|\[#\d{1,6}\])"
)
# # Changelog | ## What's Changed | 更新日志
_LISTED = compiled(
    r"(?i)\W{0,6}(?:change ?log|changes|release notes|what.s (?:new|changed)(?: in [\w.\s-]{1,40})?"
    r"|\u66f4\u65b0\u65e5\u5fd7|\u53d8\u66f4\u65e5\u5fd7)\W{0,6}"
)
# - Fixed: | ### Added | **Changed** as a list of changes sorts them
_SORTED = compiled(
    r"(?i)\W{0,8}(?P<sort>fixed|added|changed|removed|deprecated|security)\b(?:\W{0,4}:|\W{0,4}$)"
)
_ITEM = compiled(r"\s{0,8}(?:[-*+\u2022]|\d{1,3}\.)\s")
_ISSUE = compiled(r"\s{0,4}#\d{1,6}\s{0,4}|\s{0,4}opened \w{1,12} [^\n]{1,40} by\b[^\n]{0,60}")
# [cli.md](cli.md) | [the table](../matrix.md#names): a page among others
_LINKED = compiled(r"\]\((?![a-z]{2,8}:)[\w./-]{1,120}\.(?:md|mdx|rst|html)(?:#[\w.-]{1,120})?\)")
# ## Installation | ### 2. Quick start | <h2>License</h2>
_HEADING = compiled(r"\s{0,3}(?:#{1,4}\s|<h[1-4][ >])")
# .. code-block:: bash | .. _install_label:
_DIRECTIVE = compiled(r"\s{0,8}\.\. (?:[a-z][\w-]{1,30}::|_[\w -]{1,60}:)")
_FRAME = compiled(r"\s{0,8}File \"[^\"]{1,400}\", line \d|Traceback \(most recent call last\)")
# - [x] I searched the issues | _No response_ | ### Logs | ```
_OF_A_FORM = compiled(
    r"\s{0,4}(?:[-*] \[[ xX]\] [^\n]{0,400}|_No response_|#{1,6} [^\n]{1,60}|`{3}\w{0,12})\s{0,40}"
)
# Thanks! | @name: | Great!  glad you were able to figure it out!
_POLITE = compiled(
    r"(?i)\W{0,6}(?:(?:many |big )?thank(?:s| you)\b[^\n]{0,60}|great\b[^\n]{0,60}|thx\b[^\n]{0,20}"
    r"|sorry\b[^\n]{0,40}|@[\w-]{1,40}:?|cheers\b[^\n]{0,20}|\u8c22\u8c22[^\n]{0,20}"
    r"|\u0441\u043f\u0430\u0441\u0438\u0431\u043e[^\n]{0,30}|danke[^\n]{0,30}|gracias[^\n]{0,30})\W{0,4}"
)
# EDIT: I managed to fix it. What was written before follows.
_EDITED = compiled(r"(?i)\W{0,4}(?:edit(?:ed)?|update)\b\W{0,4}")
# 2.0.1 is one word; there is no blank behind a Chinese full stop.
_SENTENCE = compiled(r"(?<=[.!?])\s{1,4}|(?<=[\u3002\uff01\uff1f])\s{0,4}")
# PyTorch version 2.2.0 | - CUDA: 11.8 | Python version 3.8.18
_VERSION = compiled(
    r"\s{0,4}(?:[-*] )?[A-Za-z][\w .+/-]{0,30}?(?: version)?\s{0,3}[:=]{0,2}\s{0,3}"
    r"v?\d{1,4}\.\d[\w.+-]{0,24}\s{0,4}"
)
# However, the issue was resolved: what came before is over
_TURNS = compiled(r"\A\W{0,4}(?:however|but|and|so|then|finally|update)\b[ ,:]{1,3}")
_CLAUSE = compiled(r"[,;:]\s|\band\b")
# pip install x | $ export A=1 | python -m pip install y | `pip install z`
_COMMAND = compiled(
    r"\s{0,8}(?:[$#>] |`)?(?:sudo |python3? -m |uv )?(?:pip3?|conda|mamba|apt(?:-get)?|dnf|brew"
    r"|export|set|uv|git|cmake|sync)\s[^\n]{1,400}"
)


class NoReport(Enum):
    """What a text is that reports no failure."""

    CHANGES = "changes"
    GUIDE = "guide"
    SETTLED = "settled"
    ASKED = "asked"


def kind_of(lines: Sequence[Line], knowledge: Knowledge) -> NoReport | None:
    """Return what a text is instead of a report; None where it may be one."""
    texts = [line.text for line in lines[: LINES_LIMIT + 1] if line.text.strip()]
    if not texts:
        return None
    if _is_settled([line.text for line in lines if line.text.strip()], knowledge):
        return NoReport.SETTLED
    return None if len(texts) > LINES_LIMIT else _kind_of_few(texts, knowledge)


def _kind_of_few(texts: list[str], knowledge: Knowledge) -> NoReport | None:
    whole = simplified("\n".join(texts).lower())
    if _is_shared(texts, whole, knowledge):
        return NoReport.SETTLED
    if any(map(_FRAME.match, likely(texts, _FRAME))):
        return None
    if _is_list(texts) or _is_change(whole, knowledge):
        return NoReport.CHANGES
    if _is_unmet(whole, knowledge):
        return NoReport.ASKED
    is_page = _is_page(texts, knowledge) or _is_guide(texts, whole, knowledge)
    return NoReport.GUIDE if is_page else None


def calmed(causes: Iterable[Cause], *, sure: bool = True) -> tuple[Cause, ...]:
    """Return causes as notes: what shows is quoted. Without `sure`, what is certain stays."""
    return tuple(
        msgspec.structs.replace(cause, severity=Severity.NOTE)
        if sure or cause.match.confidence is not Confidence.HIGH
        else cause
        for cause in causes
    )


def _is_list(texts: list[str]) -> bool:
    """Return whether lines are those of releases in order, of merged changes, or of issues."""
    changes = sum(_CHANGE.match(text) is not None for text in likely(texts, _CHANGE))
    issues = sum(_ISSUE.fullmatch(text) is not None for text in likely(texts, _ISSUE))
    if issues >= ISSUES or (changes >= CHANGES and 2 * changes >= len(texts)):
        return True
    sorted_in = map(_SORTED.match, likely(texts, _SORTED))
    sorts = {each["sort"].lower() for each in sorted_in if each}
    items = sum(_ITEM.match(text) is not None for text in texts)
    if len(sorts) >= RELEASES and 2 * items >= len(texts):
        return True
    if _LISTED.fullmatch(texts[0]) and items >= CHANGES and 2 * items >= len(texts):
        return True
    found = [(text, _RELEASE.fullmatch(text)) for text in texts]
    heads = [(text, each["version"]) for text, each in found if each is not None]
    if len(heads) < RELEASES or not any(_MARKED.match(text) for text, _ in heads):
        return False
    numbers = [each[0] for _, name in heads if (each := _NUMBERS.match(name)) is not None]
    older = [is_older(later, former) for former, later in pairwise(numbers) if later != former]
    is_ordered = bool(older) and (
        all(older) or not any(older) or 10 * older.count(True) >= 8 * len(older)
    )
    return is_ordered and (changes > 0 or len(heads) > RELEASES)


def _is_change(whole: str, knowledge: Knowledge) -> bool:
    """Return whether a text proposes a change, and nobody speaks of a machine of their own."""
    ideas = ideas_of(knowledge)
    if not ideas.stands("change-form", whole):
        return False
    return not any(ideas.stands(name, whole) for name in _OF_A_PERSON)


def _is_unmet(whole: str, knowledge: Knowledge) -> bool:
    """Return whether a text is about a failure that its author has not met, or asks to buy."""
    ideas = ideas_of(knowledge)
    if ideas.stands("failure-of-others", whole):
        return True
    asks = "?" in whole or "\uff1f" in whole
    return asks and ideas.stands("before-a-purchase", whole)


def _is_page(texts: list[str], knowledge: Knowledge) -> bool:
    """Return whether a text is the page of a project, or the source of a page of its manual."""
    if texts[0].strip() == "---" and any(each.startswith("title:") for each in texts[1:FRONT]):
        return not any(each.startswith("about:") for each in texts[1:FRONT])
    if sum(1 for text in likely(texts, _DIRECTIVE) if _DIRECTIVE.match(text)) >= CHAPTERS:
        return True
    chapter = small_idea("page-chapter", knowledge)
    heads = (simplified(text.lower()) for text in texts if _HEADING.match(text))
    return len({each[0] for head in heads if (each := chapter.search(head))}) >= CHAPTERS


def _is_guide(texts: list[str], whole: str, knowledge: Knowledge) -> bool:
    """Return whether a text tells readers what to do about errors that they may meet.

    No person speaks of a machine of their own there.
    """
    if sum(_LINKED.search(text) is not None for text in likely(texts, _LINKED)) >= LINKS:
        return True
    ideas = ideas_of(knowledge)
    if any(ideas.stands(name, whole) for name in _OF_A_PERSON):
        return False
    if any(ideas.stands(name, whole) for name in ("guide-table", "guide-said")):
        return True
    condition, title = (small_idea(f"guide-{name}", knowledge) for name in ("condition", "title"))
    may_be = sum(1 for _ in condition.finditer(whole))
    steps = len(_said_in(texts, ideas.at_hand("guide-remedy", whole)))
    is_titled = "?" not in texts[0] and title.search(simplified(texts[0].lower())) is not None
    if may_be and (steps or is_titled):
        return True
    return steps > 1 or may_be > LAST or (is_titled and len(texts) >= TITLE_LINES)


def _is_settled(texts: list[str], knowledge: Knowledge) -> bool:
    """Return whether the title or the last words of a text say that its problem is over.

    Commands at its end are those that solved it.
    """
    if ideas_of(knowledge).stands("settled-title", simplified(texts[0].lower())):
        return True
    over, not_yet, limit = (
        small_idea(name, knowledge)
        for name in ("settled-told", "unsettled-told", "limits-a-clause")
    )

    def is_open(sentence: str) -> bool:
        """Return whether a sentence leaves something open; a limit counts in its own clause."""
        said = _TURNS.sub("", sentence) if over.search(sentence) else sentence
        if not not_yet.search(said):
            return False
        if not_yet.search(limit.sub(" ", said)):
            return True
        clauses = _CLAUSE.split(said)
        return not any(over.search(each) and not not_yet.search(each) for each in clauses)

    if _EDITED.match(texts[0]):
        # The first sentence alone: what was written before follows.
        first = _SENTENCE.split(simplified(" ".join(texts[:LAST]).lower()), maxsplit=1)[0]
        if over.search(first) and not is_open(first):
            return True
    while texts and (
        _OF_A_FORM.fullmatch(texts[-1])
        or _VERSION.fullmatch(texts[-1])
        or _COMMAND.match(texts[-1])
        or (_POLITE.fullmatch(texts[-1]) and not over.search(simplified(texts[-1].lower())))
    ):
        texts = texts[:-1]
    if not texts or is_printed(texts[-1]):
        return False
    last = [each.strip() for each in _SENTENCE.split(simplified(texts[-1].lower())) if each.strip()]
    said = [each for each in last[-LAST:] if not_yet.search(each) or over.search(each)]
    return any(map(over.search, said)) and not any(map(is_open, said))


def _is_shared(texts: list[str], whole: str, knowledge: Knowledge) -> bool:
    """Return whether a person hands an answer on to others, and asks and misses nothing."""
    pairs = small_idea("answered-pair", knowledge).finditer(whole)
    if sum(1 for _ in pairs) >= PAIRS and "?" not in texts[0]:
        return True
    ideas = ideas_of(knowledge)
    told = ideas.at_hand("shared-told", whole)
    is_titled = ideas.stands("shared-title", simplified(texts[0].lower()))
    if not told and not is_titled:
        return False
    if not is_titled and not _said_in(texts, told, parts=_SENTENCE.split, by_people=True):
        return False
    return not _said_in(texts, ideas.at_hand("shared-veto", whole), by_people=True)


def _said_in(
    texts: Sequence[str],
    patterns: Iterable[re.Pattern[str]],
    *,
    parts: Callable[[str], list[str]] = lambda text: [text],
    by_people: bool = False,
) -> set[int]:
    """Return which lines, from 0 on, hold one of some patterns in one of their parts.

    The patterns are those for small letters. `by_people`: in lines that no program prints.
    """
    small = tuple(simplified(text.lower()) for text in texts)
    return {
        number
        for each in patterns
        for number in likely_numbers(small, each)
        if not (by_people and is_printed(texts[number]))
        if any(map(each.search, parts(small[number])))
    }
