"""The ways of commands that run something, and of those who are no terminal: smoke, mcp, api."""

from __future__ import annotations

import json
import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec

from fadoctor import api
from fadoctor.interfaces.assistants import answers
from fadoctor.interfaces.assistants.answers import AssistantRequest
from fadoctor.interfaces.cli import facts, hook, rules, smoke, terminal, undo
from fadoctor.interfaces.cli import run as run_command
from fadoctor.interfaces.cli import trace as trace_command
from fadoctor.interfaces.cli.options import formats
from fadoctor.interfaces.commands.backends import Backends
from fadoctor.knowledge.matrix import load
from fadoctor.model.environment import Target
from fadoctor.model.errors import FadoctorError
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict
from fadoctor.processes.command import Ending, Result
from fadoctor.sources.targets.saved import read_facts
from tests.leaks.ways import LINES, leaks, log_of, said, saved, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fadoctor.processes.command import Command
    from tests.leaks.plants import Plant
    from tests.leaks.ways import Leak


BATCH = 90
"""Plants of one document: making a document takes longer than looking for them."""


class Speaking:
    """Stands for the processes of a smoke run: each plant is raised, printed or warned of."""

    def __init__(self, plants: Sequence[Plant]) -> None:
        self.plants = list(plants)
        self.said = 0

    def __call__(self, command: Command) -> Result:
        script = Path(command.argv[2]).name
        if script == "_fadoctor_imports.py":
            return self._imports(command)
        assert script == "_fadoctor_worker.py"
        return self._works(command)

    def _next(self) -> str:
        self.said += 1
        return self.plants[self.said % len(self.plants)].text

    def _works(self, command: Command) -> Result:
        asked = json.loads(command.argv[5])["cells"]["cpu"]
        device = {"device": "cpu", "name": self._next(), "compute_capability": ""}
        lines: list[dict[str, Any]] = [
            {"event": "start", "python": self._next()},
            {"event": "imported", "torch_version": self._next(), "cuda_available": False,
             "cuda_warnings": [self._next(), self._next()], "devices": [device], "device": "cpu"},
        ]  # fmt: skip
        makers = (self._raised, self._noted, self._lacking)
        for number, cell in enumerate(asked[:-1]):
            lines.append({"event": "phase", "cell": cell, "phase": "forward"})
            lines.append({"event": "done", "cell": cell, **makers[number % 3](number)})
        lines.append({"event": "phase", "cell": asked[-1], "phase": "forward"})
        text = "".join(json.dumps({"schema": 3, **line}) + "\n" for line in lines)
        Path(command.argv[3]).write_text(text, encoding="utf-8")
        return Result(Ending.EXITED, 3, self._next(), self._next(), 1.0)

    def _raised(self, number: int) -> dict[str, Any]:
        text = LINES[number % len(LINES)].replace("{}", self._next())
        trace = f"{text}\n{self._next()}"
        raised = {"type": "RuntimeError", "text": self._next(), "trace": trace}
        return {"phase": "forward", "exception": raised, "warnings": [self._next()]}

    def _noted(self, _: int) -> dict[str, Any]:
        numbers = {"out": 2e-7, "dq": 3e-7, "dk": 3e-7, "dv": 3e-7}
        return {"phase": "timing", "kernels": [self._next()], "errors": numbers,
                "notes": [self._next()], "out_dtype": self._next()}  # fmt: skip

    def _lacking(self, _: int) -> dict[str, Any]:
        return {"phase": "import", "lacking": self._next()}

    def _imports(self, command: Command) -> Result:
        steps = json.loads(command.argv[4])
        event = {"schema": 1, "step": steps[0]}
        text = json.dumps({**event, "event": "begin"}) + "\n"
        if self.said % 2:
            raised = {"type": "ImportError", "text": self._next(), "trace": self._next()}
            text += json.dumps({**event, "event": "failed", **raised}) + "\n"
        Path(command.argv[3]).write_text(text, encoding="utf-8")
        return Result(Ending.EXITED, 1, self._next(), self._next(), 1.0)


def through_smoke(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `smoke` workers that say the plants, in an environment whose facts hold them."""
    path = folder / "facts.json"
    for at in range(0, len(plants), BATCH):
        batch = plants[at : at + BATCH]
        path.write_text(json.dumps(saved(batch), ensure_ascii=False), encoding="utf-8")
        found = read_facts(path.read_bytes(), str(path))
        target = Target("environment", "/env", "--python", python="/env/bin/python", may_run=True,
                        notes=tuple(each.text for each in batch))  # fmt: skip
        found = msgspec.structs.replace(found, target=target)
        looked = (load.load_knowledge(), found)
        with (
            mock.patch("fadoctor.interfaces.commands.smoke.look", return_value=looked),
            mock.patch("fadoctor.processes.run.run", Speaking(batch)),
        ):
            asked = partial(
                smoke.smoke, device="cpu", thorough=True, imports=True, redact=redact, verbose=True
            )
            for form, shown in written(formats.SmokeFormat, folder, asked):
                yield from leaks(f"smoke {form}", batch, shown)


def through_mcp(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give each tool of the assistants' server the plants, in all that it takes."""
    assert redact in (True, False)  # what assistants get is redacted always
    for at in range(0, len(plants), BATCH):
        batch = plants[at : at + BATCH]
        report = json.dumps(saved(batch), ensure_ascii=False)
        asked = AssistantRequest(report=report)
        yield from _answered(batch, partial(answers.check, asked, folder), "check")
        yield from _answered(batch, partial(answers.plan, asked, (), (), folder), "plan")
        named = (folder / "requirements.txt", folder / "train.yaml")
        named[0].write_text("".join(f"flash-attn=={each.text}\n" for each in batch))
        named[1].write_text("".join(f"bf16: {json.dumps(each.text)}\n" for each in batch))
        both = AssistantRequest(
            gpu=("V100",), requirements=(str(named[0]),), config=(str(named[1]),)
        )
        yield from _answered(batch, partial(answers.check, both, folder), "check of files")
    for at in range(0, len(plants), len(LINES)):
        few = plants[at : at + len(LINES)]
        log = log_of(few)
        yield from _answered(
            few, partial(answers.explain, log, AssistantRequest(), folder), "explain"
        )


def _answered(
    plants: Sequence[Plant], asked: Callable[[], answers.AssistantAnswer], tool: str
) -> Iterator[Leak]:
    try:
        text, document = asked()
    except FadoctorError as error:
        text, document = answers.refusal(error), {}
    yield from leaks(f"mcp {tool}", plants, text)
    yield from leaks(f"mcp {tool} document", plants, json.dumps(document, ensure_ascii=False))


def through_api(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give programs, and what a notebook shows of it, facts and logs with the plants."""
    assert not redact
    path = folder / "facts.json"
    for at in range(0, len(plants), BATCH):
        batch = plants[at : at + BATCH]
        path.write_text(json.dumps(saved(batch), ensure_ascii=False), encoding="utf-8")
        calls: dict[str, Callable[[], Any]] = {
            "check": partial(api.check, facts=path),
            "plan": partial(api.plan, facts=path),
            "facts": partial(api.facts, facts=path),
            "explain": partial(api.explain, log_of(batch)),
        }
        for name, call in calls.items():
            found = call()
            text = msgspec.json.encode(found).decode() + found._repr_html_()
            yield from leaks(f"api {name}", batch, text)


def through_reasons(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Give `rules show --facts` and `facts --markdown` saved facts with the plants."""
    path, out = folder / "facts.json", folder / "out"
    for at in range(0, len(plants), BATCH):
        batch = plants[at : at + BATCH]
        path.write_text(json.dumps(saved(batch), ensure_ascii=False), encoding="utf-8")
        for form in rules.PageFormat if not redact else ():
            said(partial(rules.show, _RULE, facts=str(path), format_=form, output=out))
            yield from leaks(f"rules show {form.value}", batch, out.read_text("utf-8"))
        said(partial(facts.facts, facts=str(path), markdown=True, output=out))
        yield from leaks("facts --markdown", batch, out.read_text("utf-8"))


_RULE = "driver-too-old"


def through_words(plants: Sequence[Plant], folder: Path, *, redact: bool) -> Iterator[Leak]:
    """Make every command say on standard error what it was given: names, and words of others."""
    assert not redact
    for plant in plants:
        yield from leaks("fix", [plant], said(partial(undo.say, f"pip: {plant.text}")))
        yield from leaks("debug", [plant], _logged(plant.text))
        yield from leaks("pytest plug-in", [plant], _reason(plant.text))
    names = [plant for plant in plants if not {"/", "\n", "@"}.intersection(plant.text)]
    for plant in names[::4]:
        name = plant.text
        ways: dict[str, Callable[[], None]] = {
            "hook": partial(hook.hook, hook.HookKind.CONFIG, [folder / name]),
            "run": partial(run_command.run, [f"./{name}"]),
            "trace": partial(trace_command.trace, [f"./{name}"]),
        }
        for way, asked in ways.items():
            yield from leaks(way, [plant], said(asked))


def _logged(text: str) -> str:
    def logs() -> None:
        root, kept = logging.getLogger(), logging.getLogger().handlers[:]
        root.handlers.clear()
        try:
            terminal.log_to_stderr(debug=True)
            logging.getLogger("fadoctor.probes").debug("a probe failed: %s", text)
        finally:
            root.handlers[:] = kept

    return said(logs)


def _reason(text: str) -> str:
    verdict = Verdict(
        "GPU", Backend.FA2, "2.8", Dtype.BF16, Predicted.UNKNOWN, (), Measured.NOT_RUN, text
    )
    return Backends((verdict,), {}, "").why_not("fa2", "bf16")
