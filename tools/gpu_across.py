"""What the files of a record say against each other, whatever GPU it was made on.

One run of the programme has one machine and one torch, a part takes no longer than the whole, a
quantity that was taken twice is the same twice, and each step has its file.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from tools import gpu_trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APART = 3.0
"""How many times as long one run of a cell may take as another: an H200 showed 1.7."""

ROUNDED = 2.0
"""How many times as large an error may be in one run of a cell as in another: seeds are fixed."""

_MAIN = ("smoke default", "smoke thorough", "facts", "check")
_JSON = (0, 1, 3)
"""Exit codes with which a document was written."""

_DECIDED = frozenset(("works", "fails", "passed", "refused", "failed"))
_HALF = frozenset(("bfloat16", "float16"))


def across(folder: Path, record: Any, facts: Any) -> Iterator[str]:
    """Yield what the files of a folder say against each other."""
    files = {file.stem: found for file in sorted(folder.glob("*.json"))
             if (found := _read(file)).get("cells")}  # fmt: skip
    steps = record["steps"]
    yield from _steps(folder, steps)
    yield from _machines(files, facts)
    yield from _again(files)
    yield from _within(files, steps)
    yield from _memory(files, facts)
    yield from _count(files, facts)
    yield from _check(folder, files)
    yield from _traces(folder, steps, files)


def _read(file: Path) -> Any:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _on_gpu(run: Any) -> list[Any]:
    return [cell for cell in run["cells"] if cell["device"] != "cpu"]


def _name(cell: Any) -> str:
    return " ".join(str(cell[word]) for word in ("device", "backend", "dtype", "case"))


def _steps(folder: Path, steps: list[Any]) -> Iterator[str]:
    """Each step stands once, and what it wrote is there."""
    for name, count in Counter(step["name"] for step in steps).items():
        if count > 1:
            yield f"{name}: {count} steps of one name"
    for step in steps:
        named = step.get("file", "")
        if not named and step["name"] in _MAIN and step.get("code") in _JSON:
            named = f"{step['name'].replace(' ', '-')}.json"
        if named and not (folder / named).is_file():
            yield f"{step['name']}: ended with {step.get('code')}, and {named} is missing"


def _machines(files: dict[str, Any], facts: Any) -> Iterator[str]:
    """All files are of one torch, and each of its GPUs has one name and one capability."""
    gpus: dict[str, set[tuple[str, str]]] = defaultdict(set)
    versions: set[str] = set()
    for name, run in files.items():
        found = {(c["device"], c["device_name"], c["compute_capability"]) for c in _on_gpu(run)}
        for device, *rest in found:
            gpus[device].add((rest[0], rest[1]))
        version = run.get("torch_version", "")
        versions |= {version} - {""}
        if run.get("gpu_tested") and "+cpu" in version:
            yield f"{name}: a GPU was tested by torch {version}, which has no code for one"
    for device, kinds in gpus.items():
        if len(kinds) > 1:
            told = " and ".join(sorted(f"{name} ({cc or 'none'})" for name, cc in kinds))
            yield f"{device} has two descriptions: {told}"
    if len(versions) > 1:
        yield f"files of different torch: {', '.join(sorted(versions))}"
    yield from _build(versions, facts)


def _build(versions: set[str], facts: Any) -> Iterator[str]:
    """Hold the CUDA of torch's version against that of its files."""
    cuda = _fact(facts, "torch.cuda")
    for version in sorted(versions):
        local = re.search(r"\+cu(\d+)(\d)$", version)
        if local and cuda and f"{local[1]}.{local[2]}" != cuda:
            yield f"the files say a torch for CUDA {cuda}, the runs {version}"


def _fact(facts: Any, name: str) -> Any:
    found = facts.get("facts", {}).get(name, {})
    return found.get("value") if found.get("state") == "known" else None


def _again(files: dict[str, Any]) -> Iterator[str]:
    """Hold what was foreseen, computed or timed twice against itself."""
    seen: dict[str, Any] = {}
    for name, run in files.items():
        for cell in () if name.startswith("fault-") else _on_gpu(run):
            before = seen.setdefault(_name(cell), cell)
            yield from (f"{_name(cell)}: {each}" for each in _alike(before, cell))


def _alike(one: Any, other: Any) -> Iterator[str]:
    """Yield where two cells of one name differ; packages may have come between two files."""
    foreseen = {one.get("predicted"), other.get("predicted")}
    if foreseen >= {"works", "fails"}:
        yield "works was foreseen once, and fails"
    if {one["measured"], other["measured"]} != {"passed"}:
        return
    if one["kernel"] != other["kernel"]:
        yield f"ran on {one['kernel']} once, and on {other['kernel']}"
    for word, part, most in (("speed", "forward_ms", APART), ("errors", "out", ROUNDED)):
        pair = [(cell.get(word) or {}).get(part) or 0.0 for cell in (one, other)]
        if all(pair) and max(pair) > most * min(pair):
            yield f"{part} is {pair[0]:g} once, and {pair[1]:g}"


def _within(files: dict[str, Any], steps: list[Any]) -> Iterator[str]:
    """Hold a run's seconds against the times that it took on one GPU."""
    seconds = {step["name"].replace(" ", "-"): step.get("seconds") for step in steps}
    for name, run in files.items():
        whole = seconds.get(name)
        parts: dict[str, float] = defaultdict(float)
        for cell in _on_gpu(run):
            speed = cell.get("speed") or {}
            times = (speed.get(f"{way}_ms") or 0.0 for way in ("forward", "backward"))
            parts[cell["device"]] += sum(times)
        for device, milliseconds in parts.items():
            if whole is not None and milliseconds > 1000 * whole:
                yield f"{name}: {milliseconds / 1000:.0f} s of kernels on {device} in {whole:g} s"


def _memory(files: dict[str, Any], facts: Any) -> Iterator[str]:
    """No cell holds more than its GPU has."""
    for name, run in files.items():
        for cell in _on_gpu(run):
            held = (cell.get("speed") or {}).get("peak_memory_bytes")
            number = cell["device"].partition(":")[2]
            whole = _fact(facts, f"gpu[{number}].memory_bytes")
            if held and whole and held > whole:
                yield f"{name}: {_name(cell)}: held {held} bytes of {whole}"


def _count(files: dict[str, Any], facts: Any) -> Iterator[str]:
    """Hold the GPUs of the runs against the files' count."""
    count = _fact(facts, "gpu.count")
    devices = {cell["device"] for run in files.values() for cell in _on_gpu(run)}
    if isinstance(count, int) and len(devices) > count:
        yield f"the files count {count} GPUs, the runs {', '.join(sorted(devices))}"


def _check(folder: Path, files: dict[str, Any]) -> Iterator[str]:
    """Hold what `check` foresaw and saw against what `smoke` did a moment later."""
    file = folder / "check.json"
    rows = _read(file).get("verdicts", ()) if file.is_file() else ()
    told = {(row["backend"], row["dtype"]): row for row in rows}
    cells = files.get("smoke-default", {}).get("cells", ())
    for cell in (each for each in cells if each["case"] == "full" and each["device"] == "cuda:0"):
        row = told.get((cell["backend"], cell["dtype"]), {})
        for word in ("predicted", "measured"):
            pair = {row.get(word, ""), cell.get(word, "")}
            if len(pair & _DECIDED) > 1:
                yield f"{_name(cell)}: {word} {row[word]} by check, {cell[word]} by smoke"


def _traces(folder: Path, steps: list[Any], files: dict[str, Any]) -> Iterator[str]:
    """Hold each trace against its step, and its torch against the runs'."""
    codes = {step["name"]: step.get("code") for step in steps}
    versions = {run.get("torch_version") for run in files.values()} - {None, ""}
    for case in gpu_trace.CASES:
        name = f"trace {case.name}"
        file = folder / "trace" / f"{case.name.replace(' ', '-')}.json"
        found = _read(file) if file.is_file() else {}
        code = codes.get(name)
        if code in _JSON and found.get("exit_code", code) != code:
            yield f"{name}: exit code {found['exit_code']}, its step says {code}"
        for process in found.get("processes", ()):
            torch = process.get("torch")
            if torch and versions and torch not in versions:
                yield f"{name}: with torch {torch}, the runs {', '.join(sorted(versions))}"
            for call in process["calls"]:
                yield from (f"{name}: {each}" for each in of_call(call))


def of_call(call: Any) -> Iterator[str]:
    """Yield what the fields of a traced call say against each other."""
    letters = [letter for letter in "qkv" if call.get(letter)]
    dtypes = {letter: call[letter].get("dtype") for letter in letters}
    wide = {letter for letter, dtype in dtypes.items() if dtype == "float32"}
    if not call.get("autocast") and dtypes and wide != set(call["culprits"]):
        yield (f"float32 in {', '.join(sorted(wide)) or 'none'}, culprits of "
               f"{', '.join(sorted(call['culprits'])) or 'none'}")  # fmt: skip
    ran = call.get("ran_in")
    if ran and call["error"] is None and not call["culprits"] and ran not in _HALF:
        yield f"ran in {ran}, and has no culprit"
    if call["error"] is None and call["backend"] in gpu_trace.FAST and call["why_not_flash"]:
        yield f"ran on {call['backend']}, with reasons against flash: {call['why_not_flash'][0]}"
