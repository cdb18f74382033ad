"""Judge a release of rules before it is used: it compiles, it fits, its own cases come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.suite import RuleFile, Suite, run_suite
from fadoctor.knowledge.matrix.compile import Compiled, compile_rules
from fadoctor.knowledge.updates import ReleaseError
from fadoctor.model.errors import RuleDataError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fadoctor.model.rule import Knowledge, Table

_ADVICE = "a newer fadoctor may read them"


class TrialResult(msgspec.Struct, frozen=True):
    """How much of a release was tried."""

    rules: int
    tables: int
    cases: int
    compiled: Compiled


def judge(
    folder: Path, version: str, shipped: Knowledge, apart: Mapping[str, Table]
) -> TrialResult:
    """Return what a release holds; ReleaseError where it cannot stand in for what was shipped."""
    compiled = _compiled(folder)
    knowledge = compiled.knowledge
    if knowledge.version != version:
        raise ReleaseError(f"the archive says {version}, its rules {_text(knowledge.version)}")
    missing = list(_missing(knowledge, shipped, apart))
    if missing:
        raise ReleaseError(f"{_first(missing)}: this fadoctor needs it; {_ADVICE}")
    files = {
        rule.id: RuleFile(rule, f"rules/{rule.file}", compiled.cases.get(rule.id, []))
        for rule in knowledge.rules
    }
    tested = run_suite(Suite(knowledge, files, {}), own=False)
    if tested.failures:
        failed = [f"{each.path}: {each.case}: {each.problem}" for each in tested.failures]
        raise ReleaseError(f"their own cases fail here: {_first(failed)}")
    return TrialResult(tested.rules, len(knowledge.tables), tested.cases, compiled)


def _compiled(folder: Path) -> Compiled:
    try:
        compiled = compile_rules(folder)
    except RuleDataError as error:
        raise ReleaseError(f"these rules cannot be read: {_text(str(error))}") from error
    if compiled.problems:
        problems = [str(problem).replace(f"{folder}/", "") for problem in compiled.problems]
        raise ReleaseError(f"these rules do not fit: {_first(problems)}; {_ADVICE}")
    return compiled


def _missing(knowledge: Knowledge, shipped: Knowledge, apart: Mapping[str, Table]) -> Iterator[str]:
    """Yield what Python asks for by name, or people ignore by id, and a release has lost."""
    for name, table in {**shipped.tables, **apart}.items():
        other = knowledge.tables.get(name)
        if other is None:
            yield f"the table {name} is missing"
        elif other.keys != table.keys or other.apart != table.apart:
            yield f"the table {name} has other keys"
        elif lost := sorted(table.columns.keys() - other.columns.keys()):
            yield f"the table {name} has no {lost[0]}"
    ids = {rule.id for rule in knowledge.rules} | knowledge.retired.keys()
    for rule_id in sorted(({rule.id for rule in shipped.rules} | shipped.retired.keys()) - ids):
        yield f"the rule {rule_id} is neither there nor retired"


def _first(problems: list[str]) -> str:
    others = f" (and {len(problems) - 1} more)" if problems[1:] else ""
    return f"{_text(problems[0])}{others}"


def _text(text: str) -> str:
    return printable(text, 500)
