"""The first sentence: what was measured counts, and a GPU that is too old is said to be so."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fadoctor.judging.diagnose import diagnose
from fadoctor.model.verdict import (
    Backend,
    Dtype,
    Measured,
    Predicted,
    Recommendation,
    Verdict,
)
from fadoctor.report.answer import State, answers_of, state_of
from tests.smoke.smoke_recordings import complete
from tests.unit.judging.engine.builders import ABSENT, environment, shipped
from tests.unit.report.test_markdown import A_V100, report

CELL = Verdict(
    "gpu[0] A", Backend.FA2, "2.8.3", Dtype.BF16, Predicted.WORKS, (), Measured.NOT_RUN, ""
)


def said(*cells: Verdict) -> list[tuple[str, str]]:
    document = structs.replace(report(), verdicts=cells, findings=())
    return [(answer.state.value, answer.sentence) for answer in answers_of(document)]


def cell(**changes: Any) -> Verdict:
    return structs.replace(CELL, **changes)


def test_a_gpu_that_is_too_old() -> None:
    (answer,) = answers_of(report())
    assert answer.sentence == "Tesla V100-SXM2-16GB: FlashAttention-2 cannot run on this GPU."


@pytest.mark.parametrize(
    ("cells", "answer"),
    [
        ([CELL], ("works", "A: FlashAttention-2 works in bf16.")),
        (
            [CELL, cell(dtype=Dtype.FP16)],
            ("works", "A: FlashAttention-2 works in bf16 and fp16."),
        ),
        (
            [cell(predicted=Predicted.FAILS)],
            ("fails", "A: FlashAttention-2 does not work here."),
        ),
        (
            [cell(predicted=Predicted.FAILS), cell(dtype=Dtype.FP16, predicted=Predicted.UNKNOWN)],
            ("unknown", "A: FlashAttention-2 could not be decided here."),
        ),
        (
            [cell(backend=Backend.SDPA_FLASH)],
            ("works", "A: FlashAttention is not installed; attention works without it."),
        ),
        (
            [cell(backend=Backend.SDPA_FLASH, predicted=Predicted.FAILS)],
            ("fails", "A: no attention works here."),
        ),
        (
            [cell(backend=Backend.SDPA_FLASH), cell(backend=Backend.HUB_FA2)],
            ("works", "A: FlashAttention-2 from the Hub works in bf16."),
        ),
        (
            [
                cell(backend=Backend.SDPA_FLASH),
                cell(backend=Backend.HUB_FA2, predicted=Predicted.UNKNOWN),
            ],
            ("works", "A: FlashAttention is not installed; attention works without it."),
        ),
        (  # it was "FlashAttention is not installed; attention works without it", broken or not
            [cell(backend=Backend.SDPA_FLASH), cell(backend=Backend.VLLM_FA)],
            ("works", "A: vLLM's FlashAttention works in bf16."),
        ),
        (
            [
                cell(backend=Backend.SDPA_FLASH),
                cell(backend=Backend.VLLM_FA, predicted=Predicted.FAILS),
            ],
            ("fails", "A: vLLM's FlashAttention does not work here."),
        ),
        (
            [CELL, cell(backend=Backend.VLLM_FA, predicted=Predicted.FAILS)],
            ("works", "A: FlashAttention-2 works in bf16."),
        ),
    ],
)
def test_one_sentence_for_a_gpu(cells: list[Verdict], answer: tuple[str, str]) -> None:
    assert said(*cells) == [answer]


def test_gpus_that_are_alike_are_one_and_the_worst_comes_first() -> None:
    bad = cell(gpu="gpu[2] B", predicted=Predicted.FAILS)
    found = said(CELL, cell(gpu="gpu[1] A"), bad)
    assert [state for state, _ in found] == ["fails", "works"]


@pytest.mark.parametrize("predicted", Predicted)
@pytest.mark.parametrize("measured", Measured)
def test_what_was_measured_counts_before_what_was_predicted(
    predicted: Predicted, measured: Measured
) -> None:
    state = state_of(cell(predicted=predicted, measured=measured))
    by_run = {Measured.PASSED: State.WORKS, Measured.FAILED: State.FAILS}
    assert state is by_run.get(measured, State[predicted.name])


@pytest.mark.parametrize(
    ("facts", "part"),
    [
        ({"torch.version": ABSENT}, "torch is not installed here"),
        ({"gpu.count": 0}, "There is no GPU here."),
    ],
)
def test_without_a_table_it_says_why(facts: dict[str, Any], part: str) -> None:
    plain = {name: value for name, value in A_V100.items() if not name.startswith("gpu[")}
    (answer,) = answers_of(diagnose(environment(complete({**plain, **facts})), shipped()))
    assert answer.sentence.startswith(part)


def test_a_gpu_that_the_recommendation_leaves_out_gets_no_headline() -> None:
    """A T400 for the display stood above the RTX 4090 that works."""
    document = report()
    advice = Recommendation(Dtype.BF16, Backend.FA2, {}, "")
    cells = (CELL, cell(gpu="gpu[1] T400", predicted=Predicted.FAILS))
    both = structs.replace(document, verdicts=cells, findings=(), recommendation=advice)
    assert [each.sentence for each in answers_of(both)] == ["A: FlashAttention-2 works in bf16."]
    neither = structs.replace(both, verdicts=cells[1:])
    assert [each.state for each in answers_of(neither)] == [State.FAILS]
