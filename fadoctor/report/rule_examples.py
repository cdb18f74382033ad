"""What a page shows of a rule's own cases: messages as they are printed, and wrong beside right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.judging.engine.case_examples import LogExample, log_examples
from fadoctor.judging.engine.suite import cases_of, is_log, outcome_of
from fadoctor.model.finding import Outcome
from fadoctor.report.page import Heading, Item, PageList, Paragraph, code, spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.engine.suite import RuleFile
    from fadoctor.model.rule import Knowledge
    from fadoctor.report.page import Block

MESSAGE_LIMIT = 400
"""Characters of a message that a page shows."""

_FACTS_SHOWN, _VALUE_LIMIT = 8, 120
_GAP = "..."


def messages_of(file: RuleFile, knowledge: Knowledge) -> tuple[LogExample, ...]:
    """Return each message that shows a rule, verbatim, with what is said of it; none twice."""
    found = log_examples(file, knowledge)
    seen: dict[str, LogExample] = {}
    for index in sorted(found):
        example = found[index]
        line = example.line
        if len(line) > MESSAGE_LIMIT:
            line = line[:MESSAGE_LIMIT].rstrip() + _GAP
        seen.setdefault(line.lower(), LogExample(line, example.message))
    return tuple(seen.values())


def other_messages(examples: tuple[LogExample, ...]) -> Iterator[Block]:
    """Yield the messages after the first one."""
    if len(examples) < 2:
        return
    yield Heading("Other forms of the message")
    yield PageList(
        tuple(
            Item(spans(code(each.line)), (Item(spans(each.message)),) if each.message else ())
            for each in examples[1:]
        )
    )


def wrong_and_right(file: RuleFile) -> Iterator[Block]:
    """Yield a case that is found, and the case next to it that is not."""
    cases = [raw for raw in cases_of(file) if isinstance(raw, dict)]
    pair = _pair([each for each in cases if not is_log(each)])
    alike = next((each for each in cases if is_log(each) and _is_right(each)), None)
    if pair is None and alike is None:
        return
    yield Heading("Wrong and right")
    if pair is not None:
        yield PageList(tuple(_sides(*pair)))
    if alike is not None:
        yield Paragraph(spans(f"Looks alike, and is something else ({alike.get('name', '')}):"))
        yield PageList((Item(spans(code(_line_of(str(alike["log"]))))),))


def _pair(cases: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the wrong and the right case that differ in the fewest facts."""
    wrong = [each for each in cases if outcome_of(each) is Outcome.FAIL and _facts(each)]
    right = [each for each in cases if _is_right(each) and _facts(each)]
    pairs = [(bad, good) for bad in wrong[:12] for good in right[:12]]
    return min(pairs, key=lambda pair: len(_differing(*pair)), default=None)


def _is_right(case: dict[str, Any]) -> bool:
    return outcome_of(case) is Outcome.PASS


def _sides(bad: dict[str, Any], good: dict[str, Any]) -> Iterator[Item]:
    differing = _differing(bad, good)[:_FACTS_SHOWN]
    for word, case in (("Wrong", bad), ("Right", good)):
        facts = _facts(case)
        below = [_fact(name, facts[name]) for name in differing if name in facts]
        yield Item(spans(f"{word}: {case.get('name', '')}"), tuple(below))


def _differing(bad: dict[str, Any], good: dict[str, Any]) -> list[str]:
    here, there = _facts(bad), _facts(good)
    return [name for name in {**here, **there} if here.get(name) != there.get(name)]


def _facts(case: dict[str, Any]) -> dict[str, Any]:
    facts = case.get("facts")
    return facts if isinstance(facts, dict) else {}


def _fact(name: str, value: object) -> Item:
    if isinstance(value, bool):
        value = str(value).lower()
    words = "not there" if value is None else str(value)
    cut = words if len(words) <= _VALUE_LIMIT else words[:_VALUE_LIMIT] + _GAP
    return Item(spans(code(name), ": ", code(cut) if value is not None else cut))


def _line_of(log: str) -> str:
    """Return the line of a log that says most."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line]
    line = (errors or lines or [""])[-1]
    return line if len(line) <= MESSAGE_LIMIT else line[:MESSAGE_LIMIT].rstrip() + _GAP
