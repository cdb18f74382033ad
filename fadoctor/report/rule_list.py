"""The list of rules: for a terminal, as JSON, and as the index of their pages."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fadoctor import __version__
from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity
from fadoctor.model.rules_version import rules_version
from fadoctor.report.page import Heading, Item, Page, PageList, Paragraph, Span, spans
from fadoctor.report.page_text import finished, make_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.judging.engine.suite import RuleFile
    from fadoctor.model.rule import Knowledge, Rule
    from fadoctor.report.page import Block
    from fadoctor.report.style import Style

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def render(
    files: Iterable[RuleFile],
    style: Style,
    knowledge: Knowledge,
    retired: Mapping[str, str] | None = None,
) -> str:
    """Return a row for each rule: id, severity, area, title; the retired ones, and which rules."""
    buffer = io.StringIO()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("id", "severity", "area"):
        table.add_column(title, no_wrap=True)
    table.add_column("title", overflow="fold")
    for file in files:
        rule = file.rule
        severity = Text(rule.severity.value, style=_COLOURS[rule.severity])
        table.add_row(_text(rule.id), severity, _text(rule.area), _text(rule.title))
    for old, new in sorted((retired or {}).items()):
        table.add_row(_text(old), "retired", "", _text(f"{new} replaces it"))
    console = make_console(style, buffer)
    console.print(table)
    said = rules_version(knowledge.version, knowledge.origin)
    console.print(_text(f"Rules {said}, fadoctor {__version__}."))
    return finished(buffer.getvalue(), style)


def _text(text: str) -> Text:
    return Text(printable(text))


def render_json(files: Iterable[RuleFile], knowledge: Knowledge) -> str:
    """Return the same rules as JSON, in ASCII, so that no text of theirs does any harm."""
    document = {
        "schema_version": 1,
        "version": knowledge.version,
        "sha256": knowledge.sha256,
        **({"origin": knowledge.origin} if knowledge.origin else {}),
        "rules": [_entry(file) for file in files],
        "retired": knowledge.retired,
    }
    return json.dumps(document, indent=2) + "\n"


def _entry(file: RuleFile) -> dict[str, str]:
    rule = file.rule
    return {
        "id": rule.id,
        "severity": rule.severity.value,
        "confidence": rule.confidence.value,
        "area": rule.area,
        "title": rule.title,
        "since": rule.since,
        "verified": rule.verified,
        "path": file.path,
    }


def build_index(knowledge: Knowledge) -> Page:
    """Return the index of the rules' pages, by area, with the ids that are retired last."""
    return (*_index_blocks(list(knowledge.rules)), *_retired(knowledge))


def _retired(knowledge: Knowledge) -> Iterator[Block]:
    if not knowledge.retired:
        return
    yield Heading("Retired")
    yield Paragraph(spans("Retired ids are never reused; --ignore maps each to its new id."))
    yield PageList(
        tuple(
            Item(spans(Span(old, code=True), ": ", Span(new, code=True, href=f"{new}.md")))
            for old, new in sorted(knowledge.retired.items())
        )
    )


def _index_blocks(rules: list[Rule]) -> Iterator[Block]:
    yield Heading("Rules", 1)
    yield Paragraph(
        spans("One root cause a page, generated from its file below ",
              Span("rules/", code=True, href="../../rules"), ". How to add one: ",
              Span("adding a rule", href="../adding-a-rule.md"), ".")
    )  # fmt: skip
    for area in sorted({rule.area for rule in rules}):
        yield Heading(area)
        yield PageList(tuple(_index_item(rule) for rule in rules if rule.area == area))


def _index_item(rule: Rule) -> Item:
    link = Span(rule.id, code=True, href=f"{rule.id}.md")
    return Item(spans(link, f" ({rule.severity.value}): {rule.title}"))
