"""What a record of `on_a_gpu` says against itself, whatever GPU it was made on.

Nothing is known here of GPUs or kernels: a cell that passed was compared, a refusal has the words
of its rule, a faster float32 was mistimed. `gpu_judge` holds a record against the tables.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.smoke_catalogue import compared
from fadoctor.model.verdict import Backend, Dtype
from tools import gpu_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

MISTIMED = 1.5
"""How much faster float32 may be than half precision before one of them was not timed right."""

SAME_WORK = 0.1
"""Part by which the work of one case, time by speed, may differ between cells."""

TIMED = ("sdpa-flash", "sdpa-efficient", "sdpa-cudnn", "sdpa-math")
_CODES = range(4)
_ERROR = re.compile(r"\b(?:\w*Error|undefined symbol|Segmentation fault)\b")


_BACKENDS = frozenset(backend.value for backend in Backend)


def within_run(run: Any) -> Iterator[str]:
    """Yield what does not fit between and in the cells of a run."""
    cells = [cell for cell in run["cells"] if cell["device"] != "cpu"]
    for key, count in Counter(_name(cell) for cell in cells).items():
        if count > 1:
            yield f"{key}: {count} cells of one name"
    for cell in cells:
        said = [*_of_cell(cell), *_of_errors(cell), *gpu_fields.of_cell(cell)]
        yield from (f"{_name(cell)}: {each}" for each in said)
    yield from _devices(cells)
    yield from _speeds([cell for cell in cells if cell.get("speed")])


def _name(cell: Any) -> str:
    return " ".join(str(cell[word]) for word in ("device", "backend", "dtype", "case"))


def _of_cell(cell: Any) -> Iterator[str]:
    measured, detail = cell["measured"], cell["detail"]
    if measured == "passed" and not cell["errors"]:
        yield "passed, and nothing was compared"
    if measured == "passed" and cell["backend"] in TIMED and not cell["kernel"]:
        yield "passed, and nothing shows which kernel ran"
    if measured == "refused" and _is_told_otherwise(cell["rule_id"], detail):
        yield f"refused by {cell['rule_id']}, whose words are not these: {detail[:120]}"
    if measured == "not_run" and cell.get("predicted") == "works" and _ERROR.search(detail):
        yield f"works was foreseen, and it was not run: {detail[:120]}"
    if measured != "passed" and any((cell.get("speed") or {}).values()):
        yield f"{measured}, and timed"


def _of_errors(cell: Any) -> Iterator[str]:
    """Yield what no comparison with a result in float64 can give."""
    if cell["backend"] not in _BACKENDS:
        yield "no backend of this name"
        return
    errors = cell["errors"]
    if cell["measured"] != "passed" or not errors:
        return
    low = [name for name, error in errors.items() if error < 0]
    if low:
        yield f"an error below zero in {', '.join(low)}"
    if errors.get("out") == 0:
        yield "an error of zero: it was compared with itself"
    backend, dtype = Backend(cell["backend"]), Dtype(cell["dtype"])
    gone = set(compared(backend, dtype, cell["case"], cell["device"])) - set(errors)
    if gone:
        yield f"{', '.join(sorted(gone))} not compared"


@cache
def _patterns() -> dict[str, tuple[re.Pattern[str], ...]]:
    rules = load_knowledge().rules
    return {
        rule.id: tuple(re.compile(each.pattern) for each in rule.symptoms)
        for rule in rules
        if rule.symptoms
    }


@cache
def _is_told_otherwise(rule_id: str, detail: str) -> bool:
    """Return whether a text has the words of other rules, and none of its own."""
    known = _patterns()
    if not detail or rule_id not in known or any(p.search(detail) for p in known[rule_id]):
        return False
    return any(p.search(detail) for found in known.values() for p in found)


def _devices(cells: list[Any]) -> Iterator[str]:
    """Torch counts GPUs from 0 on, without a gap; a run on one names one."""
    numbers = sorted(
        {int(n) for cell in cells if (n := cell["device"].partition(":")[2]).isdigit()}
    )
    if len(numbers) > 1 and numbers != list(range(len(numbers))):
        yield f"cells of GPUs {', '.join(map(str, numbers))}, and of none between"


def _speeds(cells: list[Any]) -> Iterator[str]:
    fastest: dict[str, dict[str, float]] = defaultdict(dict)
    works: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for cell in cells:
        for way in ("forward", "backward"):
            time, speed = (cell["speed"].get(f"{way}_{unit}") for unit in ("ms", "tflops"))
            if speed:
                key = f"{cell['device']} {cell['backend']} {cell['case']} {way}"
                fastest[key][cell["dtype"]] = speed
            if time and speed:
                works[cell["case"], way][_name(cell)] = time * speed
    for key, by_dtype in fastest.items():
        half = max((by_dtype[name] for name in ("bf16", "fp16") if name in by_dtype), default=0.0)
        wide = by_dtype.get("fp32", 0.0)
        if half and wide > MISTIMED * half:
            yield f"{key}: fp32 at {wide:.0f} TFLOP/s, half at {half:.0f}"
    for (case, way), products in works.items():
        usual = sorted(products.values())[len(products) // 2]
        for name, product in products.items():
            if abs(product - usual) > SAME_WORK * usual:
                yield f"{name}: {way} of {case} took another time than its speed says"


def between(runs: dict[str, Any], facts: Any) -> Iterator[str]:
    """Yield where the GPUs of the runs are not those that the files name."""
    read = facts.get("facts", {})
    for field, word in (("device_name", "name"), ("compute_capability", "compute_capability")):
        known = {
            str(fact["value"]) for name, fact in read.items()
            if re.fullmatch(rf"gpu\[\d+\]\.{word}", name) and fact.get("state") == "known"
        }  # fmt: skip
        ran = {cell[field] for run in runs.values() for cell in run["cells"]
               if cell["device"] != "cpu" and cell[field]}  # fmt: skip
        if known and ran - known:
            said = (", ".join(sorted(each)) for each in (known, ran))
            yield "the files say {} {}, the runs {}".format(word, *said)


def exit_code(run: Any, code: int) -> str:
    """Return what a run's exit code says otherwise than its cells, "" where it agrees."""
    counted = Counter(cell["measured"] for cell in run["cells"])
    ran = len(run["cells"]) - counted["not_run"]
    right = 1 if counted["failed"] else 0 if ran else 3
    if code == right or (code not in _CODES and not counted["failed"]):
        return ""  # ended from outside, which its step tells
    failed = f"{'a' if counted['failed'] else 'no'} cell failed"
    return f"exit code {code}, {failed}" if ran else f"exit code {code}, no cell was run"
