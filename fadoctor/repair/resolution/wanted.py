"""What a plan asks for, package by package, and where it goes below what files ask for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import fact_text
from fadoctor.model.packages import TORCH, package_of
from fadoctor.model.plan import ActionKind
from fadoctor.repair.resolution.said_elsewhere import specifier_of
from fadoctor.repair.resolution.torch_sources import has_own_builds
from fadoctor.sources.manifests.installed.contradicted import is_from_below
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.sources.manifests.planned import Manifest

# https://flashinfer.ai/whl/cu121/torch2.3
_OF_TORCH = re.compile(r"/torch-?(?P<torch>\d{1,2}\.\d{1,2})(?:\.\d{1,2})?/?$")
# torch==2.6.0, flash-attn @ https://...
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def name_of(requirement: str) -> str:
    """Return the package that a requirement is for, as indexes write its name; "" for none."""
    found = _NAME.match(requirement)
    return normalise_name(found[0]) if found else ""


def wanted_of(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield name, requirement ("" to remove it) and index of what a plan changes."""
    installed: dict[str, tuple[str, str]] = {}
    removed: dict[str, None] = {}
    for action in plan.actions:
        for text in action.requirements:
            name = name_of(text)
            if action.kind is ActionKind.UNINSTALL:
                removed[name] = None
            elif action.kind in (ActionKind.INSTALL, ActionKind.BUILD) and name:
                installed[name] = (text, action.index if has_own_builds(name, text) else "")
    # triton-windows for triton: another distribution of one package takes its line
    goes = {package_of(name, name): name for name in removed if name not in installed}
    for name, (text, index) in installed.items():
        yield goes.pop(package_of(name, name), name), text, index
    yield from ((name, "", "") for name in goes.values())


def notes_of(
    plan: Plan, environment: Environment, manifests: Iterable[Manifest]
) -> tuple[str, ...]:
    """Return what a reader of the changed lines has to know."""
    manifests = tuple(manifests)
    older = older_notes(plan, environment, manifests)
    return (*older, *other_torch_notes(plan, environment, manifests))


def older_notes(
    plan: Plan, environment: Environment, manifests: Iterable[Manifest]
) -> Iterator[str]:
    """Yield where a plan goes below the release that a file asks for at least, and for which rules.

    Locks follow from what they are made of.
    """
    asks = {name: specifier_of(wanted) for name, wanted, _ in wanted_of(plan) if wanted}
    reasons = {
        name: dict.fromkeys(
            rule
            for action in plan.actions
            if name in map(name_of, action.requirements)
            for rule in action.findings
        )
        for name in asks
    }
    there = {place for places in environment.places.values() for place in places}
    said = dict.fromkeys(each for m in manifests if not m.is_complete for each in m.requirements)
    for each in said:
        new = asks.get(each.name, "")
        is_said = not (each.url or each.is_as_came) and each.place in there
        if not new.startswith("==") or not is_said:
            continue
        if is_from_below(new, each.specifier):
            rules = ", ".join(reasons[each.name])
            because = f" (for {rules})" if rules else ""
            release = new.removeprefix("==").partition("+")[0]
            yield (
                f"{each.place} asks for {each.name}{each.specifier}: "
                f"{release} is older than that{because}"
            )


def other_torch_notes(
    plan: Plan, environment: Environment, manifests: Iterable[Manifest]
) -> Iterator[str]:
    """Yield which packages come from an index whose address names another torch than comes."""
    here = fact_text(environment.fact("torch.version"), "")
    after = next((each.after for each in plan.changes if each.distribution == TORCH), here)
    series = ".".join(after.partition("+")[0].split(".")[:2])
    said = dict.fromkeys(each for m in manifests for each in m.requirements if each.index)
    for each in said if series else ():
        found = _OF_TORCH.search(each.index)
        if found is not None and found["torch"] != series:
            yield (
                f"{each.place}: {each.index} has the {each.name} for torch {found['torch']}, "
                f"but torch {after} comes: name an index for torch {series}, or none"
            )
