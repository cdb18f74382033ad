"""Findings of a smoke run: why cells failed, and where prediction and run disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.symptom_findings import finding_of
from fadoctor.judging.engine.symptoms import matcher_of
from fadoctor.judging.verdicts.measurements import disagreements, import_disagreements
from fadoctor.model.fact import printable
from fadoctor.model.finding import Evidence
from fadoctor.model.rule import rules_by_id
from fadoctor.model.verdict import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.engine.symptoms import Matcher, SymptomMatch
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge
    from fadoctor.model.smoke import ImportProof, SmokeCell, SmokeRun

_CELLS_NAMED = 4
_SOURCE = "smoke run"


def find_root_causes(
    smoke: SmokeRun, knowledge: Knowledge, environment: Environment, matrix: Matrix
) -> tuple[Finding, ...]:
    """Return one finding for each root cause that shows, with the cells as its evidence."""
    matcher = matcher_of(knowledge)
    rules = rules_by_id(knowledge)
    shown: dict[str, tuple[SymptomMatch, list[SmokeCell]]] = {}
    failed = [cell for cell in smoke.cells if cell.measured is Measured.FAILED and cell.message]
    for message, cells in _by_message(failed).items():
        for match in matcher.match(message)[:1]:
            shown.setdefault(match.rule_id, (match, []))[1].extend(cells)
    found = [(match, cells) for match, cells in shown.values()]
    for how, cells in disagreements(smoke).items():
        found += [(match, cells) for match in matcher.match(f"{how}: {_names(cells)}")[:1]]
    of_cells = [(match, _evidence(cells)) for match, cells in found]
    return tuple(
        finding_of(match, rules[match.rule_id], evidence, environment, matrix)
        for match, evidence in (*of_cells, *_of_imports(smoke, matcher))
    )


def _of_imports(
    smoke: SmokeRun, matcher: Matcher
) -> Iterator[tuple[SymptomMatch, tuple[Evidence, ...]]]:
    """Yield why modules cannot be imported, and where that was foretold otherwise."""
    for proof in smoke.imports:
        if proof.measured is Measured.FAILED:
            for match in matcher.match(proof.message)[:1]:
                yield match, (_of_import(proof),)
    said: dict[str, list[ImportProof]] = {}
    for how, proof in import_disagreements(smoke):
        said.setdefault(how, []).append(proof)
    for how, proofs in said.items():
        names = ", ".join(f"{each.distribution} {each.version}" for each in proofs)
        for match in matcher.match(f"{how}: {printable(names, 200)}")[:1]:
            yield match, tuple(map(_of_import, proofs))


def _of_import(proof: ImportProof) -> Evidence:
    return Evidence(f"import {proof.step or proof.module}", proof.detail, _SOURCE)


def _by_message(cells: list[SmokeCell]) -> dict[str, list[SmokeCell]]:
    """Group cells by what they raised: matching costs time, and one fault often hits many."""
    found: dict[str, list[SmokeCell]] = {}
    for cell in cells:
        found.setdefault(cell.message, []).append(cell)
    return found


def _evidence(cells: list[SmokeCell]) -> tuple[Evidence, ...]:
    return tuple(Evidence(f"smoke {_name(cell)}", cell.detail, _SOURCE) for cell in cells)


def _names(cells: list[SmokeCell]) -> str:
    named = ", ".join(map(_name, cells[:_CELLS_NAMED]))
    more = len(cells) - _CELLS_NAMED
    return printable(f"{named} and {more} more" if more > 0 else named, 200)


def _name(cell: SmokeCell) -> str:
    return f"{cell.device} {cell.key}"
