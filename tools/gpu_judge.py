"""What a folder that `on_a_gpu` left says against what is known of that GPU, or against itself.

What is known are tables of rules/matrix: which GPU has which compute capability (gpu-names), what
each backend does with a dtype there (kernel-support), which node a kernel leaves (sdpa-kernels),
how far a healthy kernel may be off (smoke-limits), and what a GPU computes at most
(gpu-peak-tflops). Faults and traced programs are judged by what `gpu_faults` and `gpu_trace` know.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.load import load_apart, load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known
from fadoctor.model.verdict import Dtype
from fadoctor.proof.smoke.limits import read_limits
from fadoctor.sources.targets.gpu_name import gpus_by_key, key_of
from tools import gpu_across, gpu_consistent, gpu_faults, gpu_trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUNS = ("smoke-default.json", "smoke-thorough.json")
SDPA = ("sdpa-flash", "sdpa-efficient", "sdpa-cudnn", "sdpa-math")
DTYPES = ("bf16", "fp16", "fp32")
_SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
MIXED = "sdpa-mixed-qkv-dtype"
_ALLOWED = {"passed": "works", "refused": "fails", "failed": ""}
"""How a cell came out -> the prediction that it agrees with."""


def load(folder: Path, name: str) -> Any:
    """Return a JSON file of the folder, an empty mapping where there is none."""
    file = folder / name
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def contradictions(folder: Path) -> list[str]:
    """Return everything that does not fit, one sentence each; nothing of a pretended record."""
    record = load(folder, "steps.json")
    if not record or record["pretended"]:
        return []
    runs = {name: run for name in RUNS if (run := load(folder, name))}
    others = [load(folder, file.name) for file in sorted(folder.glob("smoke-*.json"))
              if file.name not in RUNS]  # fmt: skip
    again = {_key(cell) for run in others for cell in run.get("cells", ())
             if cell["measured"] != "not_run"}  # fmt: skip
    found: dict[str, None] = {}
    for name, run in runs.items():
        found.update(dict.fromkeys(f"{name}: {each}" for each in _of_run(run, again)))
        kept = {**run, "cells": [cell for cell in run["cells"] if _key(cell) not in again]}
        said = gpu_consistent.within_run(kept)
        found.update(dict.fromkeys(f"{name}: {each}" for each in said))
    facts = load(folder, "facts.json")
    for each in (*_between(runs, facts), *gpu_consistent.between(runs, facts),
                 *_of_steps(folder, record, runs),
                 *gpu_across.across(folder, record, facts)):  # fmt: skip
        found[each] = None
    return list(found)


def _key(cell: Any) -> tuple[str, ...]:
    return tuple(str(cell.get(word)) for word in ("device", "backend", "dtype", "case"))


def _of_run(run: Any, again: set[tuple[str, ...]]) -> Iterator[str]:
    """Yield what does not fit in a run; of a cell that was run again, the last counts."""
    cells = [cell for cell in run["cells"] if cell["device"] != "cpu"]
    if bool(run["gpu_tested"]) != any(cell["measured"] != "not_run" for cell in cells):
        yield f"gpu_tested is {run['gpu_tested']}, its cells say otherwise"
    counted = Counter(cell["measured"] for cell in run["cells"])
    if any(run["summary"].get(word, 0) != counted[word] for word in run["summary"]):
        yield f"the summary {run['summary']} does not count its cells"
    version = run["torch_version"].partition("+")[0]
    for cell in (each for each in cells if _key(each) not in again):
        where = f"{cell['backend']} {cell['dtype']} {cell['case']}"
        yield from (f"{where}: {each}" for each in _of_cell(cell, version))
    ran = {(cell["backend"], cell["dtype"]) for cell in cells if cell["measured"] != "not_run"}
    capability = next((cell["compute_capability"] for cell in cells), "")
    if not capability:
        return
    for backend in SDPA:
        for dtype in DTYPES:
            if (backend, dtype) not in ran and not _is_slow(backend, dtype, capability):
                yield f"{backend} {dtype}: no cell was run"


def _is_slow(backend: str, dtype: str, capability: str) -> bool:
    """Return whether nobody has to run it: bf16 is emulated there."""
    return backend == "sdpa-math" and dtype == "bf16" and int(capability.partition(".")[0]) < 8


def _of_cell(cell: Any, version: str) -> Iterator[str]:
    yield from _of_gpu(cell)
    measured, predicted = cell["measured"], cell.get("predicted", "unknown")
    known = "unknown" if cell["trap"] else support(cell, version)
    if "unknown" not in {known, predicted} and known != predicted:
        yield f"predicted {predicted}, the tables say {known} for {cell['compute_capability']}"
    if measured == "not_run":
        return
    for word in dict.fromkeys((predicted, known)):
        if word != "unknown" and _ALLOWED[measured] != word:
            yield f"{word} was foreseen, measured {measured}: {cell['detail'][:120]}"
    if measured == "failed" and {predicted, known} == {"unknown"}:
        yield f"failed: {cell['detail'][:120]}"
    if measured == "refused":
        yield from _of_refusal(cell)
    if measured == "passed":
        yield from _of_numbers(cell)
        yield from _of_speed(cell)


def support(cell: Any, version: str) -> str:
    """Return works, fails or unknown: what the tables say of a backend and a dtype on a GPU."""
    if not cell["backend"].startswith("sdpa-") or not cell["compute_capability"]:
        return "unknown"
    asked = {"backend": cell["backend"], "version": version, "cc": cell["compute_capability"]}
    asked["dtype"] = cell["dtype"]
    keys = {name: Known(text, "record") for name, text in asked.items()}
    found = _matrix().find("kernel-support", keys).cell("support")
    return str(found.value) if isinstance(found, Known) else "unknown"


def _of_gpu(cell: Any) -> Iterator[str]:
    model = _models().get(key_of(cell["device_name"]))
    right = model.compute_capability if model is not None else ""
    if right and cell["compute_capability"] not in {"", right}:
        yield f"{cell['device_name']} has capability {right}, not {cell['compute_capability']}"


def _of_refusal(cell: Any) -> Iterator[str]:
    rule = cell["rule_id"]
    foreseen = [MIXED] if cell["case"] == "mixed" else cell["because"]
    if foreseen and cell["backend"] in SDPA and rule not in foreseen:
        yield f"refused by {rule or 'no rule'}, foreseen was {' or '.join(foreseen)}"


def _of_numbers(cell: Any) -> Iterator[str]:
    limits = _limits()[Dtype(cell["dtype"])]
    for name, error in cell["errors"].items():
        if name != "timed" and not error <= limits.of(name):  # NaN is no number below it
            yield f"passed with an error of {error:g} in {name}, at most {limits.of(name):g}"
    nodes = _nodes()
    kernel, own = cell["kernel"], nodes.get(cell["backend"])
    if kernel and cell["backend"] in SDPA:
        others = [name for name, node in nodes.items() if node in kernel and node != own]
        if others or (own and own not in kernel):
            yield f"passed on another kernel: {kernel}"


@cache
def _nodes() -> dict[str, str]:
    rows = load_apart(load_knowledge().tables)["sdpa-kernels"].rows
    return {str(row["backend"]): str(row["node"]) for row in rows if row.get("node")}


@cache
def _limits() -> Any:
    return read_limits(load_knowledge())


@cache
def _models() -> Any:
    return gpus_by_key(load_knowledge().tables)


@cache
def _matrix() -> Matrix:
    return Matrix(load_knowledge().tables)


def _of_speed(cell: Any) -> Iterator[str]:
    from tools.gpu_page import peak_of  # noqa: PLC0415 -- the page shows what is judged here

    peak = peak_of(cell["device_name"]) if cell["dtype"] in {"bf16", "fp16"} else None
    for name, value in (cell.get("speed") or {}).items():
        if value is None:
            continue
        if not math.isfinite(value) or value <= 0:
            yield f"{name} is {value}"
        elif peak and name.endswith("tflops") and value > peak:
            yield f"{name} is {value:.0f}, more than the {peak:.0f} of {cell['device_name']}"


def _between(runs: dict[str, Any], facts: Any) -> Iterator[str]:
    """Yield where two runs, or a run and the facts, differ."""
    versions = {run["torch_version"] for run in runs.values()}
    if len(versions) > 1:
        yield f"runs with different torch: {', '.join(sorted(versions))}"
    read = facts.get("facts", {}).get("torch.version", {}).get("value")
    if read and any(each.partition("+")[0] != read for each in versions):
        yield f"the files say torch {read}, the runs {', '.join(sorted(versions))}"
    seen: dict[tuple[str, ...], str] = {}
    names: dict[str, str] = {}
    for run in runs.values():
        for cell in run["cells"]:
            device = cell["device"]
            if names.setdefault(device, cell["device_name"]) != cell["device_name"]:
                yield f"{device} is {names[device]} and {cell['device_name']}"
            if cell["measured"] == "not_run":
                continue
            key = (device, cell["backend"], cell["dtype"], cell["case"])
            if seen.setdefault(key, cell["measured"]) != cell["measured"]:
                yield f"{' '.join(key)} {seen[key]} once, and {cell['measured']}"


def _of_steps(folder: Path, record: Any, runs: dict[str, Any]) -> Iterator[str]:
    done = {step["name"]: step for step in record["steps"] if step.get("code") is not None}
    yield from (f"{name} took {step['seconds']:g} s" for name, step in done.items()
                if not step.get("seconds", 0) >= 0)  # fmt: skip
    for name, run in runs.items():
        step = done.get(name.removesuffix(".json").replace("-", " "))
        said = gpu_consistent.exit_code(run, step["code"]) if step is not None else ""
        if said:
            yield f"{name.removesuffix('.json').replace('-', ' ')}: {said}"
    for fault in gpu_faults.FAULTS:
        found = load(folder, f"fault-{fault.name.replace(' ', '-')}.json")
        said = gpu_faults.verdict(fault, found["cells"], pretend=False) if found else ""
        if f"fault {fault.name}" in done and (said or not found):
            yield f"fault {fault.name}: {said or 'its file is missing'}"
    capability = next((c["compute_capability"] for r in runs.values() for c in r["cells"]), "")
    for case in gpu_trace.CASES:
        if f"trace {case.name}" not in done:
            continue
        found = load(folder / "trace", f"{case.name.replace(' ', '-')}.json")
        said = gpu_trace.problem(case, found, capability, pretend=False) if found else "no file"
        said = said or _foreseen_to_fail(found, capability, runs)
        if said:
            yield f"trace {case.name}: {said}"


def _foreseen_to_fail(found: Any, capability: str, runs: dict[str, Any]) -> str:
    """Return the kernel on which a traced call ran that has none for its dtype on that GPU."""
    version = next((run["torch_version"].partition("+")[0] for run in runs.values()), "")
    for call in (call for process in found.get("processes", ()) for call in process["calls"]):
        cell = {"backend": call["backend"], "compute_capability": capability,
                "dtype": _SHORT.get(call.get("ran_in") or "float16", "")}  # fmt: skip
        if call["error"] is None and version and support(cell, version) == "fails":
            return f"ran on {call['backend']}, which has no kernel for this GPU"
    return ""
