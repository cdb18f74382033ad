"""What counts against a state, and what is only said."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.judging.diagnose import foresee
from fadoctor.model.fact import Unknown
from fadoctor.model.finding import Outcome
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict
from fadoctor.repair.plan.compiled import AFTER
from fadoctor.repair.plan.shortfall import UNDECIDED, UNPROVED, best_answers
from tests.states.starts import start
from tests.unit.repair.plan.problems import session

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15")


@pytest.mark.parametrize(
    ("source", "expected"), [("$site/torch/lib/libc10.so", UNPROVED), (AFTER, UNDECIDED)]
)
def test_what_nobody_could_read_of_what_is_there_is_only_said(
    source: str, expected: tuple[int, int]
) -> None:
    """torch was swapped for another build, as the C++ ABI of the one that is here was not read."""
    there = start("torch 2.6 with vision and audio", A100)
    facts = {**there.facts, "driver.version": Unknown("nvidia-smi did not answer", source)}
    here = msgspec.structs.replace(there, facts=facts)
    found = foresee(here, session().knowledge)
    [judgement, *_] = [
        each
        for each in found.assessment.judgements
        if each.outcome is Outcome.UNKNOWN and "driver.version" in each.scope.unknown_facts()
    ]
    verdict = Verdict(
        gpu="gpu[0]", backend=Backend.FA2, package_version="2.8.3", dtype=Dtype.BF16,
        predicted=Predicted.UNKNOWN, because=(judgement.rule.id,), measured=Measured.NOT_RUN,
        detail="",
    )  # fmt: skip
    best = best_answers([verdict], found.assessment.judgements, here)
    assert best["gpu[0]", Backend.FA2] == expected


def test_a_remembered_judgement_is_of_the_facts_that_are_there() -> None:
    """A plan differed where another one was made before it: a rule had read the same values."""
    there = start("torch 2.6 with vision and audio", A100)
    of_a_plan, as_read = (
        msgspec.structs.replace(
            there, facts={**there.facts, "driver.version": Unknown("no answer", source)}
        )
        for source in (AFTER, "nvidia-smi")
    )
    remembered = foresee(of_a_plan, session().knowledge).assessment.judgements
    doubted = next(
        each
        for each in remembered
        if each.outcome is Outcome.UNKNOWN and "driver.version" in each.scope.unknown_facts()
    )
    verdict = Verdict(
        gpu="gpu[0]", backend=Backend.FA2, package_version="2.8.3", dtype=Dtype.BF16,
        predicted=Predicted.UNKNOWN, because=(doubted.rule.id,), measured=Measured.NOT_RUN,
        detail="",
    )  # fmt: skip
    cell = "gpu[0]", Backend.FA2
    assert best_answers([verdict], remembered, of_a_plan)[cell] == UNDECIDED
    assert best_answers([verdict], remembered, as_read)[cell] == UNPROVED
