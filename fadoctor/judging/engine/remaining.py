"""Whether the condition of a fix holds for every row that a table still leaves possible."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.fixes import aside_of
from fadoctor.knowledge.matrix.query import Index, Rows
from fadoctor.model.fact import Known, Unknown

if TYPE_CHECKING:
    from fadoctor.judging.engine.scope import Scope
    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.rule import FixTemplate

COMBINATIONS = 400
"""Most combinations of rows that are tried; of more, nothing is concluded."""


def truth_of(scope: Scope, template: FixTemplate) -> Truth:
    """Return whether a fix's condition holds; open only where rows that remain disagree."""
    if not template.when:
        return Truth.TRUE
    aside = aside_of(scope, template)
    truth = holds(template.when, aside)
    if truth is not Truth.UNKNOWN:
        return truth
    names = _open_rows(aside, template)
    choices = [_candidates(aside, name, template) for name in names]
    if not choices or not all(choices):
        return truth
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
