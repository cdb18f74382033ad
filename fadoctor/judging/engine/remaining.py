"""Whether the condition of a fix holds for all that is still possible: values and rows."""

from __future__ import annotations

from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.fixes import aside_of
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.query import Index, Rows
from fadoctor.model.fact import Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.rule import FixTemplate

COMBINATIONS = 400
"""Most combinations of rows, or of values, that are tried; of more, nothing is concluded."""


def truth_of(scope: Scope, template: FixTemplate) -> Truth:
    """Return whether a fix's condition holds; open only where what remains disagrees.

    What remains: the values that a fact is among, as for rules, and rows of tables.
    """
    if not template.when:
        return Truth.TRUE
    aside = aside_of(scope, template)
    truth = holds(template.when, aside)
    if truth is not Truth.UNKNOWN:
        return truth
    facts = scope.environment.facts
    few = {
        name: fact
        for name, fact in aside.unknown_facts().items()
        if fact.among and facts.get(name) is fact
    }
    return (_of_values(scope, template, few) if few else None) or _of_rows(scope, template, aside)


def _of_values(scope: Scope, template: FixTemplate, few: Mapping[str, Unknown]) -> Truth | None:
    """Return what holds for all of the values that facts are among; None where that differs."""
    if prod(len(fact.among) for fact in few.values()) > COMBINATIONS:
        return None
    found: set[Truth] = set()
    for values in product(*(fact.among for fact in few.values())):
        tried = {n: Known(value, few[n].source) for n, value in zip(few, values, strict=True)}
        facts = {**scope.environment.facts, **tried}
        environment = msgspec.structs.replace(scope.environment, facts=facts)
        trial = Scope(environment, scope.matrix, scope.rule, scope.bindings)
        found.add(truth_of(trial, template))
    if found <= {Truth.FALSE, Truth.NOT_THERE}:
        return Truth.FALSE
    return Truth.TRUE if found == {Truth.TRUE} else None


def _of_rows(scope: Scope, template: FixTemplate, aside: Scope) -> Truth:
    """Return what holds for all rows of the look-ups of which only some keys are known."""
    names = _open_rows(aside, template)
    choices = [_candidates(aside, name, template) for name in names]
    if not choices or not all(choices):
        return Truth.UNKNOWN
    found: set[Truth] = set()
    for number, rows in enumerate(islice(product(*choices), COMBINATIONS + 1)):
        if number == COMBINATIONS:
            return Truth.UNKNOWN
        trial = aside_of(scope, template)
        for name, row in zip(names, rows, strict=True):
            table = scope.matrix.tables[trial.rule.rows[name]["table"]]
            trial.put_row(name, Rows(table, (row,), None))
        found.add(holds(template.when, trial))
    # A row that nobody has read speaks neither for a fix nor, beside others, against it.
    if found == {Truth.TRUE}:
        return Truth.TRUE
    refuted = found - {Truth.UNKNOWN} and Truth.TRUE not in found
    return Truth.FALSE if refuted else Truth.UNKNOWN


def _paths(condition: object) -> set[str]:
    """Return the paths and the operands with ``$`` that a condition names."""
    found: set[str] = set()
    if isinstance(condition, dict):
        for key, value in condition.items():
            found |= {key} | _paths(value)
    elif isinstance(condition, list):
        for each in condition:
            found |= _paths(each)
    elif isinstance(condition, str) and condition.startswith("$"):
        found.add(condition[1:])
    return found


def _open_rows(aside: Scope, template: FixTemplate) -> list[str]:
    """Return the look-ups of a condition whose rows are not known, though some keys are."""
    named = {path.partition(".")[0] for path in _paths(template.when)}
    return [
        name
        for name in aside.rule.rows
        if name in named and isinstance(aside.row(name).none, Unknown)
    ]


def _candidates(aside: Scope, name: str, template: FixTemplate) -> list[Row]:
    """Return the rows that match the keys that are known, alike ones once."""
    spec = aside.rule.rows[name]
    texts: dict[str, str] = {}
    for key, path in spec.items():
        if key == "table":
            continue
        fact = Known(path[1:], "rule") if path.startswith("=") else aside.resolve(path)
        if isinstance(fact, Known):
            texts[key] = str(fact.value)
    table = aside.matrix.tables[spec["table"]]
    asked = len(spec) - 1
    if not texts or len(texts) == asked:
        return []  # nothing is known of it, or the table has no such row
    columns = [path.partition(".")[2] for path in _paths(template.when)]
    wanted = [column for column in columns if column in table.columns]
    rows = {
        tuple(str(row.get(column)) for column in wanted): row
        for row in Index.of(table).matching(texts)
    }
    return list(rows.values())
