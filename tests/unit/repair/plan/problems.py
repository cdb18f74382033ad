"""Plans for environments that are described in one line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.fact import Absent
from fadoctor.repair.plan.planner import PlannerRequest, found_ids, make_plan, session_of
from fadoctor.repair.plan.search.problem import Base, Problem
from fadoctor.repair.plan.search.wishes import WishRequest, wishes_of
from fadoctor.sources.targets.derived import derive
from fadoctor.sources.targets.saved import read_facts
from tests.unit.judging.engine.builders import fact_of

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.repair.plan.search.problem import Session

GOLDEN = Path(__file__).parents[3] / "golden"


@cache
def session() -> Session:
    """Return the shipped knowledge, read once."""
    return session_of(load_knowledge())


def golden(name: str, **changes: Any) -> Environment:
    """Return a golden environment with some facts changed; ``__`` stands for a dot."""
    found = read_facts((GOLDEN / name / "facts.json").read_bytes(), name)
    new = {key.replace("__", "."): fact_of(value) for key, value in changes.items()}
    return msgspec.structs.replace(found, facts={**found.facts, **new})


def with_package(
    environment: Environment, package: str, version: str, requires: dict[str, str] | None = None
) -> Environment:
    """Return an environment with one more package, of the catalogue."""
    distribution = package.replace("_", "-")
    installed = environment.facts["packages.installed"]
    there = dict(installed.value)  # type: ignore[union-attr, arg-type] # of golden facts
    facts = {
        f"{package}.version": version,
        f"{package}.distribution": distribution,
        f"{package}.requires": requires or {},
        f"{package}.editable": False,
        "packages.installed": {**there, distribution: version},
    }
    new = {name: fact_of(value) for name, value in facts.items()}
    return msgspec.structs.replace(environment, facts={**environment.facts, **new})


def without(environment: Environment, package: str) -> Environment:
    """Return an environment without a package."""
    gone = {name: Absent("test") for name in environment.facts if name.startswith(f"{package}.")}
    return msgspec.structs.replace(environment, facts={**environment.facts, **gone})


def plan(environment: Environment, **question: Any) -> Plan:
    """Return the plan for an environment."""
    return make_plan(environment, session(), PlannerRequest(**question))


def problem(environment: Environment, **wishes: Any) -> Problem:
    """Return the planning problem of an environment."""
    environment = derive(environment, session().matrix)
    report = diagnose(environment, session().knowledge)
    kernels = Kernels(environment, session().matrix)
    found = wishes_of(kernels, report.verdicts, found_ids(report.findings), WishRequest(**wishes))
    base = Base(report.findings, report.verdicts)
    return Problem(session(), environment, found, base, {})
