"""What nobody chose of the files: other extras and groups, and the systems of their markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known, fact_text
from fadoctor.model.packages import package_of
from fadoctor.sources.pasted.claims import machine_facts
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.sources.manifests.planned import Manifest

_LIMIT = 6
"""Lists that are judged: each is judged before and after a change."""

# triton==3.2.0 ; sys_platform == 'linux'
_OF_A_SYSTEM = compiled(r"(?i)\b(?:sys_platform|platform_system)\b|\bos_name\b")
_SYSTEMS = {"linux": "x86_64", "windows": "amd64"}
"""Systems that builds of torch for CUDA are published for, and their processor."""


def other_systems(
    manifests: Iterable[Manifest], environment: Environment
) -> Iterator[tuple[str, Environment]]:
    """Yield the other system that markers of the files serve, and what a machine with it is."""
    marked = (
        _OF_A_SYSTEM.search(each.marker)
        for manifest in manifests
        for each in manifest.requirements
        if each.marker and package_of(each.name)
    )
    here = fact_text(environment.fact("host.os"), "")
    if here not in _SYSTEMS or not any(marked):
        return
    for system, machine in _SYSTEMS.items():
        if system != here:
            said = {n: Known(v, "markers") for n, v in machine_facts(system, machine).items()}
            yield system, msgspec.structs.replace(environment, facts=environment.facts | said)


def other_choices(
    manifests: Iterable[Manifest],
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the option that takes a list, and the extras and groups to choose with it.

    Of what was chosen all that the project does not keep apart from it. Only lists that name a
    package of which anything is known.
    """
    manifests = tuple(manifests)
    lists = dict.fromkeys(
        each.of
        for manifest in manifests
        for each in manifest.aside
        if each.of and package_of(each.name)
    )
    apart = [names for manifest in manifests for names in manifest.apart]
    choice = manifests[0].choice if manifests else None
    for of in list(lists)[:_LIMIT]:
        kind, _, name = of.partition(" ")
        chosen = {"extra": choice.extras, "group": choice.groups} if choice is not None else {}
        kept = {
            key: tuple(
                each for each in names if not any({of, f"{key} {each}"} <= both for both in apart)
            )
            for key, names in chosen.items()
        }
        kept[kind] = (*kept.get(kind, ()), name)
        yield f"--{kind} {name}", kept.get("extra", ()), kept.get("group", ())
