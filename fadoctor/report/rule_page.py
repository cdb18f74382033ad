"""The page of a rule, made from its data: what, why, how to confirm, what to do, sources."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.case_examples import LogExample, example_message, log_examples
from fadoctor.judging.engine.suite import RuleFile, cases_of, outcome_of
from fadoctor.model.finding import Outcome, Reference
from fadoctor.model.fix import Safety
from fadoctor.model.rule import TABLE, with_rows
from fadoctor.report.condition_words import ConditionWords
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
    joined,
    spans,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.rule import FixTemplate, Knowledge, Rule, StepTemplate, Symptom

CASES_SHOWN = 6
"""Most cases of one outcome that a page names."""

# a hole: FlashAttention-{generation} needs ...
_HOLE = re.compile(r"\{\w{1,40}\}")

PATTERN_SHOWN = 60
"""Longest regular expression that a page shows, in characters."""

_KINDS = {
    "gpu": "GPU",
    "toolkit": "CUDA toolkit",
    "requirer": "package, and each other distribution that requires one",
    "contract": "name that one package needs from another, which does not have it",
    "extension": "compiled extension",
    "optional_extension": "compiled extension that its package can work without",
}
_VERIFIED = {
    "source-read": "read in source code or measured in published files",
    "reproduced": "reproduced by running it",
    "reported": "reported by others, not reproduced",
}
_SAFE = " (what worked before keeps working)"
_CASE_WORDS = (
    ("found", {Outcome.FAIL}),
    ("not found", {Outcome.PASS, Outcome.NOT_APPLICABLE}),
    ("undecided", {Outcome.UNKNOWN}),
)


def build_page(
    rule_id: str, files: Mapping[str, RuleFile], knowledge: Knowledge, *, linked: bool = False
) -> Page:
    """Return the page of a rule; `files` are all rules, for what they say about each other.

    A linked page stands in docs/rules/, beside those of other rules.
    """
    file = files[rule_id]
    rule = file.rule
    return (
        Heading(rule.title, 1),
        Paragraph(_facts_about(rule)),
        *_what(rule, example_message(file, knowledge)),
        Heading("Why"),
        Paragraph(spans(rule.why)),
        *_logs(file, knowledge),
        *_confirm(file, linked=linked),
        *_repairs(rule),
        *_related(rule, files, linked=linked),
        *_sources(file, linked=linked),
    )


def render_json(rule_id: str, files: Mapping[str, RuleFile]) -> str:
    """Return a rule as it was compiled, with its cases. ASCII, so that no text does any harm."""
    file = files[rule_id]
    document = {
        "schema_version": 1,
        "rule": msgspec.to_builtins(file.rule),
        "path": file.path,
        "explains": _explains(file.rule, files),
        "cases": file.cases,
    }
    return json.dumps(document, indent=2) + "\n"


def _facts_about(rule: Rule) -> Spans:
    about = f"for each {_subject(rule)}" if rule.for_each else f"about the {_subject(rule)}"
    words = f"{rule.severity.value}, confidence {rule.confidence.value}, area {rule.area}, {about}"
    return spans(code(rule.id), f": {words}, since fadoctor {rule.since}.", *_cells(rule))


def _subject(rule: Rule) -> str:
    if rule.for_each:
        return " and each ".join(_KINDS.get(kind, kind) for kind in rule.for_each)
    return "environment" if rule.subject == "environment" else f"package {rule.subject}"


def _cells(rule: Rule) -> Spans:
    if rule.affects is None:
        return ()
    if rule.affects.nothing:
        return spans(" It decides no verdict: ", rule.affects.nothing, ".")
    backends = joined([code(backend.value) for backend in rule.affects.backends])
    dtypes = joined([code(dtype.value) for dtype in rule.affects.dtypes])
    if rule.affects.extension:
        backends = spans("the backends that come with the extension's package, or need it")
    within = spans(" in ", *dtypes) if dtypes else ()
    return spans(" It decides the verdicts of ", *backends, *within, ".")


def _what(rule: Rule, example: str) -> Iterator[Block]:
    yield Heading("What is wrong")
    is_same = example in ("", rule.message)
    yield Paragraph(spans(rule.message if is_same else f"For example: {example}"))


def _logs(file: RuleFile, knowledge: Knowledge) -> Iterator[Block]:
    symptoms = file.rule.symptoms
    if symptoms:
        yield Heading("How it shows in a log")
        shown = log_examples(file, knowledge)
        items = (_log_item(symptom, shown.get(i)) for i, symptom in enumerate(symptoms))
        yield PageList(tuple(dict.fromkeys(items)))


def _log_item(symptom: Symptom, example: LogExample | None) -> Item:
    line = (code(example.line),) if example else spans("a line with ", code(symptom.anchor))
    says = example.message if example else _HOLE.sub("...", symptom.message)
    below = [Item(spans(says))] if says else []
    below += [Item(spans("in the same line with ", _pattern(text))) for text in symptom.same_line]
    below += [Item(spans("together with ", _pattern(text))) for text in symptom.near]
    below += [Item(spans("and without ", _pattern(text))) for text in symptom.absent]
    below += [Item(spans("and not raised by ", _pattern(text))) for text in symptom.others]
    below += [Item(spans("and not followed by ", _pattern(text))) for text in symptom.survived]
    if symptom.listed:
        below.append(Item(spans("of what the table ", code(symptom.listed[TABLE]), " lists")))
    return Item(line, tuple(below))


def _pattern(text: str) -> Span:
    """Return a regular expression; one that nobody reads is left to the rule's file."""
    return code(text) if len(text) <= PATTERN_SHOWN else Span("words that the rule's file lists")


def _confirm(file: RuleFile, *, linked: bool) -> Iterator[Block]:
    rule = file.rule
    yield Heading("How to confirm it")
    yield Paragraph(_commands(rule))
    words = ConditionWords(rule)
    if rule.when:
        each = f"Judged for each {_subject(rule)}. " if rule.for_each else ""
        yield Paragraph(spans(f"{each}It is found where all of this holds:"))
        yield PageList(words.condition(rule.when))
    if names := (*words.look_ups("../matrix.md" if linked else ""), *words.names()):
        yield Paragraph(spans("Names in these conditions:"))
        yield PageList(names)
    if rule.overruled_by:
        yield Paragraph(spans("Evidence beats metadata: it is not found where all of this holds:"))
        yield PageList(words.condition(rule.overruled_by))
    if cases := tuple(_case_items(file)):
        yield Paragraph(spans("Its own cases say the same by example:"))
        yield PageList(cases)


def _commands(rule: Rule) -> Spans:
    facts = (code("fadoctor facts"), " prints everything that was read.")
    if rule.when:
        return spans(code("fadoctor check --verbose"), " names it with its evidence; ", *facts)
    return spans("Only the log shows it. What is installed may still explain it: ", *facts)


def _case_items(file: RuleFile) -> Iterator[Item]:
    cases = [raw for raw in cases_of(file) if isinstance(raw, dict)]
    for word, outcomes in _CASE_WORDS:
        names = [str(raw.get("name", "")) for raw in cases if outcome_of(raw) in outcomes]
        if names:
            more = f"; and {len(names) - CASES_SHOWN} more" if len(names) > CASES_SHOWN else ""
            yield Item(spans(f"{word}: {'; '.join(names[:CASES_SHOWN])}{more}"))


def _repairs(rule: Rule) -> Iterator[Block]:
    yield Heading("What to do")
    if not rule.fixes:
        yield Paragraph(spans("No repair is known that can be written as a command or a setting."))
        return
    if len(rule.fixes) > 1:
        yield Paragraph(spans("The best one first."))
    yield PageList(tuple(_repair(rule, fix) for fix in rule.fixes), numbered=True)


def _repair(rule: Rule, fix: FixTemplate) -> Item:
    below: list[Item] = []
    if fix.when:
        below.append(
            Item(
                spans("offered only where:"),
                ConditionWords(with_rows(rule, fix)).condition(fix.when),
            )
        )
    below += [Item(part) for step in fix.steps for part in _step(step)]
    if fix.side_effects:
        below.append(Item(spans(f"side effects: {fix.side_effects}")))
    return Item(spans(fix.title + (_SAFE if fix.safety is Safety.SAFE else "")), tuple(below))


def _step(step: StepTemplate) -> Iterator[Spans]:
    for word, items in (
        ("install", (*step.options, *step.install)),
        ("uninstall", step.uninstall),
        ("set", step.set),
        ("unset", step.unset),
    ):
        if items:
            index = f" (index {step.index})" if step.index and word == "install" else ""
            yield spans(f"{word} ", *joined([code(item) for item in items], " "), index)
    if step.setting:
        yield spans("setting: ", code(step.setting))
    for topic, value in step.settings.items():
        yield spans("setting: ", f"{topic} ", code(value), ", in the words of the framework")
    if step.system:
        yield spans("run by hand: ", code(step.system))
    if step.advice:
        yield spans(step.advice)


def _related(rule: Rule, files: Mapping[str, RuleFile], *, linked: bool) -> Iterator[Block]:
    causes = [_link(rule_id, linked=linked) for rule_id in rule.explained_by]
    effects = [_link(rule_id, linked=linked) for rule_id in _explains(rule, files)]
    if not causes and not effects:
        return
    yield Heading("Related")
    items = []
    if causes:
        items.append(
            Item(spans("reported as a consequence if found together with ", *joined(causes)))
        )
    if effects:
        items.append(Item(spans("explains ", *joined(effects))))
    yield PageList(tuple(items))


def _explains(rule: Rule, files: Mapping[str, RuleFile]) -> list[str]:
    return [each.rule.id for each in files.values() if rule.id in each.rule.explained_by]


def _link(rule_id: str, *, linked: bool) -> Span:
    return Span(rule_id, code=True, href=f"{rule_id}.md" if linked else "")


def _sources(file: RuleFile, *, linked: bool) -> Iterator[Block]:
    yield Heading("Sources")
    yield PageList(tuple(map(reference_item, file.rule.references)))
    href = f"../../{file.path}" if linked else ""
    verified = _VERIFIED.get(file.rule.verified, file.rule.verified)
    yield Paragraph(
        spans(
            f"How it is known: {verified}. Defined in ", Span(file.path, code=True, href=href), "."
        )
    )


def reference_item(reference: Reference) -> Item:
    """Return a source as an entry of a list."""
    is_link = reference.url.startswith("https://")
    url = Span(reference.url, code=not is_link, href=reference.url if is_link else "")
    note = "; ".join(part for part in (reference.note, _retrieved(reference)) if part)
    return Item(spans(f"{reference.type.lower()}: ", url, f" ({note})" if note else ""))


def _retrieved(reference: Reference) -> str:
    return f"read {reference.retrieved}" if reference.retrieved else ""
