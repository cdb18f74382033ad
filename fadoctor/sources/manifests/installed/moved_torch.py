"""Names that later commands leave open, whose newest release replaces the torch that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.on_index import on_index
from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.fact import Absent, Fact, Known, fact_text, printable
from fadoctor.model.packages import SETUPS, TORCH
from fadoctor.sources.manifests.commands.replaced import BUILT_FOR, needed_by
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.index_releases import ends_before
from fadoctor.sources.manifests.installed.range_ends import has_end
from fadoctor.sources.manifests.planned import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined
    from fadoctor.sources.manifests.planned import Later, Manifest

MOVED_TORCH, MOVED_TORCH_BOUND = "packages.moved_torch", "packages.moved_torch_bound"
REPLACED_BUILDS, TOO_EARLY = "packages.replaced_builds", "packages.before_torch"
_SOURCE = "the tables of releases, and the order of the commands"
_OLDEST = "3.9"
"""Where the Python is not known: the oldest one for which these packages still have releases."""
_NO_FACT = Absent("not read")


def moved_torch_facts(
    manifests: Iterable[Manifest],
    combined: Combined,
    facts: Mapping[str, Fact],
    matrix: Matrix,
) -> dict[str, Fact]:
    """Return which open names take torch away from earlier commands, and what they have to be.

    pip and uv ask for the newest release of a name that a command leaves open, whatever is there,
    and replace what that release refuses.
    """
    told: dict[str, str] = {}
    bounds: dict[str, str] = {}
    for each in (each for manifest in manifests for each in manifest.later):
        if not _is_left(each, combined) or each.asker.name in told:
            continue
        later = _with_torch(each, facts, matrix)
        if later is None:
            continue
        asker, torch = later.asker, later.torch
        releases = _releases(asker, facts, matrix)
        refusing = _refusal(later, releases, matrix)
        if refusing is None:
            continue
        newest, needs = refusing
        what = f"{asker.name} {newest} requires torch{needs}, so an installer replaces"
        told[asker.name] = f"({asker.place}: {what} torch{torch.specifier} of {torch.place})"
        if bound := _bound(later, releases[0], matrix):
            bounds[asker.name] = ",".join(filter(None, (asker.specifier, bound)))
    shown = {name: printable(text, 300) for name, text in told.items()}
    words = " ".join(f"{name}{bound}" for name, bound in bounds.items())
    return {
        MOVED_TORCH: Known(shown, _SOURCE),
        MOVED_TORCH_BOUND: Known(printable(words, 500), _SOURCE) if words else Absent(_SOURCE),
    }


def _with_torch(later: Later, facts: Mapping[str, Fact], matrix: Matrix) -> Later | None:
    """Return the same with the torch that a server pins in its place; None where none is known."""
    server = later.torch
    if server.name == TORCH:
        return later
    pins = {
        needed_by(server.name, each[0], matrix).get(TORCH, "") if each else ""
        for each in _releases(server, facts, matrix)
    }
    pin = pins.pop() if len(pins) == 1 else ""
    torch = Requirement(TORCH, server.place, pin)
    return msgspec.structs.replace(later, torch=torch) if exact_version(pin) else None


def replaced_builds(manifests: Iterable[Manifest], combined: Combined) -> dict[str, Fact]:
    """Return what is compiled for a torch that is replaced later: the new one does not load it."""
    torch = combined.packages.get(TORCH)
    now = f"torch{torch.specifier or f'=={torch.version}'}" if torch and torch.version else "torch"
    there = f"; {now} of {torch.places[0]} stays" if torch and torch.places else ""
    told = {
        each.name: printable(f"({each.place}: {each.doubt}{there})", 300)
        for manifest in manifests
        for each in manifest.requirements
        if each.name in SETUPS and each.doubt.startswith(BUILT_FOR)
    }
    return {REPLACED_BUILDS: Known(told, _SOURCE)}


def too_early(manifests: Iterable[Manifest]) -> dict[str, Fact]:
    """Return which commands import torch before any command installs it, and where."""
    told = {
        each.value: printable(f"({each.place})", 300)
        for manifest in manifests
        for each in manifest.early
    }
    return {TOO_EARLY: Known(told, _SOURCE)}


def _is_left(later: Later, combined: Combined) -> bool:
    """Return whether both are in the end what they were then, and nothing bounds them."""
    asker, torch = (combined.packages.get(each.name) for each in (later.asker, later.torch))
    is_server = later.torch.name != TORCH
    if asker is None or torch is None or {later.asker.name, TORCH} & combined.bounds.keys():
        return False
    is_open = not (asker.url or (asker.version and not is_server))
    is_open = is_open and later.asker.place in asker.places
    is_there = later.torch.place in torch.places and not torch.url
    parsed = parse_version(exact_version(later.torch.specifier))
    is_release = parsed is None or not parsed.is_prerelease  # NVIDIA's images have bounds of pip
    return is_open and is_there and is_release and asker.is_sure and torch.is_sure


def _releases(
    asker: Requirement, facts: Mapping[str, Fact], matrix: Matrix
) -> list[tuple[str, ...]]:
    """Return what the index has of a name, the newest first; where Python is open, for the ends."""
    python = ".".join(fact_text(facts.get("python.version", _NO_FACT), "").split(".")[:2])
    platform = fact_text(facts.get("host.platform", _NO_FACT), "")
    pythons = (python,) if python else ("", _OLDEST)
    return [on_index(asker.name, matrix, asker.specifier, each, platform) for each in pythons]


def _refusal(
    later: Later, releases: list[tuple[str, ...]], matrix: Matrix
) -> tuple[str, str] | None:
    """Return the newest release and what it requires of torch, where that excludes it."""
    found = []
    for each in releases:
        needs = needed_by(later.asker.name, each[0], matrix).get(TORCH, "") if each else ""
        if not needs or _admits(later.torch, needs) or _is_kept(later, needs, matrix):
            return None
        found.append((each[0], needs))
    return found[0] if found else None


def _is_kept(later: Later, needs: str, matrix: Matrix) -> bool:
    """Return whether another name of the command is for another torch: then both are weighed."""
    others = (
        needed_by(each.name, version, matrix).get(TORCH, "")
        for each in later.together
        if (version := exact_version(each.specifier))
    )
    return any(text and is_impossible((text, needs)) for text in others)


def _admits(torch: Requirement, needs: str) -> bool:
    """Return whether the torch that is there may meet what a release requires."""
    is_behind = not has_end(torch.specifier) and ends_before(torch.index, needs)
    return not (is_behind or is_impossible((torch.specifier, needs)))


def _bound(later: Later, releases: tuple[str, ...], matrix: Matrix) -> str:
    """Return the bound within which the newest release admits the torch that is there.

    None by a release that names no torch, where newer ones pin one: it did so in an extra.
    """
    above, pins = "", False
    for version in releases:
        needs = needed_by(later.asker.name, version, matrix).get(TORCH, "")
        pins = pins or bool(exact_version(needs))
        if _admits(later.torch, needs) and (needs or not pins):
            is_exact = not needs or bool(exact_version(needs))
            return f"=={version}" if is_exact else f"<{above}"
        above = version
    return ""
