"""The table never contradicts a finding or a fact, and a blank in a table is not known.

Some dozens of broken ones always; 2,000 where FADOCTOR_TESTS_REQUIRE has ``long``, and 20,000 where
it has ``invariants`` besides.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.diagnose import conclude, diagnose, foresee
from fadoctor.judging.engine.judge import judge
from fadoctor.judging.engine.weaker_gpu import reads_outcomes
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.verdict import Predicted
from tests.properties.broken import hub_worlds, worlds
from tests.properties.invariants import contradictions
from tests.properties.test_properties import compare, is_overruled, steps
from tests.properties.worlds import knowledge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Condition, Knowledge, Rule

pytestmark = pytest.mark.property

ASKED = os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
FULL = "invariants" in ASKED
TRIES = 40
MANY_TRIES = 20_000 if FULL else 2_000
HUB_TRIES = 2_500 if FULL else 200
BLANKS = 1_000 if FULL else 60
PARTS = range(4)
"""Of the tries, for processes to share."""


@pytest.mark.parametrize("part", PARTS)
def test_the_table_never_contradicts_a_finding_or_a_fact(part: int) -> None:
    """No cell works against what is missing, does not load, is unmet, unknown or an error.

    It was so where the loader refused a file for a reason that no rule foresaw, where the file was
    not there at all, and where something that the package requires was missing.
    """
    assert contradicted(part, TRIES) == {}


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_nor_does_it_on_many(part: int) -> None:
    assert contradicted(part, MANY_TRIES) == {}


def contradicted(part: int, tries: int) -> dict[str, int]:
    """Return some contradictions, each with the number of the environment that has it."""
    wrong: dict[str, int] = {}
    for number, world in enumerate(worlds(seed=12 + 100 * part, count=tries // len(PARTS))):
        prognosis = foresee(world, knowledge())
        for text in contradictions(prognosis, conclude(prognosis)):
            wrong.setdefault(text, number)
    return dict(list(wrong.items())[:8])


@pytest.mark.long
def test_kernels_of_the_hub_work_only_where_they_can_be_had() -> None:
    """Nor is a cell called unknown for want of trying: some of them work, and some fail."""
    wrong: dict[str, int] = {}
    seen: dict[Predicted, int] = {}
    for number, world in enumerate(hub_worlds(seed=14, count=HUB_TRIES)):
        prognosis = foresee(world, knowledge())
        for text in contradictions(prognosis, conclude(prognosis)):
            wrong.setdefault(text, number)
        for cell in prognosis.verdicts:
            if cell.backend.value.startswith("hub-"):
                seen[cell.predicted] = seen.get(cell.predicted, 0) + 1
    assert dict(list(wrong.items())[:8]) == {}
    assert min(seen.get(each, 0) for each in Predicted) > HUB_TRIES // 20, seen


def test_every_error_says_which_cells_it_decides() -> None:
    """An error without `affects` stood beside three cells that "work"; a reason may stand there."""
    silent = [
        rule.id
        for rule in knowledge().rules
        if rule.severity is Severity.ERROR and rule.when and rule.affects is None
    ]
    assert silent == []


def test_what_the_loader_says_is_overruled_by_nothing() -> None:
    """Labels and versions are no reason to pass over a file that does not load."""
    deaf = [
        (rule.id, str(branch))
        for rule in knowledge().rules
        if "extension.failure" in str(rule.when)
        for branch in rule.overruled_by.get("any", [rule.overruled_by])
        if branch and not _minds_the_loader(branch, rule)
    ]
    assert deaf == []


def _minds_the_loader(branch: Condition, rule: Rule) -> bool:
    """Return whether what overrules a rule cannot hold where the loader's word makes it fail."""
    silent = branch.get("extension.failure") == {"present": False}
    of_another_kind = "not" in str(branch.get("extension.cause"))
    loads = branch.get("package.loads") is True
    own = [each for each in rule.when.get("any", [rule.when]) if "extension.failure" in each]
    opposite = any({"not": v} == each.get(k) for each in own for k, v in branch.items())
    return silent or of_another_kind or loads or opposite


def blanked(chance: random.Random) -> tuple[Knowledge, str]:
    """Return the knowledge with one column of one table left out of every row."""
    tables = {name: table for name, table in knowledge().tables.items() if not table.apart}
    asked = sorted(
        {
            (spec["table"], path.split(".")[1])
            for rule in knowledge().rules
            for name, spec in rule.rows.items()
            for path in _paths(str((rule.when, rule.let)), name)
            if path.split(".")[1] in knowledge().tables[spec["table"]].columns
        }
    )
    name, column = chance.choice(asked)
    rows = tuple({k: v for k, v in row.items() if k != column} for row in tables[name].rows)
    changed = {**knowledge().tables, name: msgspec.structs.replace(tables[name], rows=rows)}
    return msgspec.structs.replace(knowledge(), tables=changed), f"{name}.{column}"


def _paths(text: str, head: str) -> list[str]:
    words = text.replace("'", " ").replace("$", " ").replace(",", " ").replace("]", " ")
    return [word for word in words.replace("[", " ").split() if word.startswith(f"{head}.")]


@pytest.mark.long
def test_a_blank_in_a_table_is_not_known() -> None:
    """Blanking a column opens outcomes, and never turns one into a pass or a cell into works."""
    chance = random.Random(5)  # noqa: S311 -- not for secrets
    for world in worlds(seed=7, count=BLANKS):
        poorer, what = blanked(chance)
        before = judge(world, knowledge(), Matrix(knowledge().tables))
        after = judge(world, poorer, Matrix(poorer.tables))
        told = [
            [each for each in judged if not (reads_outcomes(each.rule) and opened)]
            for opened in [errors(before.judgements) != errors(after.judgements)]
            for judged in (before.judgements, after.judgements)
        ]
        assert compare(*told) == [], f"{what} is blank"
        if not any(is_overruled(each) for each in before.judgements):
            found = steps(_cells(world, knowledge()), _cells(world, poorer))
            assert {then for then, now in found if now is Predicted.WORKS} <= {Predicted.WORKS}, (
                what
            )


def errors(judgements: Iterable[Judgement]) -> set[tuple[str, str]]:
    """Return what surely fails. A GPU without an error that another has is the better one."""
    return {
        (each.rule.id, each.about.text)
        for each in judgements
        if each.outcome is Outcome.FAIL and each.severity is Severity.ERROR
    }


def _cells(world: Environment, known: Knowledge) -> dict[tuple[str, str, str], Predicted]:
    """Return the predictions of a report."""
    return {
        (each.gpu, each.backend.value, each.dtype.value): each.predicted
        for each in diagnose(world, known).verdicts
    }
