"""What is taken of the folders that LOCAL_KERNELS names, which win over the Hub and its cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.hub.choice import choose
from fadoctor.sources.hub.local import ITSELF, VARIABLE, parse_local
from fadoctor.sources.hub.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.hub.choice import Habits, HubChoice, System

NOUN = "local"
_UNREAD = Unknown("no probe has looked", VARIABLE)


def local_folder(repository: Fact, facts: Mapping[str, Fact], matrix: Matrix) -> str:
    """Return the folder that is taken for a kernel, "" where this kernels does not look for one."""
    text = facts.get(f"env.{VARIABLE}")
    if not isinstance(text, Known) or not isinstance(repository, Known):
        return ""
    release = matrix.find("kernels-releases", {"version": facts["kernels.version"]})
    heeds = release.cell("local_kernels")
    is_heeded = isinstance(heeds, Known) and heeds.value is True
    return parse_local(str(text.value)).folders.get(str(repository.value), "") if is_heeded else ""


def local_kernel(repository: str, facts: Mapping[str, Fact]) -> tuple[str, str] | Unknown:
    """Return the branch that the folder of a kernel stands for, and the builds in it."""
    found = facts.get("hub.local", _UNREAD)
    if not isinstance(found, Known) or not isinstance(found.value, dict):
        reason = found.reason if isinstance(found, Unknown) else "its folder was not read"
        return Unknown(reason, VARIABLE)
    for name, builds in found.value.items():
        if name.rpartition("@")[0] == repository:
            return name.rpartition("@")[2], builds
    return Unknown("its folder was not read", VARIABLE)


def local_facts(
    prefix: str, builds: str, ready: tuple[Habits, System] | Unknown
) -> tuple[dict[str, Fact], HubChoice | None]:
    """Return what is known of the choice among the builds of a folder, and the choice."""
    there: Fact = Known(True, VARIABLE)
    out: dict[str, Fact] = {f"{prefix}.cached": there, f"{prefix}.offline": there}
    if isinstance(ready, Unknown):
        return out | {f"{prefix}.build": ready}, None
    if builds == ITSELF:
        itself = Unknown("the folder is one build, used without a check of its target", VARIABLE)
        return out | {f"{prefix}.build": itself}, None
    variants = [found for each in builds.split() if (found := parse_variant(each))]
    choice = choose(variants, *ready)
    if choice.best is None:
        return out | {f"{prefix}.build": Absent(f"{VARIABLE}: none fits")}, choice
    return out | {f"{prefix}.build": Known(choice.best.name, VARIABLE)}, choice
