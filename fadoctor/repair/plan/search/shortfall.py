"""Count what a state leaves undone: errors, missed wishes, lost cells."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.model.fact import Unknown, fact_text
from fadoctor.model.finding import Outcome
from fadoctor.model.verdict import Predicted
from fadoctor.repair.plan.choices.released import accepts, is_there
from fadoctor.repair.plan.search.wishes import HALF
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.knowledge.matrix.kernels import Gpu
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Severity
    from fadoctor.model.verdict import Backend, Dtype, Verdict
    from fadoctor.repair.plan.search.wishes import Wishes

Answer = tuple[int, int]
"""How far a wish is missed, and whether it is only unproved. Less is better."""

WORKS: Answer = (0, 0)
UNPROVED: Answer = (0, 1)
UNDECIDED: Answer = (1, 0)
FAILS: Answer = (2, 0)

_ABOUT_CODE = frozenset(
    ("code", "runs_on", "no_code_for", "jit_for", "jit_isa", "arch_list", "sm", "at_least", "ptx")
)
"""Last words of facts and cells that say for which GPUs a file has code."""


def failures(
    judgements: Iterable[Judgement], severity: Severity, is_excused: Callable[[Judgement], bool]
) -> int:
    """Return how many rules of a severity fail, and are not excused."""
    return sum(
        each.outcome is Outcome.FAIL and each.severity is severity and not is_excused(each)
        for each in judgements
    )


def count_missed(
    wishes: Wishes,
    decided: Container[str],
    environment: Environment,
    best: Mapping[tuple[str, Backend], Answer],
    backends: Container[Backend],
) -> Answer:
    """Return what is missing of the wishes, as far as packages and backends are decided.

    `best`: the best answers, as below.
    """
    gone = sum(
        FAILS[0]
        for package in missing_packages(wishes, environment, best, backends)
        if package in decided
    )
    found = [
        answer_for(wishes, cell, best, backends) for cell in wishes.cells if cell[1] in backends
    ]
    return gone + sum(missed for missed, _ in found), sum(unproved for _, unproved in found)


def answer_for(
    wishes: Wishes,
    cell: tuple[Gpu, Backend],
    best: Mapping[tuple[str, Backend], Answer],
    backends: Container[Backend] | None = None,
) -> Answer:
    """Return the answer for a wished cell: the better one where another backend may meet it.

    `backends`: those that are decided, None for all; one that is not may still work.
    """
    gpu, backend = cell
    other = wishes.instead.get(backend)
    if other is None:
        return own_answer(wishes, cell, best)
    if backends is not None and other not in backends:
        return WORKS
    return min(own_answer(wishes, cell, best), own_answer(wishes, (gpu, other), best))


def own_answer(
    wishes: Wishes, cell: tuple[Gpu, Backend], best: Mapping[tuple[str, Backend], Answer]
) -> Answer:
    """Return the answer for a cell itself, whatever else may meet the wish."""
    gpu, backend = cell
    found = best.get((gpu.label, backend), FAILS)
    return UNPROVED if found == UNDECIDED and backend in wishes.hoped else found


def missing_packages(
    wishes: Wishes,
    environment: Environment,
    best: Mapping[tuple[str, Backend], Answer],
    backends: Container[Backend] | None = None,
) -> list[str]:
    """Return the wished packages that are not there, and that nothing else stands in for.

    What stands in meets each wish that was about the package.
    """
    absent = [
        package
        for package in wishes.packages
        if not is_there(environment, package)
        or not accepts(
            wishes.pinned.get(package, ""), fact_text(environment.fact(f"{package}.version"), "")
        )
    ]
    return [
        package
        for package in absent
        if not _is_replaced(wishes, wishes.brings.get(package, ()), best, backends)
    ]


def _is_replaced(
    wishes: Wishes,
    brought: Container[Backend],
    best: Mapping[tuple[str, Backend], Answer],
    backends: Container[Backend] | None,
) -> bool:
    cells = [cell for cell in wishes.cells if cell[1] in brought]
    return bool(cells) and all(
        cell[1] in wishes.instead and answer_for(wishes, cell, best, backends) < FAILS
        for cell in cells
    )


def best_answers(
    verdicts: Iterable[Verdict], judgements: Iterable[Judgement], environment: Environment
) -> Mapping[tuple[str, Backend], Answer]:
    """Return for each GPU and backend the answer for its better half-precision dtype."""
    found: dict[tuple[str, Backend], Answer] = {}
    half = [verdict for verdict in verdicts if verdict.dtype in HALF]
    doubts = (v.because for v in half if v.predicted is Predicted.UNKNOWN)
    unproved = _unproved(frozenset().union(*doubts), judgements, environment)
    for verdict in half:
        match verdict.predicted:
            case Predicted.WORKS:
                answer = WORKS
            case Predicted.FAILS:
                answer = FAILS
            case Predicted.UNKNOWN:
                because = set(verdict.because)
                answer = UNPROVED if because and because <= unproved else UNDECIDED
        cell = (verdict.gpu, verdict.backend)
        found[cell] = min(answer, found.get(cell, FAILS))
    return found


def _unproved(
    asked: frozenset[str], judgements: Iterable[Judgement], environment: Environment
) -> frozenset[str]:
    """Return the ids, of those asked for, of rules whose doubt counts against no plan: it is said.

    Nobody has read for which GPUs a file has code, or nobody could read a fact of what is there
    already, which another release would only hide. Where a fact is from, the environment says: a
    judgement may be remembered from another one, in which the rule read the same values.
    """
    facts = environment.facts
    undecided: dict[str, bool] = {}
    for each in judgements if asked else ():
        is_asked = each.outcome is Outcome.UNKNOWN and each.rule.id in asked
        if is_asked and undecided.get(each.rule.id, True):
            undecided[each.rule.id] = _is_forgiven(each, facts)
    return frozenset(rule_id for rule_id, forgiven in undecided.items() if forgiven)


def _is_forgiven(each: Judgement, facts: Mapping[str, Fact]) -> bool:
    found = each.scope.doubts
    return bool(found) and (
        all(_is_about_code(name) or _is_as_read(facts.get(name)) for name in found)
        or not any(
            facts.get(name, fact).source.startswith(AFTER) for name, fact in each.scope.read.items()
        )
    )


def _is_as_read(fact: Fact | None) -> bool:
    """Return whether it is a fact of what is there, rather than of what comes, or a table's."""
    return isinstance(fact, Unknown) and not fact.source.startswith(AFTER)


@lru_cache(maxsize=4096)
def _is_about_code(name: str) -> bool:
    """Return it of names such as ``flash_attn.binary.no_code_for`` and ``torch-builds.sm (b)``."""
    return name.partition(" ")[0].rpartition(".")[2] in _ABOUT_CODE


def count_lost(
    worked: Iterable[tuple[str, Backend, Dtype]],
    verdicts: Iterable[Verdict],
    backends: Container[Backend],
) -> int:
    """Return how many cells worked before and do not any more."""
    working = {(v.gpu, v.backend, v.dtype) for v in verdicts if v.predicted is Predicted.WORKS}
    return sum(cell not in working for cell in worked if cell[1] in backends)
