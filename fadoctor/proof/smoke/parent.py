"""Run attention in the target, by workers under its own interpreter, and say what was measured.

One worker runs all cells of a device, since importing torch takes most of the time. When it dies,
the cell that was running has failed and a new worker takes the rest: each worker settles at least
one cell, or is the last. Several GPUs have workers at the same time.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.smoke import SmokeRun
from fadoctor.processes.command import Command, Result, child_environment
from fadoctor.processes.ending import RUNNING
from fadoctor.proof.smoke.choice import AUTO
from fadoctor.proof.smoke.judge import without_origin
from fadoctor.proof.smoke.progress import Progress
from fadoctor.proof.smoke.worker import IMPORT_S, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

    from fadoctor.model.environment import Target
    from fadoctor.proof.smoke.choice import CellChoice
    from fadoctor.proof.smoke.judge import CellJudge
    from fadoctor.proof.smoke.worker import Tell


TF32_SWITCHES = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")
"""Variables that make float32 products less exact, whatever a program says: workers get none."""


def run_smoke(  # noqa: PLR0913 -- who is told is no part of what is run
    target: Target,
    environ: Mapping[str, str],
    run: Callable[[Command], Result],
    choice: CellChoice,
    judge: CellJudge,
    *,
    tell: Tell | None = None,
) -> SmokeRun:
    """Run every chosen cell in the target; never raises for what the target does.

    Starts processes and takes 2 seconds or more. Ctrl-C ends it with what is known by then. `tell`
    is told meanwhile what goes on.
    """
    first = Progress(choice, judge, choice.wanted.device)
    hindrance = hindrance_of(target)
    if hindrance or target.python is None:
        first.problems.append(hindrance)
        return _summarise([first])
    env = child_environment(environ, **dict.fromkeys(TF32_SWITCHES), **_of_hub(choice))
    try:
        with tempfile.TemporaryDirectory(prefix="fadoctor-", ignore_cleanup_errors=True) as folder:
            workers = Workers(target.python, env, run, Path(folder), tell)
            return _summarise(_run_devices(workers, first), environ)
    except OSError as error:
        first.problems.append(f"no temporary folder for the results: {error.strerror or error}")
        return _summarise([first])


def _of_hub(choice: CellChoice) -> dict[str, str]:
    """Return the variables for workers that load kernels of the Hub: they ask it for nothing."""
    if not choice.asked:
        return {}
    offline = {} if choice.wanted.online else {"HF_HUB_OFFLINE": "1"}
    return {"HF_HUB_DISABLE_TELEMETRY": "1", **offline}


def hindrance_of(target: Target) -> str:
    """Return why nothing of a target may be run, empty where it may."""
    if target.python is None:
        return f"{target.label} has no interpreter that could run anything"
    if not target.may_run:
        return (
            f"{target.label} was found, but neither named nor active, so its code was not run; "
            f"to run it, add --python {target.python}"
        )
    return ""


def _run_devices(workers: Workers, first: Progress) -> list[Progress]:
    """Run the first device, which tells what others there are; then those, side by side."""
    _run_cells(workers, first)
    imported = first.imported
    if imported is None or first.interrupted or first.wanted not in (AUTO, "all"):
        return [first]
    others = [name for name in imported.gpus if name != imported.device]
    if not others or imported.device not in imported.gpus:
        return [first]
    rest = [Progress(first.choice, first.judge, name) for name in others]
    with ThreadPoolExecutor(min(len(rest), os.cpu_count() or 1)) as pool:
        try:
            _run_beside(workers, rest, pool)
        except KeyboardInterrupt:  # only this thread hears of it
            for progress in rest:
                progress.interrupted = True
            RUNNING.end_groups()
    return [first, *rest]


def _run_beside(workers: Workers, rest: list[Progress], pool: ThreadPoolExecutor) -> None:
    """Run devices side by side; one after the other where there is no thread for any."""
    tried = [_submitted(workers, progress, pool) for progress in rest]
    futures = [future for future in tried if future is not None]
    for future in futures:  # their threads also take what has none
        future.result()
    for progress in rest if not futures else ():
        _run_cells(workers, progress)


def _submitted(
    workers: Workers, progress: Progress, pool: ThreadPoolExecutor
) -> Future[None] | None:
    try:
        return pool.submit(_run_cells, workers, progress)
    except RuntimeError:  # "can't start new thread"
        return None


def _run_cells(workers: Workers, progress: Progress) -> None:
    """Start workers until every cell of a device is settled."""
    wanted = progress.choice.wanted
    most = max(len(chosen.cells) for chosen in progress.choice.on.values())
    limit_s = wanted.total_s or IMPORT_S + wanted.timeout_s * max(most, 1)
    left_s = limit_s
    go_on = progress.is_worth_starting and not progress.interrupted
    while go_on:
        task = progress.task(left_s)
        report = workers.work(task)
        left_s -= report.result.elapsed_s
        go_on = progress.add(report, task)
        if go_on and left_s <= 0:
            progress.problems.append(f"the time limit of {limit_s:.0f} s was used up")
            go_on = False


def _summarise(devices: list[Progress], environ: Mapping[str, str] | None = None) -> SmokeRun:
    cells = tuple(cell for progress in devices for cell in progress.cells())
    problem = "; ".join(dict.fromkeys(p.problem for p in devices if p.problem))
    imported = devices[0].imported
    # Under ROCm, where torch gives no compute capability, none of this is so.
    gpus = sum(bool(each.compute_capability) for each in imported.devices) if imported else 0
    return SmokeRun(
        cells,
        problem,
        printable(imported.torch_version, 80) if imported else "",
        printable("; ".join(map(without_origin, imported.cuda_warnings)), 600) if imported else "",
        any(progress.interrupted for progress in devices),
        remarks=tuple(_remarks(environ or {}, gpus)),
        unable=any(progress.unable for progress in devices),
    )


def _remarks(environ: Mapping[str, str], gpus: int) -> Iterator[str]:
    """Yield what somebody must know to compare the run with programs of their own."""
    if gpus > 1:
        order = environ.get("CUDA_DEVICE_ORDER", "")
        by_bus = order == "PCI_BUS_ID"
        how = "by bus address, as nvidia-smi does" if by_bus else "the fastest first"
        said = f"CUDA_DEVICE_ORDER={printable(order, 40)}" if order else "no CUDA_DEVICE_ORDER"
        yield f"CUDA counts the GPUs {how} ({said})"
    for name in TF32_SWITCHES if gpus else ():
        value = environ.get(name, "")
        if value not in ("", "0"):
            yield (
                f"{name}={printable(value, 20)}: float32 products of your programs may be computed "
                "in TF32, which is less exact; here they were not"
            )
