"""What distributions beside the packages of the catalogue require of the stack."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.catalogue import REQUIRER
from fadoctor.model.environment import REQUIRER_LIMIT
from fadoctor.model.packages import COMPANIONS, STACK
from fadoctor.sources.probes.metadata import HEADER_LIMIT, normalise_name, read_member
from fadoctor.sources.probes.package_facts import SMALL, read_installer, requires_facts
from fadoctor.sources.probes.requires import (
    LINE_LIMIT,
    MarkerTarget,
    egg_requirements,
)
from fadoctor.sources.probes.world import Facts, World, known, read_text, unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fadoctor.sources.probes.distributions import Distribution, Survey

FILE_LIMIT = 3_000
"""Metadata files that are read; an environment of so many distributions is none of ours."""

_NAME = re.compile(r"[\w.-]{1,100}")
_FIELD = "requires-dist:"


def requirer_facts(
    world: World, survey: Survey, wanted: Collection[str], target: MarkerTarget
) -> Facts:
    """Return the facts of what belongs to the stack, or requires a part of it, beside `wanted`.

    Reads every other metadata file once, some 50 microseconds each.
    """
    source = "the metadata of all distributions"
    if survey.problem:
        return {f"{REQUIRER}.count": unknown(survey.problem, source)}
    others = [records[0] for name, records in sorted(survey.chosen.items()) if name not in wanted]
    askers = [
        (record, lines) for record in others[:FILE_LIMIT] if (lines := list(_lines(world, record)))
    ]
    found: Facts = {f"{REQUIRER}.count": known(min(len(askers), REQUIRER_LIMIT), source)}
    for index, (record, lines) in enumerate(askers[:REQUIRER_LIMIT]):
        for name, fact in _facts(world, record, lines, target).items():
            found[f"{REQUIRER}[{index}].{name}"] = fact
    return found


def _facts(world: World, record: Distribution, lines: list[str], target: MarkerTarget) -> Facts:
    source = f"{world.name(record.metadata)}: Requires-Dist"
    return {
        "distribution": known(record.name, source),
        "version": known(record.version, source),
        "installer": read_installer(world, record),
        **requires_facts(lines, target, source),
    }


def _lines(world: World, record: Distribution) -> Iterator[str]:
    """Yield the requirements of a distribution that count; none where it is not of the stack."""
    text = (read_text(record.metadata, HEADER_LIMIT) or "").replace("\r\n", "\n")
    lines = [
        value
        for line in text.partition("\n\n")[0].split("\n")
        # Requires-Dist: torch (>=2.0) ; python_version >= "3.9"
        if line[: len(_FIELD)].lower() == _FIELD
        and 0 < len(value := line[len(_FIELD) :].lstrip(" \t")) <= LINE_LIMIT
    ]
    if not lines and not record.entry.endswith(".dist-info"):
        file = record.member("requires.txt")
        egg = read_member(file, world.name(file), SMALL)
        lines = egg_requirements(egg) if isinstance(egg, str) else []
    for line in lines:
        if record.name in COMPANIONS or _is_of_stack(line):
            yield line


def _is_of_stack(line: str) -> bool:
    """Whether a requirement is one for a package of the stack, however its name is spelled."""
    name = _NAME.match(line)
    return name is not None and normalise_name(name[0]) in STACK
