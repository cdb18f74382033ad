"""Every way from what is read to what is printed: each command that shows text, in each format."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from fadoctor.cli import check, explain, facts, fix, fleet, run, trace
from fadoctor.cli.options import formats
from fadoctor.fleet.content import Content
from fadoctor.fleet.identity import Node
from fadoctor.fleet.record import record_line
from tests.leaks.plants import Plant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


def log_of(plant: Plant) -> str:
    """Return a log with a plant on lines that show causes: before them, behind them, between."""
    text = plant.text
    return (
        f"{text} RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
        f"\nModuleNotFoundError: No module named 'flash_attn' {text}\n"
        f"\nImportError: libcudart.so.12: cannot open shared object file: {text} No such file\n"
        f"ValueError: Unknown attention backend: 'FLASHINFERR' {text}\n"
    )


def through_explain(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `explain` each plant in a log of its own."""
    log = folder / "train.log"
    for plant in plants:
        log.write_text(log_of(plant), encoding="utf-8")
        for form, shown in _written(formats.ReportFormat, folder, lambda outputs: explain.explain(
            log=str(log), output=outputs, redact=redact
        )):  # fmt: skip
            yield from leaks(f"explain {form}", [plant], shown)


def through_run(plants: Sequence[Plant], *, redact: bool) -> Iterator[Leak]:
    """Give what `run` explains each plant: the end of a command's output."""
    assert not redact, "run has no such option"
    for plant in plants:
        shown = _said(lambda each=plant: run._explain_failure(
            log_of(each).encode(), [], run.showing.Colour.NEVER, quiet=False
        ))  # fmt: skip
        yield from leaks("run", [plant], shown)


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
    """Give saved facts with plants to `facts`, `check`, `fix` and `fleet`."""
    path = folder / "facts.json"
    for start in range(0, len(plants), BATCH):
        batch = plants[start : start + BATCH]
        path.write_text(json.dumps(saved(batch), ensure_ascii=False), encoding="utf-8")
        yield from _of_a_file(batch, path, folder, redact=redact)


def _of_a_file(
    batch: Sequence[Plant], path: Path, folder: Path, *, redact: bool
) -> Iterator[Leak]:
    name = str(path)
    commands: dict[str, tuple[Any, Callable[[list[str]], None]]] = {
        "check": (formats.CheckFormat, lambda outputs: check.check(
            facts=name, output=outputs, redact=redact, verbose=True, smoke=False)),
        "fix": (formats.PlanFormat, lambda outputs: fix.fix(
            facts=name, output=outputs, redact=redact, dry_run=True, verbose=True)),
    }  # fmt: skip
    for command, (forms, asked) in commands.items():
        for form, shown in _written(forms, folder, asked):
            yield from leaks(f"{command} {form}", batch, shown)
            if command == "check" and form == "json":
                (folder / "report.json").write_text(shown, encoding="utf-8")
    out = folder / "out.json"
    _said(lambda: facts.facts(facts=name, output=out, redact=redact))
    yield from leaks("facts json", batch, out.read_text(encoding="utf-8"))


def through_paste(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `check --facts` what people paste, with plants on its lines."""
    path = folder / "pasted.txt"
    for plant in plants:
        text = plant.text
        path.write_text(
            f"PyTorch version: 2.6.0+cu124\nIs debug build: False\nOS: Ubuntu {text}\n"
            f"GPU models and configuration: GPU 0: Tesla V100 {text}\n{text}\n"
            f"[pip3] torch==2.6.0 {text}\nflash-attn @ {text}\nxformers==0.0.1 {text}\n",
            encoding="utf-8",
        )
        out = folder / "pasted.json"
        name, outputs = str(path), [f"json:{out}", f"text:{folder / 'pasted.out'}"]
        _said(lambda name=name, outputs=outputs: check.check(
            facts=name, output=outputs, redact=redact, verbose=True, smoke=False))  # fmt: skip
        shown = out.read_text(encoding="utf-8") + (folder / "pasted.out").read_text("utf-8")
        yield from leaks("check --facts of a paste", [plant], shown)


def through_fleet(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `fleet` records of nodes with plants in what they say."""
    records, unread = folder / "records.txt", folder / "unread.txt"
    for start in range(0, len(plants), 5):
        batch = plants[start : start + 5]
        lines = [
            record_line(Node(f"n{number}", number), Content(
                x=1, w="e", c=(1, 0, 0, 0), f=("e driver-too-old",),
                t={"env": {f"X{number}": plant.text[:200]}, "sys": {"os": plant.text[:200]}},
            ))
            for number, plant in enumerate(batch)
        ]  # fmt: skip
        bad = [
            record_line(Node(f"m{number}", 90 + number), Content(x=2, p=plant.text[:200]))
            for number, plant in enumerate(batch)
        ]
        records.write_bytes(b"".join([*lines, *bad]))
        unread.write_text("\n".join(plant.text for plant in batch), encoding="utf-8")
        for form, shown in _written(formats.FleetFormat, folder, lambda outputs: fleet.fleet(
            files=[str(records), str(unread)], output=outputs, redact=redact, verbose=True
        )):  # fmt: skip
            yield from leaks(f"fleet {form}", batch, shown)


def through_trace(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `trace` a command line that holds the plants, cut into words as a shell does."""
    words = [word for plant in plants for word in plant.text.split()]
    for form in trace.TraceFormat:
        out = folder / f"trace.{form.value}"
        _said(lambda form=form, out=out: trace.trace(
            [sys.executable, "-S", "-c", "pass", *words], format_=form, output=out,
            redact=redact, verbose=True))  # fmt: skip
        yield from leaks(f"trace {form.value}", plants, out.read_text(encoding="utf-8"))


def _written(
    forms: Any, folder: Path, asked: Callable[[list[str]], None]
) -> Iterator[tuple[str, str]]:
    """Run a command once with all its formats; yield what each wrote, and what it said."""
    paths = {form.value: folder / f"out.{form.value}" for form in forms}
    shown = _said(lambda: asked([f"{form}:{path}" for form, path in paths.items()]))
    yield "stderr", shown
    for form, path in paths.items():
        yield form, path.read_text(encoding="utf-8")


def _said(asked: Callable[[], None]) -> str:
    """Return what a command says beside its result."""
    out = io.StringIO()
    with (
        contextlib.redirect_stderr(out),
        contextlib.redirect_stdout(out),
        contextlib.suppress(typer.Exit),
    ):
        asked()
    return out.getvalue()
