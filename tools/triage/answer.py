"""Decide whether an issue gets a comment, and write it."""

from __future__ import annotations

import enum
import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.model.finding import Confidence, Severity
from fadoctor.report import markdown
from fadoctor.report.explanation_text import silence_of
from tools.triage.event import COMMAND
from tools.triage.reading import (
    is_a_status,
    is_a_wish,
    is_an_example,
    is_of_an_engine,
    is_raised,
    may_be_a_namesake,
    speaks_of_the_field,
)

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.finding import Finding

MARK = re.compile(r"<!-- fadoctor-triage ([0-9a-f]{16}) -->")
"""How a comment of ours is known again, with the hash of its text."""

_QUESTION = (
    "Please paste the output of `fadoctor facts --markdown`, or of "
    "`python -m torch.utils.collect_env`: it names the GPU, the driver and the packages."
)
_HEAD = "fadoctor read the text of this issue. Nothing in it was run."
_FOOT = f"To ask again: add what is missing, then write a comment that begins with `{COMMAND}`."
_CODE = re.compile(
    r"^(?P<fence>`{3,})[^\n`]*\n.*?^(?P=fence)`*[ \t]*$"
    # An escaped mark begins no span. Ours end in their line; others may be text after all.
    r"|(?<![\\`])(?P<span>`+)(?!`)[^\n]*?(?<!`)(?P=span)(?!`)",
    re.DOTALL | re.MULTILINE,
)
"""A fenced block, or a span of code: whatever stands there mentions nobody and links to nothing."""
_ALIVE = re.compile(
    r"@(?=[0-9A-Za-z])"  # a person or a team
    r"|#(?=[0-9])|(?<=[Gg][Hh])-(?=[0-9])"  # an issue
    r"|(?<=:)/(?=/)|(?<=[Ww]{3})\.(?=[0-9A-Za-z])"  # an address
    r"|(?<=[0-9a-f]{6})(?=[0-9a-f]{1,34}\b)"  # a commit
)
_GPU = re.compile(r"gpu\[\d+\]\.name")
_APART = "\N{ZERO WIDTH SPACE}"


class Kind(enum.Enum):
    """What a comment is."""

    CAUSE = "cause"
    QUESTION = "question"
    NOT_RECOGNISED = "not recognised"


class Answer(NamedTuple):
    """A comment that is due."""

    kind: Kind
    rule_id: str
    """The first cause; empty without one."""
    body: str
    """Markdown, with a mark at its end."""


def answer_to(explanation: Explanation, text: str, *, asked: bool) -> Answer | None:
    """Return the comment that an issue gets, whose text was explained; None for silence.

    Unasked, only a certain cause or one question about a probable one is worth a comment. A
    question needs a program of the field, and a message that a program raised: a person's own
    words may tell of anything. Whoever named torch and the GPU is asked for no report. No report
    settles why a container does not start. Nobody needs an answer to a message that a wish quotes,
    or that a program lists with its state. Whoever asked gets an answer.
    """
    first = _worst_first(explanation)
    if first is not None and not asked and _is_of_others(first, text):
        return None
    if first is not None and (asked or first.confidence is Confidence.HIGH):
        return _answer(Kind.CAUSE, first.rule_id, defused(markdown.render(explanation)))
    is_open = first is not None and first.severity is Severity.ERROR and _is_untold(explanation)
    if first is not None and is_open and (asked or _is_worth_asking(first, text)):
        words = f"This may be: {first.title}. {_QUESTION}"
        return _answer(Kind.QUESTION, first.rule_id, defused(words))
    if asked:
        words = f"{silence_of(explanation)} {_QUESTION}"
        return _answer(Kind.NOT_RECOGNISED, "", defused(words))
    return None


def defused(text: str) -> str:
    """Return Markdown in which no text mentions anybody, refers to an issue, or is a link."""
    found, at = [], 0
    for code in _CODE.finditer(text):
        found += [_ALIVE.sub(_apart, text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*found, _ALIVE.sub(_apart, text[at:])])


def digest_of(body: str) -> str:
    """Return the hash in a comment's mark; empty where it is none of ours."""
    found = MARK.search(body)
    return found[1] if found else ""


def _is_of_others(finding: Finding, text: str) -> bool:
    is_quoted = is_a_wish(text) or is_an_example(finding, text)
    return is_quoted or may_be_a_namesake(finding, text) or is_a_status(finding)


def _is_worth_asking(finding: Finding, text: str) -> bool:
    is_settled = is_raised(finding) and not is_of_an_engine(finding)
    return is_settled and speaks_of_the_field(text)


def _is_untold(explanation: Explanation) -> bool:
    """Return whether a text lacks what a report adds: the release of torch, or the GPU."""
    named = explanation.log.named
    has_gpu = any(_GPU.fullmatch(each) for each in named)
    return not has_gpu or "torch.version" not in named


def _worst_first(explanation: Explanation) -> Finding | None:
    loud = (each for each in explanation.findings if each.severity is not Severity.NOTE)
    return next(loud, None)


def _answer(kind: Kind, rule_id: str, text: str) -> Answer:
    body = "\n\n".join([_HEAD, text.strip(), f"<sub>{_FOOT}</sub>"])
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    return Answer(kind, rule_id, f"{body}\n\n<!-- fadoctor-triage {digest} -->\n")


def _apart(found: re.Match[str]) -> str:
    return f"{found[0]}{_APART}"
