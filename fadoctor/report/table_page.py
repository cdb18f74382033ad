"""The page of the matrix: what each table says, how it is asked, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.report.page import (
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
from fadoctor.report.rule_page import reference_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.rule import Knowledge, Rule, Table
    from fadoctor.report.page import Block


def build_page(knowledge: Knowledge) -> Page:
    """Return the page of all tables; it stands in docs/, beside the folder of the rules' pages."""
    blocks: list[Block] = [
        Heading("The matrix", 1),
        Paragraph(
            spans("Tables about the world, one file each below ",
                  Span("rules/matrix/", code=True, href="../rules/matrix"),
                  ". What the words mean: ", Span("rule format", href="rule-format.md#a-table"),
                  '. A cell without a value is not known; "absent" says that there is none.')
        ),
    ]  # fmt: skip
    for name in sorted(knowledge.tables):
        blocks += _table(knowledge.tables[name], knowledge.rules)
    return tuple(blocks)


def _table(table: Table, rules: tuple[Rule, ...]) -> Iterator[Block]:
    yield Heading(table.table)
    yield Paragraph(spans(table.doc))
    path = Span(f"rules/{table.file}", code=True, href=f"../rules/{table.file}")
    none = "absent" if table.complete else "unknown"
    apart = ", compiled apart" if table.apart else ""
    about = [
        Item(spans("asked by ", *_typed(table.keys))),
        Item(spans("says ", *_typed(table.columns))),
        Item(
            spans(f"{len(table.rows)} row{_s(table)} in ", path, f"; without a row: {none}{apart}")
        ),
        Item(spans(f"verified: {table.verified}")),
    ]
    users = [Span(r.id, code=True, href=f"rules/{r.id}.md") for r in rules if _asks(r, table)]
    if users:
        about.append(Item(spans("used by ", *joined(users))))
    sources = tuple(map(reference_item, table.references))
    yield PageList((*about, Item(spans("sources:"), sources)))


def _typed(columns: Mapping[str, str]) -> Spans:
    parts: list[Span] = []
    for name, kind in columns.items():
        parts += spans(", " if parts else "", code(name), f" ({kind})")
    return tuple(part for part in parts if part.text)


def _asks(rule: Rule, table: Table) -> bool:
    return any(spec.get("table") == table.table for spec in rule.rows.values())


def _s(table: Table) -> str:
    return "" if len(table.rows) == 1 else "s"
