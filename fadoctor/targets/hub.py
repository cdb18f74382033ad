"""What transformers would take from the Hub here, and which build of it kernels would choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.hub.choice import Choice, Habits, System, choose
from fadoctor.hub.variant import parse_variant
from fadoctor.matrix.versions import parse_version
from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.matrix.query import Matrix

GENERATIONS = ("fa2", "fa3", "fa4")
_UNREAD = Unknown("no probe has looked", "the Hub's cache")
_SHOWN = 3
"""Refused builds that are named."""


def habits_of(version: str, matrix: Matrix) -> Habits | None:
    """Return how a release of kernels chooses; None where nobody has read it."""
    rows = matrix.find("kernels-releases", {"version": Known(version, "kernels")})
    cells = {name: rows.cell(name) for name in Habits.__struct_fields__}
    known = {name: cell.value for name, cell in cells.items() if isinstance(cell, Known)}
    if not {"by_name", "python_only", "stable_abi", "everywhere"} <= known.keys():
        return None
    return msgspec.convert(known, Habits)


def hub_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return for each generation what would be taken; nothing where nothing would be."""
    kernels, transformers = facts.get("kernels.version"), facts.get("transformers.version")
    if not (isinstance(kernels, Known) and isinstance(transformers, Known)):
        return {}
    torch = facts.get("torch.version", Absent("no torch"))
    repositories = matrix.find("transformers-hub-kernels", {"version": transformers})
    found: dict[str, Fact] = {}
    for generation in GENERATIONS:
        keys = {
            "version": transformers,
            "generation": Known(generation, transformers.source),
            "torch": torch,
        }
        repository = repositories.cell(generation)
        branch = matrix.find("transformers-hub-branches", keys).cell("branch")
        found[f"hub.{generation}.repository"] = repository
        found[f"hub.{generation}.branch"] = branch
        if isinstance(repository, Known) and isinstance(branch, Known):
            name = f"{repository.value}@{branch.value}"
            found |= _choice(f"hub.{generation}", name, facts, matrix)
    return found


def _choice(prefix: str, name: str, facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return which build of a kernel in the cache is chosen, and why none is."""
    version = str(getattr(facts["kernels.version"], "value", ""))
    asked = matrix.find("kernels-releases", {"version": facts["kernels.version"]})
    kind = asked.cell("repositories")
    lying = facts.get("hub.models" if _is(kind, "model") else "hub.kernels", _UNREAD)
    if not isinstance(kind, Known) or isinstance(lying, Unknown):
        return {f"{prefix}.cached": lying if isinstance(kind, Known) else kind}
    if isinstance(lying, Absent) or not isinstance(lying.value, dict) or name not in lying.value:
        return {f"{prefix}.cached": Known(False, lying.source)}
    habits, system = habits_of(version, matrix), system_of(facts)
    out: dict[str, Fact] = {
        f"{prefix}.cached": Known(True, lying.source),
        f"{prefix}.offline": _offline(name, facts),
    }
    if habits is None or isinstance(system, Unknown):
        reason = system if isinstance(system, Unknown) else Unknown("kernels was not read", version)
        return out | {f"{prefix}.build": reason}
    variants = [found for each in lying.value[name].split() if (found := parse_variant(each))]
    choice = choose(variants, habits, system)
    if choice.best is None:
        return out | _refused(prefix, choice, lying.source)
    out[f"{prefix}.build"] = Known(choice.best.name, lying.source)
    wanted = asked.cell("metadata_keys")
    return out | _of_build(prefix, f"{name} {choice.best.name}", wanted, facts)


def _offline(name: str, facts: Mapping[str, Fact]) -> Fact:
    found = facts.get("hub.offline", _UNREAD)
    if not isinstance(found, Known) or not isinstance(found.value, (tuple, list)):
        return found
    return Known(name in found.value, found.source)


def _refused(prefix: str, choice: Choice, source: str) -> dict[str, Fact]:
    """Return why no build is taken."""
    why = [f"{build}: {reason}" for build, reason in choice.refused.items()]
    more = len(why) - _SHOWN
    tail = f"; and {more} more" if more > 0 else ""
    return {
        f"{prefix}.build": Absent(f"{source}: none fits"),
        f"{prefix}.refused": Known("; ".join(why[:_SHOWN]) + tail or "it is empty", source),
    }


def _of_build(prefix: str, key: str, wanted: Fact, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what the metadata of the build that is taken say."""
    archs, keys, needs = (_words(f"hub.{n}", key, facts) for n in ("archs", "metadata", "needs"))
    silent = Unknown("its metadata name no architectures", "the Hub's cache")
    return {
        f"{prefix}.archs": silent if isinstance(archs, Absent) else archs,
        f"{prefix}.needs": needs,
        f"{prefix}.lacking": _lacking(keys, wanted),
    }


def _words(fact: str, key: str, facts: Mapping[str, Fact]) -> Fact:
    """Return what a fact says of one build, word by word; Absent where it says nothing."""
    found = facts.get(fact, _UNREAD)
    if not isinstance(found, Known) or not isinstance(found.value, dict):
        return found
    words = tuple(found.value.get(key, "").split())
    return Known(words, found.source) if words else Absent(f"{found.source}: nothing is said")


def _lacking(keys: Fact, wanted: Fact) -> Fact:
    if isinstance(keys, Unknown) or not isinstance(wanted, Known):
        return keys if isinstance(keys, Unknown) else wanted
    said = keys.value if isinstance(keys, Known) and isinstance(keys.value, tuple) else ()
    missing = tuple(each for each in _listed(wanted.value) if each not in said)
    return Known(missing, keys.source) if missing else Absent(f"{keys.source}: all are there")


def _listed(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, (list, tuple)) else ()


def system_of(facts: Mapping[str, Fact]) -> System | Unknown:
    """Return what a choice hangs on; Unknown where one of its facts is."""
    wanted = ("torch.version", "host.os", "host.machine", "torch.cuda", "torch.hip")
    for name in wanted:
        fact = facts.get(name, Unknown("no probe has looked", name))
        if isinstance(fact, Unknown):
            return fact
    known = {name: fact.value for name in facts if isinstance(fact := facts[name], Known)}
    torch = parse_version(str(known.get("torch.version", "")))
    backend = next((each for each in ("cuda", "hip") if f"torch.{each}" in known), "")
    version = parse_version(str(known.get(f"torch.{backend}", "0.0")).partition("-")[0])
    os = str(known.get("host.os", ""))
    if version is None or os not in ("linux", "windows", "macos"):
        return Unknown("what torch was built for cannot be read", "torch")
    abi = known.get("torch.cxx11_abi") if os == "linux" else None
    if os == "linux" and torch is not None and not isinstance(abi, bool):
        return Unknown("the C++ string ABI of torch is not known", "torch")
    machine = str(known.get("host.machine", ""))
    return System(
        torch=None if torch is None else (torch.major, torch.minor),
        backend={"cuda": "cuda", "hip": "rocm"}.get(backend, "cpu"),
        backend_version=(version.major, version.minor),
        cxx11_abi=abi if isinstance(abi, bool) else None,
        machine={"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine),
        system="darwin" if os == "macos" else os,
        free_threaded=known.get("python.free_threaded") is True,
    )


def _is(fact: Fact, value: str) -> bool:
    return isinstance(fact, Known) and fact.value == value
