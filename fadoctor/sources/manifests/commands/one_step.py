"""One command of several that install: what it leaves of what earlier ones have installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.packages import COMPILED_BESIDE, TORCH
from fadoctor.sources.manifests.commands.install_options import ALONE, UPGRADE
from fadoctor.sources.manifests.commands.replaced import (
    carry_out,
    is_same_release,
    moves,
    outdate,
    replace_triton,
)
from fadoctor.sources.manifests.images.planned_stage import Stage
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.index_releases import is_bounded
from fadoctor.sources.manifests.installed.planned_torch import is_pypi
from fadoctor.sources.manifests.installed.range_ends import has_end
from fadoctor.sources.manifests.planned import Later, Requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix


class InstallStep(msgspec.Struct, frozen=True):
    """What one command asks for."""

    asked: list[Requirement]
    index: str
    flags: frozenset[str]
    is_project: bool
    """Whether all that a project asks for is resolved together."""
    is_of_pypi: bool = True
    """Whether PyPI's newest release is looked at, too."""


def install(step: InstallStep, stage: Stage, matrix: Matrix) -> None:
    """Install packages, and what they require in the place of what is there."""
    before = stage.packages.get(TORCH, [])
    known = {name: list(there) for name, there in stage.packages.items()}
    is_alone = bool(step.flags & ALONE)
    is_upgrade = bool(step.flags & UPGRADE)
    stage.install(step.asked, upgrade=is_upgrade, is_alone=is_alone, is_joint=step.is_project)
    now = stage.packages.get(TORCH, [])
    is_other = not (before and is_same_release(before, now))
    if before and is_other:
        outdate(stage, before[0], {each.name for each in step.asked})
    if any(each.name == TORCH for each in step.asked):
        stage.later = []  # whichever it was, this command decides
    if is_alone:
        return
    if now and is_other:
        replace_triton(stage, step.asked, now[-1], matrix)
    later = [] if step.is_project or is_other else list(_later(step, stage, known))
    later += [] if step.is_project or now else list(_after_server(step, stage, known))
    stage.later += later
    held = {each.asker.name for each in later}
    asking = [each for each in step.asked if each.name not in held]
    for move in (found := list(moves(stage, asking, matrix, step.index))):
        carry_out(stage, move, step.index, matrix, found)


def later_of_pip(asked: list[Requirement], constraints: list[Requirement]) -> list[Later]:
    """Return what pip asks for on top of a torch that conda brought, in one file for both."""
    by_pip = [each for each in asked if each.manager != "conda"]
    stage = Stage()
    stage.install(asked)
    stage.constraints = list(constraints)
    there = {each.name: [each] for each in asked if each.manager == "conda"}
    return list(_later(InstallStep(by_pip, "", frozenset(), is_project=False), stage, there))


def _later(step: InstallStep, stage: Stage, known: dict[str, list[Requirement]]) -> Iterator[Later]:
    """Yield the names that a command leaves open beside a torch that an earlier one chose.

    Not where the command or a constraint names torch: then an installer heeds both. What is there
    already stays, unless it is renewed.
    """
    torch = stage.packages.get(TORCH, [])
    bound = {each.name for each in (*step.asked, *stage.constraints)}
    if len(torch) != 1 or TORCH in bound or not step.is_of_pypi or not _is_chosen(torch[0]):
        return
    together = tuple(step.asked)
    for asker in together:
        is_open = not (asker.url or asker.marker or exact_version(asker.specifier))
        is_new = asker.name not in known or bool(step.flags & UPGRADE)
        if asker.name in COMPILED_BESIDE and not (torch[0].command or torch[0].manager):
            continue  # whoever starts from an image with a torch means that of the server
        is_elsewhere = asker.is_only_index and not is_pypi(asker.index)
        if is_open and is_new and not (asker.has_pages or is_elsewhere):
            yield Later(stage.packages[asker.name][-1], torch[0], together)


def _after_server(
    step: InstallStep, stage: Stage, known: dict[str, list[Requirement]]
) -> Iterator[Later]:
    """Yield a server on top of another one, each of which is compiled for one torch."""
    asked = {each.name for each in step.asked}
    for name in COMPILED_BESIDE:
        there = known.get(name, []) if name not in asked else []
        for asker in step.asked if len(there) == 1 and step.is_of_pypi else ():
            is_new = asker.name in COMPILED_BESIDE and asker.name not in known
            if is_new and not (asker.url or asker.marker or there[0].url or there[0].marker):
                yield Later(stage.packages[asker.name][-1], there[0], tuple(step.asked))


def _is_chosen(torch: Requirement) -> bool:
    """Return whether a command says which torch it is: by a range that ends, or an index."""
    is_plain = not (torch.url or torch.marker or torch.doubt)
    return is_plain and (has_end(torch.specifier) or is_bounded(torch.index))
