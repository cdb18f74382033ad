"""What a rule answers by example: messages word for word, a wrong and a right state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fadoctor.judging.engine.case_examples import LogExample, log_examples, translated_examples
from fadoctor.judging.engine.suite import RuleFile, cases_of, is_log, outcome_of
from fadoctor.judging.explain.recognise.told_rows import CAUSES
from fadoctor.model.finding import Outcome
from fadoctor.report.page import Heading, Item, PageList, Spans, code, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.rule import Knowledge, Rule
    from fadoctor.report.page import Block

# gpu[0].name: what a rule calls gpu.name
_NUMBER = re.compile(r"\[\d{1,3}\]")

MESSAGE_LIMIT = 400
"""Characters of a message that a page shows."""

TELLINGS_SHOWN = 6
"""Most tellings that a page shows."""

FACTS_SHOWN = 8
"""Most facts of an example that a page shows."""

VALUE_SHOWN = 100
"""Longest value of a fact that a page shows, in characters."""

_FINE = (Outcome.PASS, Outcome.NOT_APPLICABLE)
_ABSENT = object()


def messages_of(file: RuleFile, knowledge: Knowledge) -> tuple[LogExample, ...]:
    """Return each message that shows a rule, verbatim, with what is said of it; none twice.

    The forms in other languages come last: people search for what their own system says.
    """
    found = log_examples(file, knowledge)
    translated = translated_examples(file, knowledge)
    seen: dict[str, LogExample] = {}
    for example in (*(found[index] for index in sorted(found)), *translated):
        line = _cut(example.line)
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


def tellings(rule: Rule, knowledge: Knowledge) -> Iterator[Block]:
    """Yield how people tell of it in words of their own."""
    told = knowledge.tables.get(CAUSES)
    rows = told.rows if told is not None else ()
    found = [str(row["telling"]) for row in rows if row["rule"] == rule.id]
    if found:
        yield Heading("In people's own words")
        yield PageList(tuple(Item(spans(text)) for text in found[:TELLINGS_SHOWN]))


def wrong_and_right(file: RuleFile) -> Iterator[Block]:
    """Yield a case that fails beside the one that passes with the fewest changes."""
    pair = _nearest_pair(file)
    if pair is not None:
        wrong, right = pair
        changed = _told(_changed(_facts(wrong), _facts(right)), file.rule)
        both = {**_told(_changed(_facts(right), _facts(wrong)), file.rule), **_facts(wrong)}
        yield Heading("A wrong and a right example")
        yield PageList((_example("wrong", wrong, both), _example("right", right, changed)))
    elif (other := _near_miss(file)) is not None:
        yield Heading("A message of something else")
        yield PageList((Item(spans(f"{other.get('name', 'another')}: ", code(_last_line(other)))),))


def _nearest_pair(file: RuleFile) -> tuple[dict[str, Any], dict[str, Any]] | None:
    cases = [raw for raw in cases_of(file) if isinstance(raw, dict) and _facts(raw)]
    cases = [raw for raw in cases if not is_log(raw) and not raw.get("unknown")]
    wrong = [raw for raw in cases if outcome_of(raw) is Outcome.FAIL]
    right = [raw for raw in cases if outcome_of(raw) in _FINE]
    pairs = [(one, other) for one in wrong for other in right]
    return min(pairs, key=lambda each: len(_changed(*map(_facts, each))), default=None)


def _near_miss(file: RuleFile) -> dict[str, Any] | None:
    logs = (raw for raw in cases_of(file) if isinstance(raw, dict) and is_log(raw))
    return next((raw for raw in logs if outcome_of(raw) in _FINE and _last_line(raw)), None)


def _last_line(raw: Mapping[str, Any]) -> str:
    lines = str(raw.get("log")).strip().splitlines()
    return _cut(lines[-1].strip()) if lines else ""


def _cut(line: str) -> str:
    return line if len(line) <= MESSAGE_LIMIT else line[:MESSAGE_LIMIT].rstrip() + "..."


def _facts(raw: Mapping[str, Any]) -> dict[str, Any]:
    found = raw.get("facts")
    return found if isinstance(found, dict) else {}


def _changed(wrong: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that make the difference, as they are where all is right."""
    names = dict.fromkeys((*right, *wrong))
    found = {name: right.get(name, _ABSENT) for name in names}
    return {name: value for name, value in found.items() if value != wrong.get(name, _ABSENT)}


def _told(facts: Mapping[str, Any], rule: Rule) -> dict[str, Any]:
    """Return facts without those that are not there and that no condition of the rule asks for."""
    asked = str(rule.when)
    return {
        name: value
        for name, value in facts.items()
        if value is not _ABSENT or _NUMBER.sub("", name) in asked or name in asked
    }


def _example(word: str, raw: Mapping[str, Any], facts: Mapping[str, Any]) -> Item:
    shown = list(facts.items())[:FACTS_SHOWN]
    below = [Item(_fact(name, value)) for name, value in shown]
    if len(facts) > len(shown):
        below.append(Item(spans(f"and {len(facts) - len(shown)} more facts")))
    return Item(spans(f"{word}: {raw.get('name', '')}"), tuple(below))


def _fact(name: str, value: Any) -> Spans:
    if value is None or value is _ABSENT:
        return spans(code(str(name)), " is not there")
    return spans(code(str(name)), " is ", code(_text(value)))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{key} {item}".strip() for key, item in value.items()]
    if isinstance(value, list):
        value = ", ".join(map(str, value)) or "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= VALUE_SHOWN else f"{text[: VALUE_SHOWN - 3]}..."
