"""Every way from what is read to what is printed: each command that shows text, in each format."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from fadoctor.fleet.content import Content
from fadoctor.fleet.identity import NodeIdentity
from fadoctor.fleet.record import record_line
from fadoctor.interfaces.cli import check, explain, facts, fix, fleet, run, trace
from fadoctor.interfaces.cli.options import formats
from fadoctor.interfaces.cli.options.showing import Colour

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.leaks.plants import Plant

HEALTHY = Path(__file__).parents[1] / "golden" / "broken-everything" / "facts.json"
BATCH = 25
"""Plants that a document holds at once, where all of it is printed."""


class Leak(NamedTuple):
    """A secret that stands where nobody may read it."""

    way: str
    kind: str
    text: str
    secret: str


def leaks(way: str, plants: Iterable[Plant], shown: str) -> Iterator[Leak]:
    """Yield the secrets of plants that stand in what is shown."""
    for plant in plants:
        for secret in plant.secrets:
            if secret in shown:
                yield Leak(way, plant.kind, plant.text, secret)


LINES = (
    "{} RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "ModuleNotFoundError: No module named 'flash_attn' {}",
    "ImportError: libcudart.so.12: cannot open shared object file: {} No such file",
    "ValueError: Unknown attention backend: 'FLASHINFERR' {}",
)
"""Lines that show causes, and where something else can stand: before, behind, between."""


def log_of(plants: Sequence[Plant]) -> str:
    """Return a log with plants on the lines that show causes."""
    lines = (line.replace("{}", each.text) for line, each in zip(LINES, plants, strict=False))
    return "\n\n".join(lines) + "\n"


def through_explain(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `explain` logs with the plants."""
    log = folder / "train.log"
    for batch in _batches(plants, len(LINES)):
        log.write_text(log_of(batch), encoding="utf-8")
        for form, shown in written(formats.ReportFormat, folder, lambda output: explain.explain(
            log=str(log), output=output, redact=redact
        )):  # fmt: skip
            yield from leaks(f"explain {form}", batch, shown)


def through_run(plants: Sequence[Plant]) -> Iterator[Leak]:
    """Give what `run` explains the plants: the end of a command's output."""
    for batch in _batches(plants, len(LINES)):
        log = log_of(batch).encode()
        shown = said(partial(run._explain_failure, log, [], Colour.NEVER, quiet=False))
        yield from leaks("run", batch, shown)


def _batches(plants: Sequence[Plant], size: int) -> Iterator[Sequence[Plant]]:
    """Yield the plants, so many at once."""
    return (plants[at : at + size] for at in range(0, len(plants), size))


def saved(plants: Sequence[Plant]) -> dict[str, Any]:
    """Return saved facts with plants in all that is text: values, lists, mappings, sources."""
    document = json.loads(HEALTHY.read_text(encoding="utf-8"))
    values = document["facts"]
    for number, plant in enumerate(plants):
        state = {"state": "known", "source": f"read: {plant.text}"}
        values[f"env.X{number}"] = {**state, "value": plant.text}
        values[f"seen.list{number}"] = {**state, "value": [plant.text, f"x {plant.text}"]}
        values[f"seen.map{number}"] = {**state, "value": {"setting": plant.text}}
        values[f"seen.unknown{number}"] = {"state": "unknown", "reason": plant.text, "source": "x"}
    text = " / ".join(plant.text for plant in plants)
    values["env.LD_LIBRARY_PATH"] = {"state": "known", "value": text, "source": "x"}
    document["target"]["notes"] = [plant.text for plant in plants]
    return document  # type: ignore[no-any-return]


def through_facts(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give saved facts with plants to `facts`, `check` and `fix`."""
    path = folder / "facts.json"
    for start in range(0, len(plants), BATCH):
        batch = plants[start : start + BATCH]
        path.write_text(json.dumps(saved(batch), ensure_ascii=False), encoding="utf-8")
        yield from _of_a_file(batch, path, folder, redact=redact)


def _of_a_file(batch: Sequence[Plant], path: Path, folder: Path, *, redact: bool) -> Iterator[Leak]:
    name = str(path)
    commands: dict[str, tuple[Any, Callable[..., None]]] = {
        "check": (formats.CheckFormat, lambda output: check.check(
            facts=name, output=output, redact=redact, verbose=True, smoke=False)),
        "fix": (formats.PlanFormat, lambda output: fix.fix(
            facts=name, output=output, redact=redact, dry_run=True, verbose=True)),
    }  # fmt: skip
    for command, (forms, asked) in commands.items():
        for form, shown in written(forms, folder, asked):
            yield from leaks(f"{command} {form}", batch, shown)
    nodes = folder / "nodes"
    said(lambda: check.check(facts=name, output_dir=str(nodes), redact=redact, smoke=False))
    for node in nodes.iterdir():
        yield from leaks("check --output-dir", batch, node.read_text(encoding="utf-8"))
    out = folder / "out.json"
    said(lambda: facts.facts(facts=name, output=out, redact=redact))
    yield from leaks("facts json", batch, out.read_text(encoding="utf-8"))


def through_paste(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `check --facts` what people paste, with plants on its lines."""
    path, out = folder / "pasted.txt", folder / "pasted.json"
    for batch in _batches(plants, len(PASTED)):
        lines = (line.replace("{}", each.text) for line, each in zip(PASTED, batch, strict=False))
        text = "\n".join([*HEADING, *lines, *(each.text for each in batch), ""])
        path.write_text(text, encoding="utf-8")
        outputs = [f"json:{out}", f"text:{folder / 'pasted.out'}"]
        asked = partial(check.check, facts=str(path), output=outputs, redact=redact)
        said(partial(asked, verbose=True, smoke=False))
        shown = out.read_text(encoding="utf-8") + (folder / "pasted.out").read_text("utf-8")
        yield from leaks("check --facts of a paste", batch, shown)


HEADING = ("PyTorch version: 2.6.0+cu124", "Is debug build: False")
PASTED = (
    "OS: Ubuntu 22.04 {}", "GPU models and configuration: GPU 0: Tesla V100 {}", "GCC version: {}",
    "[pip3] torch==2.6.0 {}", "flash-attn @ {}", "xformers==0.0.1 {}", "Nvidia driver version: {}",
    "Python version: 3.11.9 {}", "CUDA runtime version: {}", "cuDNN version: 9 {}", "CPU: {}",
    "Libc version: glibc-2.35 {}", "CMake version: {}", "HIP runtime version: {}",
    "[conda] pytorch 2.6.0 {}", "Python platform: Linux-6.8 {}",
)  # fmt: skip
"""Lines of a report of torch's, and of a list of packages."""


def through_fleet(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `fleet` records of nodes with plants in what they say."""
    records, unread = folder / "records.txt", folder / "unread.txt"
    for start in range(0, len(plants), 5):
        batch = plants[start : start + 5]
        lines = [
            record_line(NodeIdentity(f"n{number}", number), Content(
                x=1, w="e", c=(1, 0, 0, 0), f=("e driver-too-old",),
                t={"env": {f"X{number}": plant.text[:200]}, "sys": {"os": plant.text[:200]}},
            ))
            for number, plant in enumerate(batch)
        ]  # fmt: skip
        bad = [
            record_line(NodeIdentity(f"m{number}", 90 + number), Content(x=2, p=plant.text[:200]))
            for number, plant in enumerate(batch)
        ]
        records.write_bytes(b"".join([*lines, *bad]))
        unread.write_text("\n".join(plant.text for plant in batch), encoding="utf-8")
        for form, shown in written(formats.FleetFormat, folder, lambda output: fleet.fleet(
            files=[str(records), str(unread)], output=output, redact=redact, verbose=True
        )):  # fmt: skip
            yield from leaks(f"fleet {form}", batch, shown)


def through_trace(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `trace` a command line that holds the plants, cut into words as a shell does."""
    words = [plant.text for plant in plants]
    for plant in plants:
        if plant.kind.startswith(("option", "command")) and plant.text[0] not in '["':
            words += shlex.split(plant.text)
    for form in trace.TraceFormat:
        out = folder / f"trace.{'txt' if form.value == 'text' else form.value}"
        command = [sys.executable, "-S", "-c", "pass", *words]
        said(partial(trace.trace, command, format_=form, output=out, redact=redact, verbose=True))
        yield from leaks(f"trace {form.value}", plants, out.read_text(encoding="utf-8"))


def written(forms: Any, folder: Path, asked: Callable[..., None]) -> Iterator[tuple[str, str]]:
    """Run a command once with all its formats; yield what each wrote, and what it said."""
    paths = {form.value: folder / f"out.{form.value}" for form in forms}
    shown = said(lambda: asked(output=[f"{form}:{path}" for form, path in paths.items()]))
    yield "stderr", shown
    for form, path in paths.items():
        yield form, path.read_text(encoding="utf-8")


def said(asked: Callable[[], None]) -> str:
    """Return what a command says beside its result."""
    out = io.StringIO()
    with (
        contextlib.redirect_stderr(out),
        contextlib.redirect_stdout(out),
        contextlib.suppress(typer.Exit),
    ):
        asked()
    return out.getvalue()
