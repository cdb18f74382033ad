"""What the packages of a state ask of another one, which may bring it in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.packages import PACKAGES, TORCH
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED

_SAYS = " says "
_PIN = re.compile(r" says ==(?P<version>[0-9][0-9A-Za-z.+]{0,40})(?=[,)])")

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem


def pins_of(
    problem: Problem, package: str, environment: Environment, decided: Collection[str]
) -> list[str]:
    """Return what the packages that are decided ask of a package, "" for any version of it."""
    names = PACKAGES.get(package, (package,))
    found = []
    for asker in _who_may_lack(problem, package, environment, decided):
        needs = fact_mapping(environment.fact(f"{asker}.requires"))
        found += [needs[name] for name in names if name in needs]
    return found


def pins_of_files(environment: Environment, package: str) -> tuple[str, ...]:
    """Return the exact releases of which files ask for several, newest first; none for one."""
    told = fact_mapping(environment.fact(CONTRADICTED))
    names = PACKAGES.get(package, (package,))
    text = next((told[name] for name in names if name in told), "")
    pins = {found["version"] for found in _PIN.finditer(text)}
    is_exact = len(pins) > 1 and len(_PIN.findall(text)) == text.count(_SAYS)
    return tuple(sorted(pins, key=version_key, reverse=True)) if is_exact else ()


def _who_may_lack(
    problem: Problem, package: str, environment: Environment, decided: Collection[str]
) -> Collection[str]:
    """Return whose requirements bring in a package that a text does not name.

    Not what the text names and the plan leaves as it is: what that requires came with it.
    """
    is_text = not isinstance(problem.environment.fact("packages.installed"), Known)
    if not is_text or problem.environment.target.kind == "manifest":
        return decided
    if is_there(problem.environment, package):
        return decided

    def moves(name: str) -> bool:
        fact = f"{name}.version"
        return problem.environment.fact(fact) != environment.fact(fact)

    return decided if moves(TORCH) else [name for name in decided if moves(name)]
