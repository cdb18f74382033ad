"""What was measured joins what was predicted: each cell in its own row, a CPU in none of a GPU."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fadoctor.judging.verdicts.measurements import (
    ANY_DEVICE,
    NO_GPU_TESTED,
    disagreements,
    doomed,
    has_failure,
    join_measurements,
    notes,
    with_predictions,
)
from fadoctor.knowledge.matrix.kernels import Gpu
from fadoctor.model.fact import Known
from fadoctor.model.smoke import NO_DEVICE, SmokeCell, SmokeRun
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict
from tests.unit.judging.engine.builders import UNREAD

PASSED, FAILED, REFUSED, NOT_RUN = (
    Measured.PASSED,
    Measured.FAILED,
    Measured.REFUSED,
    Measured.NOT_RUN,
)

GPUS = [
    Gpu("gpu[0]", "gpu[0] V100", Known("7.0", "test")),
    Gpu("gpu[2]", "gpu[2] A100", Known("8.0", "test")),
]


def cell(device: str, measured: Measured = PASSED, **keys: Any) -> SmokeCell:
    plain = {
        "device_name": "a name",
        "compute_capability": "",
        "case": "causal",
        "detail": "seen",
    }
    return SmokeCell(
        **{"backend": Backend.SDPA_FLASH, "dtype": Dtype.FP16, **plain, **keys},
        device=device,
        measured=measured,
    )


def predicted(
    gpu: Gpu, backend: Backend = Backend.SDPA_FLASH, dtype: Dtype = Dtype.FP16
) -> Verdict:
    return Verdict(gpu.label, backend, "2.6", dtype, Predicted.WORKS, (), NOT_RUN, "expected")


TABLE = (predicted(GPUS[0]), predicted(GPUS[0], dtype=Dtype.BF16), predicted(GPUS[1]))


def joined(*cells: SmokeCell) -> tuple[Verdict, ...]:
    return join_measurements(TABLE, SmokeRun(cells), GPUS, lambda _: "2.6.0")


def test_a_cell_sets_its_own_row_and_no_other() -> None:
    found = joined(cell("cuda:1", PASSED, detail="error 1e-4"))
    assert [verdict.measured for verdict in found] == [NOT_RUN, NOT_RUN, PASSED]
    assert [verdict.detail for verdict in found] == ["expected", "expected", "error 1e-4"]
    assert found[2].predicted is Predicted.WORKS
    assert found[2].package_version == "2.6"


@pytest.mark.parametrize("measured", [PASSED, FAILED, REFUSED])
def test_a_cpu_never_sets_the_row_of_a_gpu(measured: Measured) -> None:
    found = joined(cell("cpu", measured, detail="on the CPU, not on a GPU: fine"))
    assert found[:3] == TABLE
    [row] = found[3:]
    assert (row.gpu, row.predicted, row.measured) == ("cpu", Predicted.UNKNOWN, measured)
    assert (row.detail, row.package_version) == ("on the CPU, not on a GPU: fine", "2.6.0")


@pytest.mark.parametrize("device", ["cpu:0", "xpu:0", "mps:0"])
def test_only_cuda_devices_are_gpus_of_the_table(device: str) -> None:
    assert joined(cell(device))[:3] == TABLE


def test_a_device_with_an_odd_number_does_not_end_the_run() -> None:
    assert joined(cell("cuda:\u00b2"))[:3] == TABLE


@pytest.mark.parametrize("device", ["cuda:2", "cuda:99999999999", "cuda", "cuda:", "cuda:-1", "x"])
def test_a_device_that_no_gpu_stands_for_has_a_row_of_its_own(device: str) -> None:
    found = joined(cell(device))
    assert found[:3] == TABLE
    assert [row.gpu for row in found[3:]] == [f"{device} a name"]


@pytest.mark.parametrize(
    ("device", "capability", "measured"),
    [
        ("cuda:0", "8.0", [NOT_RUN, NOT_RUN, PASSED]),  # CUDA_VISIBLE_DEVICES=2,0
        ("cuda:1", "7.0", [PASSED, NOT_RUN, NOT_RUN]),
        ("cuda:0", "9.0", [NOT_RUN, NOT_RUN, NOT_RUN]),  # none of those that were read
    ],
)
def test_a_measurement_goes_to_a_gpu_of_its_capability(
    device: str, capability: str, measured: list[Measured]
) -> None:
    found = joined(cell(device, compute_capability=capability))
    assert [verdict.measured for verdict in found[:3]] == measured


def test_the_capability_fits_where_the_order_is_the_same() -> None:
    found = joined(cell("cuda:1", compute_capability="8.0"))
    assert [verdict.measured for verdict in found] == [NOT_RUN, NOT_RUN, PASSED]
    unread = [Gpu("gpu[0]", "gpu[0] V100", UNREAD)]
    run = SmokeRun((cell("cuda:0", compute_capability="7.0"),))
    assert join_measurements(TABLE[:1], run, unread, str)[0].measured is PASSED


def test_a_second_device_does_not_take_the_row_of_the_only_gpu() -> None:
    run = SmokeRun((cell("cuda:0", PASSED), cell("cuda:1", FAILED)))
    found = join_measurements(TABLE[:1], run, GPUS[:1], str)
    assert [(row.gpu, row.measured) for row in found] == [
        ("gpu[0] V100", PASSED),
        ("cuda:1 a name", FAILED),
    ]


def test_what_was_not_run_changes_nothing() -> None:
    assert joined(cell("cuda:0", NOT_RUN), cell("cpu", NOT_RUN), cell(NO_DEVICE, NOT_RUN)) == TABLE


def test_a_failure_before_any_device_was_named_is_shown_and_counts() -> None:
    found = joined(cell(NO_DEVICE, FAILED, detail="importing torch failed"))
    assert found[:3] == TABLE
    assert [(row.gpu, row.measured) for row in found[3:]] == [(ANY_DEVICE, FAILED)]
    assert has_failure(found)


def test_a_backend_that_was_not_predicted_has_a_row_of_its_own() -> None:
    found = joined(cell("cuda:0", backend=Backend.FLEX))
    assert (found[3].gpu, found[3].backend) == ("gpu[0] V100", Backend.FLEX)
    assert found[3].predicted is Predicted.UNKNOWN


def test_a_cell_without_a_detail_keeps_that_of_the_prediction() -> None:
    assert joined(cell("cuda:0", REFUSED, detail=""))[0].detail == "expected"


@pytest.mark.parametrize(
    ("measured", "failure"), [(FAILED, True), (REFUSED, False), (PASSED, False), (NOT_RUN, False)]
)
def test_only_failed_is_a_failure(measured: Measured, failure: bool) -> None:  # noqa: FBT001
    assert has_failure(joined(cell("cuda:0", measured))) is failure
    assert has_failure(joined(cell("cpu", measured))) is failure


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (None, ()),
        (SmokeRun((), ""), (NO_GPU_TESTED,)),
        (SmokeRun((cell("cpu"),), ""), (NO_GPU_TESTED,)),
        (SmokeRun((cell("cuda:0", NOT_RUN),), "killed"), ("smoke: killed", NO_GPU_TESTED)),
        (SmokeRun((cell(NO_DEVICE, FAILED),), "no torch"), ("smoke: no torch", NO_GPU_TESTED)),
        (SmokeRun((cell("cuda:0"),), ""), ()),
        (SmokeRun((cell("cuda:0", FAILED), cell("cpu")), "one died"), ("smoke: one died",)),
    ],
)
def test_notes(run: SmokeRun | None, expected: tuple[str, ...]) -> None:
    assert notes(run) == expected


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ([PASSED, FAILED, REFUSED], FAILED),
        ([REFUSED, PASSED, NOT_RUN], PASSED),
        ([REFUSED, NOT_RUN], REFUSED),
    ],
)
def test_cases_of_one_row_count_by_weight(cases: list[Measured], expected: Measured) -> None:
    found = joined(*(cell("cuda:1", each, case=str(index)) for index, each in enumerate(cases)))
    assert found[2].measured is expected


@pytest.mark.parametrize(
    ("cases", "measured", "detail"),
    [
        ({"causal": PASSED, "hdim256": FAILED}, PASSED, "seen; fails with a head dimension of 256"),
        ({"causal": FAILED, "hdim256": PASSED}, FAILED, "seen"),
        ({"hdim256": FAILED}, FAILED, "seen"),
        ({"gqa": FAILED, "causal": PASSED}, FAILED, "seen"),
        ({"causal": REFUSED, "masked": FAILED}, REFUSED, "seen; fails with masks"),
    ],
)
def test_an_unusual_shape_that_fails_is_named_beside_what_works(
    cases: dict[str, Measured], measured: Measured, detail: str
) -> None:
    """A build for one head dimension, on an H200: "FlashAttention-2 does not work here"."""
    found = joined(*(cell("cuda:1", each, case=case) for case, each in cases.items()))
    assert (found[2].measured, found[2].detail) == (measured, detail)


def test_how_a_cell_was_run_is_part_of_the_detail() -> None:
    found = joined(cell("cpu", detail="fine", notes=("mended",)))
    assert found[3].detail == "fine; mended"


def test_a_trap_says_nothing_of_its_backend() -> None:
    assert joined(cell("cuda:1", REFUSED, trap=True)) == TABLE
    run = SmokeRun((cell("cuda:1", REFUSED, trap=True),))
    assert with_predictions(run, TABLE, GPUS) == run


def test_each_cell_carries_its_prediction() -> None:
    run = with_predictions(SmokeRun((cell("cuda:1"), cell("cpu"))), TABLE, GPUS)
    assert [each.predicted for each in run.cells] == [Predicted.WORKS, Predicted.UNKNOWN]


def test_a_refusal_of_what_was_predicted_to_work_has_failed() -> None:
    run = with_predictions(SmokeRun((cell("cuda:1", REFUSED), cell("cpu", REFUSED))), TABLE, GPUS)
    assert [each.measured for each in run.cells] == [FAILED, REFUSED]
    assert list(disagreements(run)) == ["predicted works, measured failed"]


def test_disagreements_are_those_of_sure_predictions_alone() -> None:
    fails = Predicted.FAILS
    cells = (
        cell("cuda:0", PASSED, predicted=fails),
        cell("cuda:0", FAILED, predicted=fails),
        cell("cuda:0", REFUSED, predicted=fails),
        cell("cuda:1", PASSED, predicted=Predicted.WORKS),
        cell("cpu", FAILED),
    )
    assert disagreements(SmokeRun(cells)) == {"predicted fails, measured passed": [cells[0]]}


def test_doomed_is_what_fails_on_every_gpu() -> None:
    fails = [msgspec.structs.replace(row, predicted=Predicted.FAILS) for row in TABLE]
    because = msgspec.structs.replace(fails[0], because=("gpu-too-old-fa2",))
    assert doomed((because, fails[2])) == {
        (Backend.SDPA_FLASH, Dtype.FP16): (
            "predicted to fail, so not run without --thorough: gpu-too-old-fa2 (expected)"
        )
    }
    assert doomed((fails[0], TABLE[2])) == {}


@pytest.mark.parametrize("case", ["hdim256", "gqa", "varlen"])
def test_a_refusal_of_a_shape_near_a_limit_stays_one(case: str) -> None:
    """The table speaks of a backend and a dtype: head dimension 256 has limits of its own."""
    run = SmokeRun((cell("cuda:0", REFUSED, case=case, rule_id="headdim-limit"),))
    [judged] = with_predictions(run, TABLE, GPUS).cells
    assert (judged.measured, judged.predicted) == (REFUSED, Predicted.WORKS)
    assert disagreements(with_predictions(run, TABLE, GPUS)) == {}


def test_gpus_are_told_apart_by_their_names_where_cuda_counts_otherwise() -> None:
    """The faster one stands second on the bus, and first in CUDA's own order."""
    gpus = [
        Gpu("gpu[0]", "gpu[0] NVIDIA GeForce RTX 3090", Known("8.6", "test")),
        Gpu("gpu[1]", "gpu[1] NVIDIA RTX A6000", Known("8.6", "test")),
    ]
    table = tuple(predicted(gpu) for gpu in gpus)
    cells = (
        cell("cuda:0", PASSED, device_name="NVIDIA RTX A6000", compute_capability="8.6"),
        cell("cuda:1", FAILED, device_name="NVIDIA GeForce RTX 3090", compute_capability="8.6"),
    )
    rows = join_measurements(table, SmokeRun(cells), gpus, lambda _: "2.6")
    assert [row.measured for row in rows] == [FAILED, PASSED]


def test_remarks_of_a_run_are_notes() -> None:
    run = SmokeRun((cell("cuda:0"),), remarks=("CUDA counts the GPUs the fastest first",))
    assert notes(run) == ("smoke: CUDA counts the GPUs the fastest first",)
