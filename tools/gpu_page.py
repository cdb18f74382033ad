"""The page of what was measured on a GPU, made from the folder that `on_a_gpu` leaves."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.load import load_knowledge
from tools.gpu_judge import contradictions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TITLE = "# Measured on a GPU\n"
NOTHING = """
**Nothing was measured yet.** No machine with a GPU was at hand. Every statement of this project
about CUDA kernels comes from sources, binaries and runs with stubs; [the smoke run](smoke.md) says
which. On a machine with a GPU and torch, in less than ten minutes and without a network:

    python tools/on_a_gpu.py --python ENVIRONMENT --page docs/measured-on-gpu.md

With `--flash-attn-source FOLDER` it also builds flash-attn for that GPU and one head dimension.
"""
PRETENDED = """
**This was pretended on a CPU.** It shows that the script works, and nothing of any GPU.
"""
_OTHER_CARDS = frozenset(("pcie", "nvl", "mig", "laptop", "mobile", "super", "ti", "d"))
"""Words of cards that are slower, or faster, than the one that bears the name alone."""

_SLOW_SHARE = 0.05
"""Share of the peak below which a flash kernel's time asks for an explanation."""


def render(folder: Path | None) -> str:
    """Return the page; one that says so where nothing was measured."""
    record = _load(folder, "steps.json")
    if not record:
        return TITLE + NOTHING
    default = _load(folder, "smoke-default.json")
    cells = _cells(folder)
    parts = [TITLE, PRETENDED if record["pretended"] else "", _machine(folder, default)]
    parts += [_note(folder), _steps(record["steps"]), _unfit(folder), _results(cells)]
    parts += [_contradictions(cells), _times(cells)]
    return "\n".join(part for part in parts if part)


def _note(folder: Path | None) -> str:
    """Return what somebody wrote of the run into note.md."""
    file = folder / "note.md" if folder else None
    return file.read_text(encoding="utf-8") if file and file.is_file() else ""


def _cells(folder: Path | None) -> list[Any]:
    """Return the cells of every run: the default set, the thorough one, then others by name.

    Of a cell that was run again, the last counts.
    """
    order = ("smoke-default", "smoke-thorough")
    names = sorted(
        (file.stem for file in folder.glob("smoke-*.json")) if folder else (),
        key=lambda name: (order.index(name) if name in order else len(order), name),
    )
    found: dict[tuple[str, ...], Any] = {}
    for name in names:
        for cell in _load(folder, f"{name}.json").get("cells", ()):
            key = tuple(str(cell.get(word)) for word in ("device", "backend", "dtype", "case"))
            if cell["measured"] != "not_run" or key not in found:
                found[key] = cell
    return list(found.values())


def _load(folder: Path | None, name: str) -> Any:
    file = folder / name if folder else None
    return json.loads(file.read_text(encoding="utf-8")) if file and file.is_file() else {}


def _machine(folder: Path | None, default: Any) -> str:
    facts = _load(folder, "facts.json").get("facts", {})
    names = {cell["device_name"]: cell["compute_capability"] for cell in default.get("cells", ())}
    lines = [
        f"* {name}" + (f", compute capability {capability}" if capability else "")
        for name, capability in names.items()
    ]
    lines.append(f"* torch {default.get('torch_version', 'unknown')}")
    for fact in ("driver.version", "flash_attn.version", "triton.version", "xformers.version"):
        value = facts.get(fact, {}).get("value") if isinstance(facts.get(fact), dict) else None
        if value:
            lines.append(f"* {fact}: {value}")
    return "\n".join(lines) + "\n"


def _steps(steps: list[Any]) -> str:
    rows = [
        (step["name"], f"{step.get('seconds', 0):.0f}", _code(step), step.get("problem") or "")
        for step in steps
    ]
    return _table("## Steps", ("step", "seconds", "exit code", "not as it should be"), rows)


def _unfit(folder: Path | None) -> str:
    found = contradictions(folder) if folder is not None else []
    return _table("## What does not fit", ("record, cell or step",), [(each,) for each in found])


def _code(step: Any) -> str:
    code = step.get("code")
    return "-" if code is None else str(code)


def _results(cells: list[Any]) -> str:
    """Return each backend and dtype with its cases by how they came out."""
    found: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for cell in cells:
        if cell["measured"] != "not_run":
            by_result = found.setdefault((cell["backend"], cell["dtype"]), {})
            by_result.setdefault(cell["measured"], {})[cell["case"]] = None
    rows = [
        (*key, *(" ".join(by.get(word, ())) for word in ("passed", "refused", "failed")))
        for key, by in found.items()
    ]
    return _table("## Cells", ("backend", "dtype", "passed", "refused", "failed"), rows)


def _contradictions(cells: list[Any]) -> str:
    contrary = {("works", "failed"), ("fails", "passed")}
    ran = [cell for cell in cells if cell["measured"] != "not_run"]
    sure = [cell for cell in ran if cell.get("predicted", "unknown") != "unknown"]
    wrong = [cell for cell in sure if (cell["predicted"], cell["measured"]) in contrary]
    rows = [
        (c["backend"], c["dtype"], c["case"], c["predicted"], c["measured"], c["detail"])
        for c in wrong
    ]
    text = f"{len(sure)} cells were predicted for sure, {len(wrong)} came out otherwise.\n"
    if not rows:
        return f"## Predictions against measurements\n\n{text}"
    titles = ("backend", "dtype", "case", "predicted", "measured", "detail")
    return _table(f"## Predictions against measurements\n\n{text}", titles, rows)


def _times(cells: list[Any]) -> str:
    """Return the fastest forward of each backend beside what the GPU can do at most."""
    best: dict[tuple[str, str], Any] = {}
    for cell in cells:
        tflops = (cell.get("speed") or {}).get("forward_tflops")
        key = (cell["backend"], cell["dtype"])
        if tflops and tflops > best.get(key, {"tflops": 0})["tflops"]:
            best[key] = {"tflops": tflops, **cell}
    rows = []
    for key, cell in best.items():
        peak = peak_of(cell["device_name"]) if cell["dtype"] in ("bf16", "fp16") else None
        share = cell["tflops"] / peak if peak else None
        shown = f"{share:.0%}" if share is not None else ""
        rows.append((*key, f"{cell['tflops']:.3g}", shown, _judged(share, cell)))
    titles = ("backend", "dtype", "TFLOP/s forward", "of the peak", "remark")
    return _table("## Times", titles, rows)


def _judged(share: float | None, cell: Any) -> str:
    if any("launch-bound" in note for note in cell.get("notes", ())):
        return "launch-bound"
    if share is not None and share > 1:
        return "more than the GPU can do: the measurement is wrong"
    slow = share is not None and share < _SLOW_SHARE and "math" not in cell["backend"]
    return "slow for this GPU" if slow else ""


@cache
def peak_of(name: str) -> float | None:
    """Return what a GPU can compute at most in half precision, 10^12 a second; None unknown."""
    words = set(name.replace("-", " ").split())
    if {word.lower() for word in words} & _OTHER_CARDS:
        return None
    for row in load_knowledge().tables["gpu-peak-tflops"].rows:
        if row["name"] in words:
            return float(str(row["half"]))
    return None


def _table(title: str, titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"
    body = "".join(f"| {' | '.join(map(_one_line, row))} |\n" for row in rows)
    return f"{title}\n\n{head}{body}" if rows else ""


def _one_line(text: Any) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")[:200]
