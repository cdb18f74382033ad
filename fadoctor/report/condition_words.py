"""Say a rule's conditions, look-ups and names in words, with what each fact means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.engine.condition import tests_of
from fadoctor.model.catalogue import (
    FactSpec,
    build_catalogue,
    example_name,
    find_spec,
    generic_name,
)
from fadoctor.model.packages import PACKAGES
from fadoctor.report.page import Item, Span, Spans, code, joined, spans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.rule import Rule

_WORDS = {
    "is": "is",
    "not": "is not",
    "in": "is one of",
    "not_in": "is not one of",
    "below": "is below",
    "at_least": "is at least",
    "satisfies": "satisfies",
    "violates": "violates",
    "patch_of": "is of the minor release that is pinned in",
    "not_patch_of": "is of no minor release that is pinned in",
    "overlaps": "shares a member with",
    "disjoint": "shares no member with",
    "contains": "contains",
    "lacks": "lacks",
}


class ConditionWords:
    """Words for one rule. What a fact means is said once, where it comes up first."""

    def __init__(self, rule: Rule, *, explains: bool = True) -> None:
        self.rule = rule
        self.explains = explains
        self.catalogue = build_catalogue()
        self._said: set[str] = set()

    def condition(self, condition: Mapping[str, Any]) -> tuple[Item, ...]:
        """Return one entry for each test of a condition; ``any`` gets its branches below it."""
        found = []
        for path, test in condition.items():
            if path == "any":
                found.append(Item(spans("any of:"), tuple(self._branch(each) for each in test)))
            else:
                found.append(Item((code(path), *_test(test), *self._meaning(path))))
        return tuple(found)

    def _branch(self, condition: Mapping[str, Any]) -> Item:
        items = self.condition(condition)
        return items[0] if len(items) == 1 else Item(spans("all of:"), items)

    def look_ups(self, tables_page: str) -> tuple[Item, ...]:
        """Return one entry for each look-up in the matrix, linked to the page of tables if any."""
        found = []
        for name, spec in self.rule.rows.items():
            table = spec.get("table", "")
            keys = [code(f"{key} = {path.removeprefix('=')}") for key, path in spec.items()
                    if key != "table"]  # fmt: skip
            where = Span(table, href=f"{tables_page}#{table}" if tables_page else "")
            found.append(
                Item(spans(code(name), ": the row of table ", where, " with ", *joined(keys)))
            )
        return tuple(found)

    def names(self) -> tuple[Item, ...]:
        """Return one entry for each name that the rule gives to the first of some paths."""
        return tuple(
            Item(spans(code(name), _first_of(paths), *joined([code(path) for path in paths])))
            for name, paths in self.rule.let.items()
        )

    def _meaning(self, path: str) -> Spans:
        spec = self._spec(path)
        if spec is None or spec.name in self._said or not self.explains:
            return ()
        self._said.add(spec.name)
        head = spec.name.partition(".")[0]
        owner = f"{PACKAGES[head][0]}: " if spec.provider == "packages" and head in PACKAGES else ""
        return spans(f" - {owner}{spec.meaning}")

    def _spec(self, path: str) -> FactSpec | None:
        """Return what the catalogue says about a path: a fact, a part of one, or nothing."""
        head = path.partition(".")[0]
        if head in self.rule.rows or head in self.rule.let:
            return None
        generic = generic_name(example_name(path, self.rule.for_each))
        found = find_spec(self.catalogue, generic)
        found = found or find_spec(self.catalogue, generic.rpartition(".")[0])
        if found is not None and head in ("package", "extension") and self.rule.for_each:
            return msgspec.structs.replace(found, name=path, provider=head)
        return found


def _first_of(paths: tuple[str, ...]) -> str:
    return ": " if len(paths) == 1 else ": the first that is there of "


def _test(test: Any) -> Spans:
    found: list[Span] = []
    for name, operand in tests_of(test).items():
        found += spans(" and " if found else " ", *operator_words(name, operand))
    return tuple(found)


def operator_words(name: str, operand: Any) -> Spans:
    """Return an operator with its operand: ``is below 2.6``."""
    if name == "present":
        return spans("is there" if operand else "is not there")
    words = _WORDS.get(name, name.replace("_", " "))
    operands = operand if isinstance(operand, (list, tuple)) else [operand]
    return spans(f"{words} ", *joined([code(_value(each)) for each in operands]))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).removeprefix("$")
