"""What the deaths of workers mean, and when no other is started."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.smoke import CellFailure
from fadoctor.processes.command import Ending, Result
from tests.smoke.smoke_recordings import (
    FAILED,
    GPU,
    HEAD,
    HEALTHY,
    NOT_RUN,
    PASSED,
    SEGFAULT,
    START,
    RecordedWorkers,
    done,
    ended,
    imported,
    line,
    measured,
    run_smoke,
    started,
)

if TYPE_CHECKING:
    from fadoctor.model.environment import Target


def test_crash_costs_its_cell_and_a_new_worker_takes_the_rest(target: Target) -> None:
    first = [*HEAD, started("bf16"), done("bf16"), started("fp16")]
    second = [*HEAD, started("fp32"), done("fp32"), line("end")]
    workers = RecordedWorkers((first, SEGFAULT), (second, ended()))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [PASSED, FAILED, PASSED]
    assert run.cells[1].detail == "forward: the worker died of SIGSEGV"
    assert run.problem == "sdpa-flash fp16 causal: forward: the worker died of SIGSEGV"
    assert workers.dtypes(1) == ["fp32"]


def test_second_worker_gets_what_is_left_of_the_time(target: Target) -> None:
    first = ([*HEAD, started("bf16")], ended(Ending.SIGNALLED, signal.SIGABRT, elapsed_s=7.0))
    workers = RecordedWorkers(first, ([*HEAD, line("end")], ended()))
    run_smoke(target, {}, workers, total_s=10)
    assert [command.timeout_s for command in workers.commands] == [10, 3]


def test_no_more_workers_than_cells(target: Target) -> None:
    recordings = [([*HEAD, started(dtype)], SEGFAULT) for dtype in ("bf16", "fp16", "fp32")]
    workers = RecordedWorkers(*recordings)
    run = run_smoke(target, {}, workers)
    assert measured(run) == [FAILED] * 3
    assert len(workers.commands) == 3


def test_death_between_cells_without_progress_is_the_end(target: Target) -> None:
    workers = RecordedWorkers((HEAD, SEGFAULT))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [NOT_RUN] * 3
    assert run.problem == "the worker died of SIGSEGV before it ran a cell"


def test_repeated_cell_does_not_restart_for_ever(target: Target) -> None:
    same = ([*HEAD, started("bf16")], SEGFAULT)
    workers = RecordedWorkers(same, same)
    assert measured(run_smoke(target, {}, workers)) == [FAILED, NOT_RUN, NOT_RUN]
    assert len(workers.commands) == 2


def test_time_out_fails_the_running_cell_and_leaves_the_rest(target: Target) -> None:
    hanging = ([*HEAD, started("bf16"), done("bf16"), started("fp16")],)
    workers = RecordedWorkers((*hanging, ended(Ending.TIMED_OUT, elapsed_s=120.1)))
    run = run_smoke(target, {}, workers, total_s=120)
    assert measured(run) == [PASSED, FAILED, NOT_RUN]
    assert "gave no answer within 120 s" in run.cells[1].detail
    assert "time limit of 120 s was used up" in run.problem


def test_worker_that_cannot_be_ended_is_the_last(target: Target) -> None:
    lines = [START, imported(GPU), started("bf16")]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended(Ending.STUCK))))
    assert measured(run) == [FAILED, NOT_RUN, NOT_RUN]
    assert run.cells[0].failure is CellFailure.STUCK
    assert "stuck in the kernel or the driver" in run.problem


def test_second_worker_that_cannot_import_leaves_the_rest_not_run(target: Target) -> None:
    first = ([*HEAD, started("bf16")], SEGFAULT)
    workers = RecordedWorkers(first, ([START], ended(Ending.SIGNALLED, signal.SIGKILL)))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [FAILED, NOT_RUN, NOT_RUN]
    assert "SIGKILL (most often because memory ran out)" in run.problem


def test_time_limit_of_a_cell_is_told_as_such(target: Target) -> None:
    hanging = [*HEAD, started("bf16"), done("bf16"), started("fp16", "backward")]
    last = [*HEAD, started("fp32"), done("fp32"), line("end")]
    workers = RecordedWorkers((hanging, ended(Ending.TIMED_OUT, elapsed_s=4.0)), (last, ended()))
    run = run_smoke(target, {}, workers, timeout_s=3)
    assert measured(run) == [PASSED, FAILED, PASSED]
    assert run.cells[1].detail == "backward: the worker gave no answer within 3 s and was stopped"


def test_death_while_importing_takes_all_cells_of_its_backend(target: Target) -> None:
    workers = RecordedWorkers(([*HEAD, started("bf16", "import")], SEGFAULT))
    run = run_smoke(target, {}, workers)
    assert [cell.detail for cell in run.cells] == ["import: the worker died of SIGSEGV"] * 3


def test_ctrl_c_keeps_what_is_known(target: Target) -> None:
    lines = [*HEAD, started("bf16"), done("bf16"), started("fp16")]
    workers = RecordedWorkers((lines, KeyboardInterrupt()))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [PASSED, NOT_RUN, NOT_RUN]
    assert run.interrupted
    assert run.problem == run.cells[1].detail == "interrupted"


def proved(dtype: str) -> str:
    return done(dtype).replace('"event": "done"', '"event": "proved"')


def test_time_out_while_timing_takes_nothing_from_a_proved_cell(target: Target) -> None:
    slow = [*HEAD, started("bf16"), started("bf16", "timing"), proved("bf16")]
    last = [*HEAD, *HEALTHY[4:]]
    workers = RecordedWorkers((slow, ended(Ending.TIMED_OUT, elapsed_s=4.0)), (last, ended()))
    run = run_smoke(target, {}, workers, timeout_s=3)
    assert measured(run) == [PASSED] * 3
    assert run.cells[0].notes == (
        "not timed: the worker gave no answer within 3 s and was stopped",
    )
    assert run.cells[0].errors["dq"] == 3e-7


@pytest.mark.parametrize("result", [SEGFAULT, ended(code=1), ended(Ending.STUCK)])
def test_worker_that_dies_while_timing_leaves_a_proved_cell_passed(
    target: Target, result: Result
) -> None:
    first = [*HEAD, started("bf16"), started("bf16", "timing"), proved("bf16")]
    workers = RecordedWorkers((first, result), ([*HEAD, *HEALTHY[4:]], ended()))
    run = run_smoke(target, {}, workers)
    assert run.cells[0].measured is PASSED
    assert run.cells[0].notes[0].startswith("not timed: the worker ")
    assert "not timed" in run.problem


def test_interrupted_while_timing_the_proved_cell_counts(target: Target) -> None:
    first = [*HEAD, started("bf16"), started("bf16", "timing"), proved("bf16")]
    run = run_smoke(target, {}, RecordedWorkers((first, KeyboardInterrupt())))
    assert measured(run) == [PASSED, NOT_RUN, NOT_RUN]


@pytest.mark.parametrize(
    ("lines", "result", "unable"),
    [
        (HEALTHY, ended(), False),
        ([START], ended(Ending.TIMED_OUT), True),
        (HEAD, SEGFAULT, True),
        ([], ended(code=1), True),
        ([*HEAD, line("end")], ended(), True),
        ([*HEAD, started("bf16"), done("bf16"), started("fp16")], ended(Ending.STUCK), True),
    ],
    ids=["all run", "no import", "before a cell", "no interpreter", "left out", "stuck"],
)
def test_cells_without_a_result_are_unknown(
    target: Target,
    lines: list[str],
    result: Result,
    unable: bool,  # noqa: FBT001
) -> None:
    assert run_smoke(target, {}, RecordedWorkers((lines, result))).unable is unable
