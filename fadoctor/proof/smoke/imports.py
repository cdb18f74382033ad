"""Import the entry modules of the stack in the target: the proof of what reading foretells.

Each module has a process of its own, one after the other: what one does to an interpreter harms no
other, and packages of gigabytes do not load side by side.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known, printable
from fadoctor.model.smoke import ImportProof
from fadoctor.model.typed import decode
from fadoctor.model.verdict import Measured
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.proof.smoke.parent import hindrance_of
from fadoctor.proof.smoke.worker import tail_of
from fadoctor.sources.probes.world import read_text
from fadoctor.syntax.credentials.document import hide_in_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Table
    from fadoctor.proof.smoke.judge import CellJudge

IMPORT_S = 180.0
"""Limit of one module, seconds: on a busy machine the large ones take 50."""

TOTAL_S = 1200.0
"""Limit of all of them together, seconds."""

TABLE = "entry-modules"
SCHEMA = 1
"""Version of the events that `child/_fadoctor_imports.py` writes."""

_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_imports.py"
_EVENTS_LIMIT = 1 << 18
_OUTPUT_LIMIT = 1 << 16

# Unsloth cannot find any torch accelerator? You need a GPU. / No CUDA GPUs are available
_WANTS_GPU = re.compile(
    r"(?i)\b(?:need|requires?|cannot find|no|not find|without)\b[^\n]{0,60}"
    r"\b(?:gpus?|cuda device|accelerator|nvidia driver)\b"
)
_NO_GPU = "torch-sees-no-gpu"
"""The rule that says so: no cause of its own where there is none."""


class ImportEntry(msgspec.Struct, frozen=True):
    """A module that is imported."""

    module: str
    distribution: str
    version: str
    steps: tuple[str, ...]


class Event(msgspec.Struct, frozen=True):
    """What the script in the target tells."""

    schema: int
    event: str
    step: str
    type: str = ""
    text: str = ""
    trace: str = ""
    seconds: float = 0.0


def entries(environment: Environment, tables: Mapping[str, Table]) -> tuple[ImportEntry, ...]:
    """Return the entry modules whose distribution is installed, in the order of their table."""
    found = environment.fact("packages.installed")
    installed = found.value if isinstance(found, Known) and isinstance(found.value, dict) else {}
    return tuple(_entries(installed, tables[TABLE]))


def _entries(installed: Mapping[str, str], table: Table) -> Iterator[ImportEntry]:
    for row in table.rows:
        names = [name for name in str(row["distribution"]).split() if installed.get(name)]
        if names and row.get("role") == "entry":
            module = str(row["module"])
            steps = (module, *str(row.get("next") or "").split())
            yield ImportEntry(module, names[0], installed[names[0]], _suited(steps, names))


def _suited(steps: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    """Leave out what another distribution of the same import name brings."""
    foreign = {"flash-attn-4": "flash_attn:", "flash-attn": "flash_attn.cute"}
    unwanted = tuple(part for name, part in foreign.items() if names == [name])
    return tuple(step for step in steps if not (unwanted and step.startswith(unwanted)))


def run_imports(  # noqa: PLR0913 -- who is told is no part of what is run
    environment: Environment,
    wanted: tuple[ImportEntry, ...],
    environ: Mapping[str, str],
    run: Callable[[Command], Result],
    judge: CellJudge,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[ImportProof, ...]:
    """Import each in the target; never raises for what the target does. Takes seconds for each.

    `tell` is told before each what goes on.
    """
    target = environment.target
    hindrance = hindrance_of(target)
    if hindrance or target.python is None:
        return tuple(_not_run(entry, hindrance) for entry in wanted)
    left_s = TOTAL_S
    found = []
    with tempfile.TemporaryDirectory(prefix="fadoctor-", ignore_cleanup_errors=True) as folder:
        events = Path(folder, "events")
        for number, entry in enumerate(wanted, 1):
            tell(f"importing {entry.module}, {number} of {len(wanted)}")
            if left_s <= 0:
                found.append(_not_run(entry, f"the time limit of {TOTAL_S:.0f} s was used up"))
                continue
            events.write_bytes(b"")
            steps = msgspec.json.encode(entry.steps).decode()
            command = Command(
                (target.python, "-B", str(_SCRIPT), str(events), steps),
                min(IMPORT_S, left_s),
                env=dict(environ),
                output_limit=_OUTPUT_LIMIT,
                cwd=folder,
            )
            result = run(command)
            left_s -= result.elapsed_s
            told = _read_events(read_text(events, _EVENTS_LIMIT) or "")
            found.append(_judged(entry, told, result, judge, has_gpu=_has_gpu(environment)))
    return tuple(found)


def _has_gpu(environment: Environment) -> bool:
    count = environment.fact("gpu.visible_count")
    return not isinstance(count, Known) or bool(count.value)


def _not_run(entry: ImportEntry, reason: str) -> ImportProof:
    return ImportProof(
        entry.module, entry.distribution, entry.version, Measured.NOT_RUN, printable(reason, 600)
    )


def _read_events(text: str) -> list[Event]:
    found = []
    for line in text.split("\n")[:-1]:
        try:
            event = decode(line, Event)
        except (msgspec.DecodeError, RecursionError):
            continue
        if event.schema == SCHEMA:
            found.append(hide_in_document(event))
    return found


def _judged(
    entry: ImportEntry, told: list[Event], result: Result, judge: CellJudge, *, has_gpu: bool
) -> ImportProof:
    """Return what an import has shown."""
    proof = ImportProof(entry.module, entry.distribution, entry.version, Measured.PASSED, "")
    seconds = round(sum(event.seconds for event in told), 3)
    last = told[-1] if told else Event(SCHEMA, "begin", entry.module)
    if last.event == "end":
        done = [event.step for event in told if event.event == "done"]
        detail = f"{', '.join(done)} in {seconds:.1f} s"
        return msgspec.structs.replace(proof, detail=printable(detail, 300), seconds=seconds)
    if last.event == "failed":
        return _failed(proof, last, seconds, judge, has_gpu=has_gpu)
    if result.ending is Ending.NOT_STARTED:
        return _not_run(entry, result.describe())
    message = tail_of(result)
    return msgspec.structs.replace(
        proof,
        measured=Measured.FAILED,
        step=last.step,
        detail=printable(f"{last.step}: {result.describe()}", 600),
        message=message,
        rule_id=judge.cause_of(message),
        seconds=result.elapsed_s,
    )


def _failed(
    proof: ImportProof, last: Event, seconds: float, judge: CellJudge, *, has_gpu: bool
) -> ImportProof:
    lines = last.text.strip().splitlines() or [""]
    detail = printable(f"{last.step}: {last.type}: {lines[0]}", 600)
    rule_id = judge.cause_of(last.trace)
    if not has_gpu and rule_id in ("", _NO_GPU) and _WANTS_GPU.search(last.text):
        return msgspec.structs.replace(proof, measured=Measured.REFUSED, detail=detail)
    return msgspec.structs.replace(
        proof,
        measured=Measured.FAILED,
        step=last.step,
        detail=detail,
        message=last.trace,
        rule_id=rule_id,
        seconds=seconds,
    )
