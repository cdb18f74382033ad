"""What counts against a state, and what is only said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.diagnose import foresee
from fadoctor.model.fact import Unknown
from fadoctor.model.finding import Outcome
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict
from fadoctor.repair.plan.search.shortfall import UNDECIDED, UNPROVED, best_answers
from fadoctor.repair.plan.states.compiled import AFTER
from tests.states.starts import start
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15")


CELL = "gpu[0]", Backend.FA2


def with_driver_of(source: str) -> Environment:
    """Return a machine whose driver nobody could read, as a source tells it."""
    there = start("torch 2.6 with vision and audio", A100)
    facts = {**there.facts, "driver.version": Unknown("nvidia-smi did not answer", source)}
    return msgspec.structs.replace(there, facts=facts)


def doubted(judgements: Iterable[Judgement]) -> Verdict:
    """Return a verdict that is open because of the driver."""
    judgement = next(
        each
        for each in judgements
        if each.outcome is Outcome.UNKNOWN and "driver.version" in each.scope.unknown_facts()
    )
    return Verdict(
        gpu=CELL[0], backend=CELL[1], package_version="2.8.3", dtype=Dtype.BF16,
        predicted=Predicted.UNKNOWN, because=(judgement.rule.id,), measured=Measured.NOT_RUN,
        detail="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "expected"), [("$site/torch/lib/libc10.so", UNPROVED), (AFTER, UNDECIDED)]
)
def test_what_nobody_could_read_of_what_is_there_is_only_said(
    source: str, expected: tuple[int, int]
) -> None:
    """torch was swapped for another build, as the C++ ABI of the one that is here was not read."""
    here = with_driver_of(source)
    judgements = foresee(here, session().knowledge).assessment.judgements
    assert best_answers([doubted(judgements)], judgements, here)[CELL] == expected


def test_a_remembered_judgement_is_of_the_facts_that_are_there() -> None:
    """A plan differed where another one was made before it: a rule had read the same values."""
    of_a_plan, as_read = map(with_driver_of, (AFTER, "nvidia-smi"))
    remembered = foresee(of_a_plan, session().knowledge).assessment.judgements
    verdict = doubted(remembered)
    assert best_answers([verdict], remembered, of_a_plan)[CELL] == UNDECIDED
    assert best_answers([verdict], remembered, as_read)[CELL] == UNPROVED
