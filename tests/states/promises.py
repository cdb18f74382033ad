"""What no plan may do, whatever the state: read off the plan alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.model.packages import ATTENTION, BACKENDS, FRAMEWORKS, PACKAGES, TORCH
from fadoctor.model.plan import ActionKind, PlanOutcome
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.states.requirements import named_or_installed
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Change, Plan

# flash-attn>=2.7.1,<2.8.3
_REQUIREMENT = re.compile(r"([A-Za-z][A-Za-z0-9._-]{1,60})((?:[<>=!~]=?[0-9][0-9A-Za-z.*+]*,?)+)")

# an index of PyTorch in a command, and what it is asked for
_INDEX = re.compile(r"--index-url https://download\.pytorch\.org/whl/(\S{1,20})(.*)")
_PINNED = re.compile(r" ([A-Za-z][A-Za-z0-9._-]{1,60})==([0-9][0-9A-Za-z.]*)(?:\+([A-Za-z0-9.]+))?")
_ON_EVERY_INDEX = ("torch", "torchvision", "torchaudio")
_OF_TORCH = {
    "torch",
    "torchvision",
    "torchaudio",
    "sympy",
    "typing-extensions",
    "networkx",
    "fsspec",
}
_BESIDE_TORCH = ("-rocm", "-xpu")
"""Ends of names that PyTorch's indexes alone have."""

_BESIDE = ("torchvision", "torchaudio")
# pip install torchvision==0.21.0
_BY_HAND = re.compile(r"(?:python -m )?pip install (?P<items>.*)")
_EXACT = re.compile(r"([A-Za-z][A-Za-z0-9._-]{0,60})==([0-9][0-9A-Za-z.+]*)")

BACKENDS_OF = {
    package: frozenset(name for name, owner in BACKENDS.items() if owner == package)
    for package in ATTENTION
}
"""Package for attention -> the backends for which it is installed."""


def broken_promise(plan: Plan) -> str:
    """Return what a plan does that none may do, "" where it does nothing of the kind."""
    return next(_broken(plan), "")


def _broken(plan: Plan) -> Iterator[str]:
    moved = {change.distribution: change.after for change in plan.changes}
    yield from _unsaid(plan)
    yield from _from_elsewhere(plan)
    yield from _contradictions(plan)
    yield from _opposed(plan)
    for action in plan.actions:
        if action.kind is ActionKind.INSTALL:
            yield from (f"a bare name: {item}" for item in action.requirements if _is_bare(item))
        if action.kind.is_run:
            continue
        for name, specifier in _REQUIREMENT.findall(action.text):
            after = moved.get(normalise_name(name), "")
            if after and not accepts(specifier.rstrip(","), after):
                yield f"{name} becomes {after}, and by hand {name}{specifier} is asked for"
    is_asked = any("(asked for)" in wish for wish in plan.wishes)
    if moved and not is_asked:
        yield from _vain(plan, moved)
    if moved and not is_asked and plan.proof.errors and plan.proof.lost:
        yield f"{', '.join(plan.proof.lost)} stops working for a half repair"
    yield from _unnamed(plan)


def _unnamed(plan: Plan) -> Iterator[str]:
    """Yield what moves and is in no command, and what no command brings back."""
    runs = [action for action in plan.actions if action.kind.is_run]
    if not runs or any(action.kind is ActionKind.VENV for action in runs):
        return
    named = {name for action in runs for item in action.requirements if (name := _name_of(item))}
    undone = " ".join(action.undo for action in runs)
    is_by_hand = " install " in undone or "uninstall" in undone
    for change in plan.changes:
        if change.distribution not in named:
            yield f"{change.distribution} moves, and no command names it"
        release = change.before.partition("+")[0]
        back = f"{change.distribution}=={release}"
        if (
            is_by_hand
            and release
            and back not in undone
            and f"{change.distribution} @" not in undone
        ):
            yield f"{change.distribution} {change.before} does not come back"


def _contradictions(plan: Plan) -> Iterator[str]:
    """Yield notes that say something else than the plan does, or than another note."""
    moved = {change.distribution for change in plan.changes if change.after}
    for note in plan.notes:
        says_none = "tables list no builds" in note or "that the tables do not list" in note
        if says_none and "torch" in moved:
            yield f"torch is installed, and a note says: {note}"
        if "nothing else" in note and moved - _OF_TORCH:
            yield f"{', '.join(sorted(moved))} move, and a note says: {note}"
        for name in moved:
            if note.startswith((f"{name} has no files", f"no known release of {name} ")):
                yield f"{name} is installed, and a note says: {note}"


def _opposed(plan: Plan) -> Iterator[str]:
    """Yield two steps by hand of two findings of which no release of a package meets both.

    Those of one finding may be ways to choose from.
    """
    asked: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for action in plan.actions:
        if action.kind.is_run:
            continue
        for name, text in _REQUIREMENT.findall(action.text):
            specifier = text.rstrip(",")
            for other, findings in asked.get(normalise_name(name), ()):
                if not {*findings} & {*action.findings} and is_impossible((specifier, other)):
                    yield f"by hand {name}{specifier} is asked for, and {name}{other}"
            asked.setdefault(normalise_name(name), []).append((specifier, action.findings))


SERVERS = frozenset({"vllm", "sglang"})
"""What is compiled for one torch, and weighs like it where a plan chooses."""


def needless_torch(plan: Plan, kept: Plan) -> str:
    """Return that torch moves, though a plan that keeps it repairs as much at no more cost.

    A server is compiled for one torch: to move it instead costs as much.
    """
    moved = {change.distribution: change for change in plan.changes}
    removed, gone = ({c.distribution for c in each.changes if not c.after} for each in (plan, kept))
    if "torch" not in moved or not moved["torch"].after or not kept.proof.clean:
        return ""
    is_good = kept.outcome in (PlanOutcome.REPAIRS, PlanOutcome.NOTHING)
    lowered = [c for c in kept.changes if c.distribution in FRAMEWORKS and _is_lowered(c)]
    steps = {action.kind for action in kept.actions}
    servers = {c.distribution for c in kept.changes if c.distribution in SERVERS} - moved.keys()
    if not is_good or not gone <= removed or lowered or servers or ActionKind.BUILD in steps:
        return ""
    if {*kept.proof.unknown} - {*plan.proof.unknown}:
        return ""
    after = moved["torch"].after
    return (
        f"torch moves to {after}; without that: {[(c.distribution, c.after) for c in kept.changes]}"
    )


def _is_lowered(change: Change) -> bool:
    return bool(change.before and change.after) and is_older(change.after, change.before) is True


def _from_elsewhere(plan: Plan) -> Iterator[str]:
    """Yield what is to come back from an index that it did not come from."""
    for action in plan.actions if not plan.windows else ():
        for command in action.undo.split(" && "):
            label, rest = found.groups() if (found := _INDEX.search(command)) else ("", command)
            for name, version, local in _PINNED.findall(rest):
                is_open = not local and (
                    name in _ON_EVERY_INDEX or not label or name.endswith(_BESIDE_TORCH)
                )
                is_own = local in ("", "cpu") or local.startswith(("cu", "rocm", "xpu"))
                if is_own and not is_open and local != label:
                    yield f"{name} {version} comes back from {label or 'no index'}"


def _vain(plan: Plan, moved: Mapping[str, str]) -> Iterator[str]:
    """Yield what is installed though nothing that is wanted works afterwards."""
    missed = {text.removesuffix(" fails") for text in plan.proof.missed}
    cells = {wish for wish in plan.wishes if " on gpu" in wish and "(" not in wish}
    if cells and cells <= missed:
        come = [name for name, after in moved.items() if after]
        yield from (f"{name} comes, and every backend that is wanted fails" for name in come)
    for package, backends in BACKENDS_OF.items():
        mine = {cell for cell in cells if cell.partition(" on ")[0] in backends}
        if mine and mine <= missed and moved.get(PACKAGES[package][0]):
            yield f"{PACKAGES[package][0]} is installed for what cannot work here"


def _unsaid(plan: Plan) -> Iterator[str]:
    """Yield what goes back in time without a word (frameworks, torch), and what moves unnamed."""
    said = " ".join(effect for action in plan.actions for effect in action.side_effects)
    items = [item for action in plan.actions for item in action.requirements]
    for change in plan.changes:
        is_lower = bool(change.before and change.after) and is_older(change.after, change.before)
        is_told = change.distribution in FRAMEWORKS or (
            change.distribution == TORCH
            and is_older(change.after.partition("+")[0], change.before.partition("+")[0]) is True
        )
        if is_lower is True and is_told and f"{change.distribution} is downgraded" not in said:
            yield f"{change.distribution} goes back from {change.before} without a word"
        if is_lower is True and not any(_names_a_version(item, change) for item in items):
            yield f"{change.distribution} is lowered and not named with its version"


def _names_a_version(item: str, change: Change) -> bool:
    """Return whether what an installer is given names a distribution and its version, or a file."""
    name = re.match(r"[A-Za-z0-9._-]{1,80}", item)
    return (
        name is not None
        and normalise_name(name[0]) == change.distribution
        and (f"=={change.after}" in item or " @ " in item)
    )


def _name_of(item: str) -> str:
    """Return the normalised name of what an installer is given."""
    name = re.match(r"[A-Za-z0-9._-]{1,80}", item)
    return normalise_name(name[0]) if name else ""


def _is_bare(item: str) -> bool:
    """Return whether a framework is left to the installer, which may take an ancient one."""
    return item in ("vllm", "sglang", "unsloth", "llamafactory", "torch", "transformers")


def misplaced_by_hand(plan: Plan, environment: Environment) -> str:
    """Return which installation by hand is not for the torch that will be here, "" where none is.

    A package that was published beside torch comes of torch's index, and nothing of CUDA comes for
    AMD's GPUs; no exact release is named that tables know to be refused by what is there.
    """
    torch = next(
        (each.after for each in plan.changes if each.distribution == TORCH),
        fact_text(environment.fact("torch.version"), ""),
    )
    label = torch.partition("+")[2]
    for action in plan.actions:
        found = _BY_HAND.match(action.text)
        if action.kind.is_run or found is None:
            continue
        items = dict(_EXACT.findall(found["items"]))
        index = found["items"].partition("--index-url ")[2].partition(" ")[0]
        beside = {normalise_name(name) for name in items} & set(_BESIDE)
        is_rocm = label.startswith("rocm")
        if TORCH not in items and beside and is_rocm and label not in index:
            return f"{', '.join(beside)} by hand of another index than torch {torch}"
        if is_rocm and re.search(r"\bnvidia-|/cu\d", action.text):
            return f"by hand for CUDA beside torch {torch}: {action.text}"
        if broken := _refused_by_hand(items, environment):
            return broken
    return ""


def _refused_by_hand(items: Mapping[str, str], environment: Environment) -> str:
    """Return what is there and refuses a release that is named, though it took the one before."""
    there = named_or_installed(environment)
    for package in PACKAGES:
        needs = fact_mapping(environment.fact(f"{package}.requires"))
        asker = fact_text(environment.fact(f"{package}.distribution"), package)
        for name, version in items.items() if asker not in items else ():
            asked, before = needs.get(normalise_name(name), ""), there.get(normalise_name(name), "")
            if before and asked and accepts(asked, before) and not accepts(asked, version):
                return f"by hand {name}=={version}, and {asker} requires {asked}"
    return ""
