"""The questions of tools/answers.py: recorded machines, cases of rules, files of every format."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from fadoctor import api
from fadoctor.judging.diagnose import foresee
from fadoctor.judging.engine.cases import case_environment, read_case
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.wheels import Wheels
from fadoctor.model.errors import FadoctorError
from fadoctor.proof.smoke.choice import CellsRequest, cell_list, choose
from fadoctor.report import json_
from tests.catalogue.environments import Torches, environment
from tests.hosts import recording
from tests.shipped import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.model.environment import Environment

    Answers = Iterator[tuple[str, str]]

_NTH = {"log": 4, "when": 50, "plan": 8}
"""One of so many is asked; which one a digest of its name says, so that new ones shift none."""

_EVERY_WHEEL = 391
_A100: Any = {
    "gpu": "A100",
    "driver": "550.54.15",
    "python_version": "3.12",
    "platform": "linux_x86_64",
}


def answers(root: Path) -> Answers:
    """Yield the name of each question, and the answer as JSON."""
    yield from _of_goldens(root)
    yield from _of_hosts()
    yield from _of_wheels()
    yield from _of_cases(root)
    yield from _of_files(root)


def _of_goldens(root: Path) -> Answers:
    for file in sorted(root.glob("tests/golden/*/facts.json")):
        name = f"golden/{file.parent.name}"
        yield from _about(name, {"facts": str(file)}, plans=True)
        yield f"{name}/smoke-list", _said(_cells, str(file))
    for file in sorted(root.glob("tests/golden/founding/*/facts.yaml")):
        name, log = f"founding/{file.parent.name}", (file.parent / "log.txt").read_bytes()
        facts = _of_case(yaml.safe_load(file.read_text("utf-8")))
        yield f"{name}/explain", _said(api.explain, log)
        yield f"{name}/explain-beside", _said(api.explain, log, facts=facts)
        yield from _about(name, {"facts": facts}, plans=False)


def _of_hosts() -> Answers:
    for name in recording.names():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            facts = recording.read(name, root)
            plans = _is_chosen(name, "plan")
            for asked, answer in _about(f"hosts/{name}", {"facts": facts}, plans=plans):
                yield asked, answer.replace(str(root), "")


def _of_wheels() -> Answers:
    tables = compiled().knowledge.tables
    torches = Torches(tables)
    for file in list(Wheels(tables).official())[::_EVERY_WHEEL]:
        for gpu in ("8.0", "7.5"):
            facts = environment(file, torches.fitting(file, "8.0"), (gpu,))
            name = f"wheels/{file.url.rpartition('/')[2]}/{gpu}"
            yield f"{name}/check", _said(api.check, facts=facts)


def _of_cases(root: Path) -> Answers:
    for file in sorted(root.glob("rules/*/*.yaml")):
        if file.parent.name in ("matrix", "schema"):
            continue
        for raw in _read(file)["cases"]:
            name = f"rules/{file.stem}/{str(raw['name']).replace('/', ' ')}"
            log = raw.get("log")
            if not _is_chosen(name, "log" if log else "when"):
                continue
            if log:
                yield f"{name}/explain", _said(api.explain, log)
            else:
                facts = _of_case(raw.get("facts") or {}, tuple(raw.get("unknown") or ()))
                yield f"{name}/check", _said(api.check, facts=facts)


def _read(file: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_bytes(), loader)  # noqa: S506 -- a safe one, in C where it is there


def _of_files(root: Path) -> Answers:
    machine = str(root / "tests" / "golden" / "linux-a100-healthy" / "facts.json")
    kinds: dict[str, Callable[[str], Any]] = {
        "samples": lambda name: api.check(requirements=name, **_A100),
        "public": lambda name: api.check(config=name, facts=machine),
        "pasted": lambda name: api.facts(facts=name),
    }
    for file in sorted((root / "tests" / "unit").rglob("*")):
        if file.parent.name not in ("samples", "public") or not file.is_file():
            continue
        room = file.parent.parent.name
        kind = "pasted" if room == "pasted" else file.parent.name
        with _working_in(file.parent):
            yield f"files/{room}/{file.name}", _said(kinds[kind], file.name)


def _about(name: str, asked: dict[str, Any], *, plans: bool) -> Answers:
    yield f"{name}/facts", _said(api.facts, **asked)
    yield f"{name}/check", _said(api.check, **asked)
    if plans:
        yield f"{name}/fix", _said(api.plan, **asked)
        yield f"{name}/fix-want", _said(api.plan, want="flash-attn", **asked)


def _cells(facts: str) -> Any:
    found = foresee(api.facts(facts=facts), load_knowledge())
    plain, thorough = (choose(CellsRequest(thorough=each), found.kernels) for each in (False, True))
    return cell_list(plain, thorough)


def _of_case(facts: dict[str, Any], unknown: tuple[str, ...] = ()) -> Environment:
    raw = {"name": "case", "facts": facts, "unknown": unknown, "expect": {"outcome": "pass"}}
    return case_environment(read_case(raw))


def _said(ask: Callable[..., Any], *words: Any, **asked: Any) -> str:
    """Return an answer as JSON, without what changes with every release; an error in its words."""
    try:
        found = ask(*words, **asked)
    except FadoctorError as error:
        return f"{type(error).__name__}: {error}\n"
    plain = msgspec.to_builtins(found)
    if "fadoctor" in plain:
        plain["fadoctor"] = "0"
    if isinstance(rules := plain.get("rules"), dict):
        rules |= {"version": "0", "sha256": ""}
    return json_.render(plain)


def _is_chosen(name: str, kind: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % _NTH[kind] == 0


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
