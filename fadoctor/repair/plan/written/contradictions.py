"""Whether a fix would take back what a plan does, or change what is to stay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import fact_mapping
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import PACKAGES
from fadoctor.repair.plan.states.requirements import satisfies
from fadoctor.repair.plan.written.advice import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix

# outlines-core==0.1.26
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?P<specifier>[<>=!~][^@;]{0,299})?")
_PACKAGES = (StepKind.UNINSTALL, StepKind.INSTALL)


def contradicting(
    kept: Collection[str], before: Environment, after: Environment
) -> Callable[[Fix], bool]:
    """Return what tells whether a fix changes a package that stays, or that a plan has changed.

    `kept`: the packages of the catalogue that stay. Before and after are the plan's.
    """
    stay = {name for key in kept for name in PACKAGES[key]}
    old, new = (fact_mapping(each.fact("packages.installed")) for each in (before, after))
    planned = {name: new.get(name, "") for name, version in old.items() if new.get(name) != version}

    def contradicts(fix: Fix) -> bool:
        changed = {i for step in fix.steps if step.kind in _PACKAGES for i in step.items}
        again = (i for step in fix.steps if step.kind is StepKind.INSTALL for i in step.items)
        is_kept = not names_of(changed).isdisjoint(stay)
        return is_kept or any(_takes_back(item, planned) for item in again)

    return contradicts


def _takes_back(item: str, planned: Mapping[str, str]) -> bool:
    found = _REQUIREMENT.fullmatch(item.replace(" ", ""))
    [name] = names_of([item]) or ("",)
    if found is None or name not in planned:
        return False
    version = planned[name]
    return not version or not satisfies(version, found["specifier"] or "")
