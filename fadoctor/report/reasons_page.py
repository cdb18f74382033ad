"""The page that says why a rule came out as it did: conditions, the facts that they met, outcome.

``rules show --facts`` prints it for one rule, ``check --debug`` a shorter text for all rules.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth
from fadoctor.judging.engine.reasons import Comparison, Group, Reasons, RuleReasons, deciding
from fadoctor.model.fact import Absent, Fact, Known, printable
from fadoctor.model.finding import Outcome
from fadoctor.report.condition_words import operator_words
from fadoctor.report.page import (
    Block,
    Heading,
    Item,
    Page,
    PageList,
    Paragraph,
    Span,
    Spans,
    code,
    spans,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.engine.reasons import FixReason, Met
    from fadoctor.model.rule import Rule

SUBJECTS_SHOWN = 64
"""Most subjects that a page tells of."""

DEBUG_LINES = 4_000
"""Most lines that ``check --debug`` writes about rules."""

_DECIDING_SHOWN = 4
"""Most tests that one sentence names."""

_VALUE_LIMIT, _SOURCE_LIMIT, _LINE_LIMIT = 160, 120, 1_000

_OUTCOMES = {
    Outcome.FAIL: "found",
    Outcome.PASS: "not found",
    Outcome.UNKNOWN: "undecided",
    Outcome.NOT_APPLICABLE: "does not apply",
    Outcome.ERROR: "the rule broke",
}
_TOLD_WHOLE = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.ERROR)
_SINCE = {
    Truth.FALSE: "This is false",
    Truth.NOT_THERE: "There are no facts for",
    Truth.UNKNOWN: "This is unknown",
}
_FOR_EACH = "for each value that the unknown facts can have"


def build_reasons_page(rule: Rule, told: RuleReasons) -> Page:
    """Return the page about one rule: a section for each subject."""
    where = spans(code(rule.id), f", judged on {told.target.label}.")
    blocks: list[Block] = [Heading(rule.title, 1), Paragraph(where)]
    if not told.subjects:
        only = "Only a log shows it: the rule asks for no facts. "
        log = code("fadoctor explain LOG")
        return (*blocks, Paragraph(spans(only, log, " finds it.")))
    for each in told.subjects[:SUBJECTS_SHOWN]:
        blocks.append(Heading(f"{each.subject}: {_OUTCOMES[each.outcome]}"))
        blocks += [Paragraph(_outcome(each)), *_details(each)]
    if more := len(told.subjects) - SUBJECTS_SHOWN:
        blocks += [Paragraph(spans(f"{more} more subjects are not shown."))] if more > 0 else []
    return tuple(blocks)


def render_json(rule_id: str, told: RuleReasons) -> str:
    """Return the reasons as JSON. ASCII, so that no text does any harm."""
    document = {"schema_version": 1, "rule_id": rule_id, **msgspec.to_builtins(told)}
    return json.dumps(document, indent=2) + "\n"


def debug_lines(told: RuleReasons) -> Iterator[str]:
    """Yield lines about all rules, at most `DEBUG_LINES`: what was found or is undecided whole."""
    lines = (line for each in told.subjects for line in _debug(each))
    yield from islice(lines, DEBUG_LINES)
    if left := sum(1 for _ in lines):
        yield f"{left} more lines are not shown: `fadoctor rules show ID --facts FILE` has them"


def _debug(each: Reasons) -> Iterator[str]:
    yield _plain(spans(f"{each.rule_id} for {each.subject}: ", *_outcome(each, with_facts=True)))
    if each.outcome not in _TOLD_WHOLE:
        return
    for block in _details(each):
        if isinstance(block, Paragraph):
            yield f"  {_plain(block.spans)}"
        elif isinstance(block, PageList):
            yield from _indented(block.items, "  ")


def _indented(items: Iterable[Item], indent: str) -> Iterator[str]:
    for item in items:
        yield f"{indent}- {_plain(item.spans)}"
        yield from _indented(item.items, f"{indent}  ")


def _plain(line: Spans) -> str:
    return printable("".join(span.text for span in line), _LINE_LIMIT)


def _details(each: Reasons) -> Iterator[Block]:
    """Yield what was asked and read for one subject."""
    if each.met:
        yield Paragraph(spans("What was read to find subjects:"))
        yield PageList(tuple(map(_met, each.met)))
    if each.when is not None:
        yield from _condition("Conditions, all of which must hold", each.when)
    if each.overruled_by is not None:
        yield from _condition("Evidence that overrules them", each.overruled_by)
    if each.unless is not None and each.outcome is Outcome.FAIL:
        yield from _condition("Conditions of the full severity", each.unless)
    if each.fixes:
        yield Paragraph(spans("Fixes:"))
        yield PageList(tuple(map(_fix, each.fixes)))


def _condition(title: str, group: Group) -> Iterator[Block]:
    yield Paragraph(spans(f"{title} ({group.truth.value}):"))
    yield PageList(tuple(map(_part, group.parts)))


def _part(part: Comparison | Group) -> Item:
    if isinstance(part, Comparison):
        return Item(spans(f"{part.truth.value}: ", *_words(part)), tuple(map(_met, part.met)))
    if part.needs == "all" and len(part.parts) == 1:
        return _part(part.parts[0])
    return Item(spans(f"{part.truth.value}: {part.needs} of"), tuple(map(_part, part.parts)))


def _words(test: Comparison) -> Spans:
    return spans(code(test.path), " ", *operator_words(test.operator, test.operand))


def _met(met: Met) -> Item:
    return Item(spans(code(met.name), *_state(met.fact)))


def _state(fact: Fact) -> Spans:
    if isinstance(fact, Known):
        value = code(printable(_value(fact.value), _VALUE_LIMIT))
        return spans(" is ", value, f" ({_source(fact.source)})")
    if isinstance(fact, Absent):
        return spans(f" is not there ({_source(fact.source)})")
    among = ", ".join(fact.among)
    few = f"; it is one of {printable(among, _VALUE_LIMIT)}" if among else ""
    return spans(f" is unknown: {_source(fact.reason)}{few}")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value)) or "an empty list"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "an empty mapping"
    return str(value) or "an empty text"


def _source(text: str) -> str:
    return printable(text, _SOURCE_LIMIT)


def _fix(fix: FixReason) -> Item:
    below = tuple(map(_part, fix.when.parts)) if fix.when is not None else ()
    said = "offered" if fix.offered else f"not offered: {fix.hindrance}"
    return Item(spans(code(fix.id), f": {said}"), below)


def _outcome(each: Reasons, *, with_facts: bool = False) -> Spans:
    """Return the sentence that says what came out, and by what."""
    if each.outcome is Outcome.FAIL:
        return spans(*_found(each))
    if each.outcome is Outcome.UNKNOWN:
        return spans(
            f"Undecided: {_source(each.reason).rstrip('.')}.", *_since(each, Truth.UNKNOWN)
        )
    if each.outcome is Outcome.PASS:
        is_overruled = each.overruled_by and each.overruled_by.truth is Truth.TRUE
        why = spans(" Evidence overrules the conditions.") if is_overruled else ()
        return spans("Not found.", *(why or _since(each, Truth.FALSE, with_facts=with_facts)))
    if each.outcome is Outcome.NOT_APPLICABLE:
        nothing = spans(" There is nothing to judge it for.") if each.when is None else ()
        return spans(
            "Does not apply.", *(nothing or _since(each, Truth.NOT_THERE, with_facts=with_facts))
        )
    return spans("The rule broke; the report names the error.")


def _found(each: Reasons) -> Iterator[str]:
    severity = each.severity.value if each.severity else ""
    is_sure = each.when is not None and each.when.truth is Truth.TRUE
    yield f"Found, severity {severity}: all conditions hold{'' if is_sure else f' {_FOR_EACH}'}."
    if each.outdone:
        yield " Another visible GPU does not have this error."
    if each.root:
        yield f" The finding of {each.root} names it as a consequence."


def _since(each: Reasons, truth: Truth, *, with_facts: bool = False) -> Spans:
    """Return which tests made an outcome what it is."""
    if each.when is None:
        return ()
    if each.when.truth is not truth:
        return spans(f" This holds {_FOR_EACH}.")
    say = _named if with_facts else _words
    tests = list(dict.fromkeys(say(test) for test in deciding(each.when)))
    more = len(tests) - _DECIDING_SHOWN
    found = [span for test in tests[:_DECIDING_SHOWN] for span in ((Span(", ")), *test)][1:]
    rest = f", and {more} more" if more > 0 else ""
    return spans(f" {_SINCE[truth]}: ", *found, f"{rest}.")


def _named(test: Comparison) -> Spans:
    """Return a test with the facts that it met, in one line."""
    met = [span for each in test.met for span in (Span("; "), *_met(each).spans)][1:]
    return spans(*_words(test), " (", *met, ")") if met else _words(test)
