"""The golden cases: a folder with facts, and everything that is printed about them.

A case whose name is that of a recording in tests/hosts takes its facts from there when it is
written again; any other folder keeps the ``facts.json`` that somebody put there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.diagnose import conclude, foresee
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.repair.plan.planner import PlannerRequest, make_plan, session_of
from fadoctor.repair.plan.written.advise import advise
from fadoctor.report import json_, plan_text, text
from fadoctor.report.style import Style
from fadoctor.sources.targets.saved import read_facts
from tests.hosts import recording
from tests.work import in_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.report import Report
    from fadoctor.model.rule import Knowledge

CASES = Path(__file__).parent

_VERSION = "0"
"""In place of the versions of fadoctor and its rules, which change with every release."""


def names() -> list[str]:
    """Return the names of all cases."""
    return sorted(path.parent.name for path in CASES.glob("*/facts.json"))


def environment(name: str) -> Environment:
    """Return the facts of a case."""
    return read_facts((CASES / name / "facts.json").read_bytes(), name)


def report(name: str, knowledge: Knowledge) -> Report:
    """Return the report on a case, without what changes with every release."""
    before = foresee(environment(name), knowledge)
    found = conclude(before)
    findings = advise(found.findings, before, session_of(knowledge), PlannerRequest())
    found = msgspec.structs.replace(found, findings=findings)
    rules = msgspec.structs.replace(found.rules, version=_VERSION, sha256="")
    return msgspec.structs.replace(found, fadoctor=_VERSION, rules=rules)


def refresh_facts(name: str) -> None:
    """Read the facts again from the recording of the same name, where there is one."""
    if name not in recording.names():
        return
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        root = Path(folder).resolve()
        facts = recording.read(name, root)
        found = json_.render(msgspec.structs.replace(facts, fadoctor=_VERSION))
    (CASES / name / "facts.json").write_text(found.replace(str(root), ""), encoding="utf-8")


def _as_text(found: Report) -> str:
    return text.render(found, Style(width=80))


def _as_wide_text(found: Report) -> str:
    return text.render(found, Style(width=160, verbose=True))


def _as_ascii(found: Report) -> str:
    return text.render(found, Style(width=80, ascii_only=True))


def _as_narrow_text(found: Report) -> str:
    return text.render(found, Style(width=50))


def _as_line(found: Report) -> str:
    return text.render(found, Style(width=50, quiet=True))


def _as_json(found: Report) -> str:
    """Return the report without the facts, which stand in ``facts.json``."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return json_.render({key: value for key, value in plain.items() if key != "environment"})


def _as_plan(found: Report) -> str:
    session = session_of(load_knowledge())
    return plan_text.render(make_plan(environment_of(found), session, PlannerRequest()))


def environment_of(found: Report) -> Environment:
    """Return a report's facts as an environment."""
    return read_facts(msgspec.json.encode(found), "the report")


OUTPUTS: dict[str, Callable[[Report], str]] = {
    "out.txt": _as_text,
    "out.wide.txt": _as_wide_text,
    "out.ascii.txt": _as_ascii,
    "out.narrow.txt": _as_narrow_text,
    "out.line.txt": _as_line,
    "out.json": _as_json,
    "fix.txt": _as_plan,
}
"""File -> what is in it."""
