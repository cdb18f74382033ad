"""What a rule says, by the example of its own cases."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.cases import Case, Cases, case_environment, read_case
from fadoctor.judging.engine.judge import judge
from fadoctor.judging.engine.suite import RuleFile, cases_of, is_log, outcome_of
from fadoctor.model.finding import Outcome

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


class LogExample(msgspec.Struct, frozen=True):
    """A line that shows one of a rule's symptoms, and what is said about it."""

    line: str
    message: str


def example_message(file: RuleFile, knowledge: Knowledge) -> str:
    """Return what the rule says in its failing case with the fewest gaps; "" without one."""
    alone = msgspec.structs.replace(knowledge, rules=(file.rule,))
    said: list[str] = []
    for raw in cases_of(file):
        if outcome_of(raw) is Outcome.FAIL:
            with suppress(msgspec.ValidationError):
                said += _messages(read_case(raw), alone)
    return min(said, key=_gaps, default="")


def _messages(case: Case, alone: Knowledge) -> list[str]:
    if case.log:
        return [match.message for match in Cases(alone).matcher(case).match(case.log)]
    return [finding.message for finding in judge(case_environment(case), alone).findings[:1]]


def log_examples(file: RuleFile, knowledge: Knowledge) -> dict[int, LogExample]:
    """Return a line of the rule's own logs for its symptoms, by their place in the rule."""
    alone = msgspec.structs.replace(knowledge, rules=(file.rule,))
    found: dict[int, LogExample] = {}
    for raw in cases_of(file):
        if is_log(raw) and outcome_of(raw) is Outcome.FAIL:
            with suppress(msgspec.ValidationError):
                case = read_case(raw)
                for match in Cases(alone).matcher(case).match(case.log):
                    example = LogExample(_line_at(case.log, match.start), match.message)
                    found.setdefault(match.index, example)
    return found


def translated_examples(file: RuleFile, knowledge: Knowledge) -> list[LogExample]:
    """Return the lines of the rule's own logs that a system wrote in another language."""
    alone = msgspec.structs.replace(knowledge, rules=(file.rule,))
    found: list[LogExample] = []
    for raw in cases_of(file):
        if is_log(raw) and outcome_of(raw) is Outcome.FAIL and _is_translated(str(raw["log"])):
            with suppress(msgspec.ValidationError):
                case = read_case(raw)
                for match in Cases(alone).matcher(case).match(case.log)[:1]:
                    line = _line_at(case.log, match.start)
                    found += [LogExample(line, match.message)] if _is_translated(line) else []
    return found


def _is_translated(text: str) -> bool:
    """Return whether letters other than English ones are in a text."""
    return not text.isascii() and any(char.isalpha() and not char.isascii() for char in text)


def _line_at(text: str, place: int) -> str:
    end = text.find("\n", place)
    return text[text.rfind("\n", 0, place) + 1 : end if end >= 0 else len(text)].strip()


def _gaps(message: str) -> int:
    return sum(word.strip(".,;:()") in ("unknown", "none") for word in message.split())
