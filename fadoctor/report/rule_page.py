"""The page of a rule, made from its data: what, why, how to confirm, what to do, sources."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.case_examples import example_message
from fadoctor.judging.engine.fixes import UNINSTALL
from fadoctor.judging.engine.suite import RuleFile, cases_of, outcome_of
from fadoctor.model.finding import Outcome, Reference
from fadoctor.model.fix import Safety
from fadoctor.model.rule import with_rows
from fadoctor.report.condition_words import ConditionWords
from fadoctor.report.page import (
    Block,
    Heading,
    Item,
    Page,
    PageCommand,
    PageList,
    Paragraph,
    Span,
    Spans,
    code,
    joined,
    spans,
)
from fadoctor.report.rule_examples import messages_of, other_messages, tellings, wrong_and_right
from fadoctor.report.setting_lines import setting_items

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.rule import FixTemplate, Knowledge, Rule, StepTemplate

CASES_SHOWN = 6
"""Most cases of one outcome that a page names."""

# a hole: flash-attn=={wheel.version}
_HOLE = re.compile(r"\{[\w.]{1,80}\}")

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
_SAFE = "safe: what worked before keeps working"
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
    messages = messages_of(file, knowledge)
    return (
        Heading(rule.title, 1),
        *(Heading(each.line) for each in messages[:1]),
        Paragraph(_wrong(rule, example_message(file, knowledge))),
        *_repairs(rule, knowledge),
        *_check(rule),
        Heading("Why"),
        Paragraph(spans(rule.why)),
        *other_messages(messages),
        *tellings(rule, knowledge),
        *wrong_and_right(file),
        *_conditions(file, linked=linked),
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
        backends = spans(
            "the backends that the extension's package installs, and those that need it"
        )
    within = spans(" in ", *dtypes) if dtypes else ()
    return spans(" It decides the verdicts of ", *backends, *within, ".")


def _wrong(rule: Rule, example: str) -> Spans:
    is_same = example in ("", rule.message)
    return spans(rule.message if is_same else f"For example: {example}")


def _check(rule: Rule) -> Iterator[Block]:
    yield Heading("How to check")
    if rule.when:
        yield Paragraph(
            spans(code("fadoctor check"), " names it with its evidence; ",
                  code("fadoctor facts"), " prints everything that was read.")
        )  # fmt: skip
        return
    yield Paragraph(
        spans("Only a text shows it: ", code("fadoctor explain FILE"), " reads a log, an issue "
              "or one line. The environment may still explain it: ", code("fadoctor check"), ".")
    )  # fmt: skip


def _conditions(file: RuleFile, *, linked: bool) -> Iterator[Block]:
    rule = file.rule
    if not rule.when:
        return
    yield Heading("When it is found")
    words = ConditionWords(rule)
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


def _case_items(file: RuleFile) -> Iterator[Item]:
    cases = [raw for raw in cases_of(file) if isinstance(raw, dict)]
    for word, outcomes in _CASE_WORDS:
        names = [str(raw.get("name", "")) for raw in cases if outcome_of(raw) in outcomes]
        if names:
            more = f"; and {len(names) - CASES_SHOWN} more" if len(names) > CASES_SHOWN else ""
            yield Item(spans(f"{word}: {'; '.join(names[:CASES_SHOWN])}{more}"))


def _repairs(rule: Rule, knowledge: Knowledge) -> Iterator[Block]:
    yield Heading("What to do")
    if not rule.fixes:
        yield Paragraph(spans("There is no known repair by a command or a setting."))
        return
    if len(rule.fixes) > 1:
        yield Paragraph(spans("The best one first."))
    # What certain logs alone call for helps few who come to the page.
    for fix in sorted(rule.fixes, key=lambda each: bool(each.logged)):
        yield from _repair(rule, fix, knowledge)


def _repair(rule: Rule, fix: FixTemplate, knowledge: Knowledge) -> Iterator[Block]:
    yield Heading(fix.title, 3)
    commands = [line for step in fix.steps for line in _typed(step)]
    if commands:
        yield PageCommand(tuple(commands))
    rest = [item for step in fix.steps for item in setting_items(step.settings, knowledge)]
    rest += [Item(part) for step in fix.steps if not _typed(step) for part in _step(step)]
    rest += [Item(spans(step.advice)) for step in fix.steps if _typed(step) and step.advice]
    if fix.when:
        words = ConditionWords(with_rows(rule, fix), explains=False).condition(fix.when)
        rest.append(Item(spans("offered only where:"), words))
    if fix.logged:
        rest.append(Item(spans("offered only for logs that name the program or setting")))
    if fix.safety is Safety.SAFE:
        rest.append(Item(spans(_SAFE)))
    if fix.side_effects:
        rest.append(Item(spans(f"side effects: {fix.side_effects}")))
    if rest:
        yield PageList(tuple(rest))


def _typed(step: StepTemplate) -> tuple[str, ...]:
    """Return a step as it is typed; nothing where it is no command, or facts fill it in."""
    lines = []
    if step.install:
        index = ("--index-url", step.index) if step.index else ()
        lines.append(shlex.join(("pip", "install", *step.options, *index, *step.install)))
    if step.uninstall:
        lines.append(shlex.join((*UNINSTALL, *step.uninstall)))
    if step.system:
        lines.append(step.system)
    return () if any(_HOLE.search(line) for line in lines) else tuple(lines)


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
    yield Paragraph(_facts_about(file.rule))
    yield PageList(tuple(map(reference_item, file.rule.cited)))
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
