"""What would be taken from the Hub here, and which build of it kernels would choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import KERNELS
from fadoctor.model.typed import convert
from fadoctor.sources.hub.choice import Habits, HubChoice, System, choose
from fadoctor.sources.hub.local import KIND as LOCAL
from fadoctor.sources.hub.variant import Interface, Variant, parse_variant
from fadoctor.sources.targets.hub_builds import SOURCE, Published, choose_published, published
from fadoctor.sources.targets.hub_local import NOUN, local_facts, local_folder, local_kernel
from fadoctor.sources.targets.hub_pick import Picked, pick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix

GENERATIONS = ("fa2", "fa3", "fa4", "sage")
_UNREAD = Unknown("it was not read", "the Hub's cache")
NOUNS = (
    "cached", "build", "download", "refused", "archs", "lacks", "doubt", "hearsay", "gigabytes",
    "offline", "lacking", "needs", "local",
)  # fmt: skip
"""What is said of a kernel that is taken."""
_SHOWN = 3
"""Refused builds that are named."""


def habits_of(version: str, matrix: Matrix) -> Habits | None:
    """Return how a release of kernels chooses; None where nobody has read it."""
    rows = matrix.find("kernels-releases", {"version": Known(version, KERNELS)})
    cells = {name: rows.cell(name) for name in Habits.__struct_fields__}
    known = {name: cell.value for name, cell in cells.items() if isinstance(cell, Known)}
    if not {"by_name", "python_only", "stable_abi", "everywhere"} <= known.keys():
        return None
    return convert(known, Habits)


def hub_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return for each generation what would be taken; nothing where nothing would be."""
    if not isinstance(facts.get("kernels.version"), Known):
        return {}
    found: dict[str, Fact] = {}
    for generation in GENERATIONS:
        picked = pick(generation, facts, matrix)
        if not picked.by:
            continue
        prefix = f"hub.{generation}"
        known = _known_kernel(picked)
        otherwise = Absent("nothing to say") if isinstance(known, tuple) else known
        found |= {f"{prefix}.{noun}": otherwise for noun in NOUNS}
        found[f"{prefix}.taken_by"] = Known(picked.by, "what is installed")
        found[f"{prefix}.repository"] = picked.repository
        found[f"{prefix}.branch"] = picked.branch
        found[f"{prefix}.broken"] = picked.broken
        if folder := local_folder(picked.repository, facts, matrix):
            found |= _of_folder(prefix, str(getattr(picked.repository, "value", "")), facts, matrix)
            found[f"{prefix}.{NOUN}"] = Known(folder, "LOCAL_KERNELS")
        elif isinstance(known, tuple):
            found |= _choice(prefix, known, facts, matrix)
    return found


def _of_folder(
    prefix: str, repository: str, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, Fact]:
    """Return what is taken of the folder that LOCAL_KERNELS names for a kernel."""
    found = local_kernel(repository, facts)
    if isinstance(found, Unknown):
        return {f"{prefix}.build": found}
    branch, builds = found
    out = _held_against(prefix, published(matrix, repository, branch), facts)
    out[f"{prefix}.branch"] = Known(branch, "LOCAL_KERNELS")
    chosen, choice = local_facts(prefix, builds, _ready(facts, matrix))
    out |= chosen
    if choice is None:
        return out
    if choice.best is None:
        return out | {f"{prefix}.refused": _refused(choice, "LOCAL_KERNELS")}
    asked = matrix.find("kernels-releases", {"version": facts["kernels.version"]})
    name = f"{repository}@{branch} {choice.best.name}"
    return out | _of_build(prefix, name, asked.cell("metadata_keys"), facts)


def _known_kernel(picked: Picked) -> tuple[str, str] | Absent | Unknown:
    """Return repository and branch of the kernel that is taken, or why they are not known."""
    names = []
    for fact in (picked.repository, picked.branch):
        if not isinstance(fact, Known):
            return fact
        names.append(str(fact.value))
    return (names[0], names[1])


def taken_builds(facts: Mapping[str, Fact], matrix: Matrix) -> tuple[str, ...]:
    """Return the compiled builds in the cache that are taken: ``kernel owner/name@v1 build``."""
    found, kind = hub_facts(facts, matrix), "kernel"
    asked = (
        matrix.find("kernels-releases", {"version": facts["kernels.version"]}) if found else None
    )
    if asked is not None and _is(asked.cell("repositories"), "model"):
        kind = "model"
    names: dict[str, None] = {}
    for generation in GENERATIONS:
        nouns = (found.get(f"hub.{generation}.{n}") for n in ("repository", "branch", "build"))
        known = [str(fact.value) for fact in nouns if isinstance(fact, Known)]
        place = LOCAL if isinstance(found.get(f"hub.{generation}.{NOUN}"), Known) else kind
        if len(known) == 3 and not _is_plain(known[2]):
            names[f"{place} {known[0]}@{known[1]} {known[2]}"] = None
    return tuple(names)


def _is_plain(build: str) -> bool:
    """Return whether nothing of a build is compiled."""
    variant = parse_variant(build)
    return variant is None or variant.interface is Interface.PYTHON


def _choice(
    prefix: str, kernel: tuple[str, str], facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, Fact]:
    """Return which build of a kernel is chosen of those in the cache, and of those published."""
    name, there = "@".join(kernel), published(matrix, *kernel)
    out = _held_against(prefix, there, facts)
    asked = matrix.find("kernels-releases", {"version": facts["kernels.version"]})
    kind = asked.cell("repositories")
    lying = facts.get("hub.models" if _is(kind, "model") else "hub.kernels", _UNREAD)
    if not isinstance(kind, Known) or isinstance(lying, Unknown):
        reason = lying if isinstance(kind, Known) else kind
        return out | {f"{prefix}.{noun}": reason for noun in ("cached", "build", "download")}
    ready = _ready(facts, matrix)
    if isinstance(lying, Absent) or not isinstance(lying.value, dict) or name not in lying.value:
        out[f"{prefix}.cached"] = Known(False, lying.source)
        return out | _download(prefix, there, ready)
    out[f"{prefix}.cached"] = Known(True, lying.source)
    out[f"{prefix}.offline"] = _offline(name, facts)
    if isinstance(ready, Unknown):
        return out | {f"{prefix}.build": ready, f"{prefix}.download": ready}
    variants = [found for each in lying.value[name].split() if (found := parse_variant(each))]
    choice = choose(variants, *ready)
    # What is missing in the cache may lie on the Hub: only what was chosen before was fetched.
    out |= {} if choice.best else _download(prefix, there, ready)
    out |= _chosen(prefix, choice, lying.source)
    if choice.best is None:
        return out
    wanted = asked.cell("metadata_keys")
    return out | _of_build(prefix, f"{name} {choice.best.name}", wanted, facts)


def _ready(facts: Mapping[str, Fact], matrix: Matrix) -> tuple[Habits, System] | Unknown:
    """Return what a choice hangs on; Unknown where something of it is."""
    version = str(getattr(facts["kernels.version"], "value", ""))
    habits, system = habits_of(version, matrix), system_of(facts)
    if habits is None:
        return Unknown("this release of kernels was not read", version)
    return system if isinstance(system, Unknown) else (habits, system)


def _held_against(prefix: str, there: Published, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what is known against a version of a kernel, wherever it comes from."""
    out: dict[str, Fact] = {}
    for column in ("doubt", "gigabytes"):
        text = there.text(column)
        out[f"{prefix}.{column}"] = Known(text, SOURCE) if text else Absent(SOURCE)
    every, wanted = facts.get("packages.installed"), there.words("requires")
    if not wanted:
        out[f"{prefix}.lacks"] = Absent(SOURCE)
    elif isinstance(every, Known) and isinstance(every.value, dict):
        lacking = tuple(each for each in wanted if each not in every.value)
        out[f"{prefix}.lacks"] = Known(lacking, SOURCE) if lacking else Absent(every.source)
    else:
        out[f"{prefix}.lacks"] = every or Unknown("it was not read", "packages")
    return out


def _download(
    prefix: str, there: Published, ready: tuple[Habits, System] | Unknown
) -> dict[str, Fact]:
    """Return which build would be downloaded; Absent where none that is published fits."""
    choice = ready if isinstance(ready, Unknown) else choose_published(there, *ready)
    if isinstance(choice, Unknown):
        return {f"{prefix}.download": choice}
    gone = there.text("gone") or ("only its publisher says so" if there.is_reported else "")
    out: dict[str, Fact] = {f"{prefix}.hearsay": Known(gone, SOURCE) if gone else Absent(SOURCE)}
    if choice.best is None:
        out[f"{prefix}.download"] = Absent(f"{SOURCE}: none that is published fits")
        out[f"{prefix}.refused"] = _refused(choice, SOURCE)
        return out
    out[f"{prefix}.download"] = Known(choice.best.name, SOURCE)
    archs = there.words("archs")
    listed = Known(archs, SOURCE) if archs else Unknown("their list was not read", SOURCE)
    return out | {f"{prefix}.archs": _any_gpu(choice.best, listed)}


def _chosen(prefix: str, choice: HubChoice, source: str) -> dict[str, Fact]:
    if choice.best is not None:
        return {f"{prefix}.build": Known(choice.best.name, source)}
    return {
        f"{prefix}.build": Absent(f"{source}: none fits"),
        f"{prefix}.refused": _refused(choice, source),
    }


def _of_build(prefix: str, key: str, wanted: Fact, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what the metadata of the build that is taken say."""
    archs, keys, needs = (_words(f"hub.{n}", key, facts) for n in ("archs", "metadata", "needs"))
    silent = Unknown("its metadata name no architectures", "the Hub's cache")
    named = silent if isinstance(archs, Absent) else archs
    return {
        f"{prefix}.archs": _any_gpu(parse_variant(key.rpartition(" ")[2]), named),
        f"{prefix}.needs": needs,
        f"{prefix}.lacking": _lacking(keys, wanted),
    }


def _any_gpu(build: Variant | None, named: Fact) -> Fact:
    """Return the architectures of a build; Absent where nothing in it is compiled."""
    if build is not None and build.interface is Interface.PYTHON:
        return Absent("nothing in it is compiled")
    return named


def _refused(choice: HubChoice, source: str) -> Fact:
    why = [f"{build}: {reason}" for build, reason in choice.refused.items()]
    more = len(why) - _SHOWN
    tail = f"; and {more} more" if more > 0 else ""
    return Known("; ".join(why[:_SHOWN]) + tail or "it is empty", source)


def _offline(name: str, facts: Mapping[str, Fact]) -> Fact:
    found = facts.get("hub.offline", _UNREAD)
    if not isinstance(found, Known) or not isinstance(found.value, (tuple, list)):
        return found
    return Known(name in found.value, found.source)


def _words(fact: str, key: str, facts: Mapping[str, Fact]) -> Fact:
    """Return what a fact says of one build, word by word; Absent where it says nothing."""
    found = facts.get(fact, _UNREAD)
    if not isinstance(found, Known) or not isinstance(found.value, dict):
        return found
    words = tuple(found.value.get(key, "").split())
    return Known(words, found.source) if words else Absent(f"{found.source}: not set")


def _lacking(keys: Fact, wanted: Fact) -> Fact:
    if isinstance(keys, Unknown) or not isinstance(wanted, Known):
        return keys if isinstance(keys, Unknown) else wanted
    said = keys.value if isinstance(keys, Known) and isinstance(keys.value, tuple) else ()
    missing = tuple(each for each in _listed(wanted.value) if each not in said)
    return Known(missing, keys.source) if missing else Absent(f"{keys.source}: all are there")


def _listed(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, (list, tuple)) else ()


_OF_SYSTEM = (
    "torch.version", "torch.cuda", "torch.hip", "torch.cxx11_abi", "host.os", "host.machine",
    "python.free_threaded",
)  # fmt: skip


def system_of(facts: Mapping[str, Fact]) -> System | Unknown:
    """Return what a choice hangs on; Unknown where one of its facts is."""
    wanted = ("torch.version", "host.os", "host.machine", "torch.cuda", "torch.hip")
    for name in wanted:
        fact = facts.get(name, Unknown("it was not read", name))
        if isinstance(fact, Unknown):
            return fact
    read = ((name, facts.get(name)) for name in _OF_SYSTEM)
    known = {name: fact.value for name, fact in read if isinstance(fact, Known)}
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
