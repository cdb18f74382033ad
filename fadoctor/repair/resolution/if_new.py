"""What commands do to an environment that holds nothing yet, where it may hold packages already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.diagnose import foresee
from fadoctor.knowledge.matrix.whole import whole_matrix
from fadoctor.model.fact import Absent, Known, fact_text
from fadoctor.model.finding import Severity
from fadoctor.model.packages import SETUPS, TORCH, TRITON, package_of
from fadoctor.model.place import Place
from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.planner import make_plan_on
from fadoctor.repair.plan.sessions import shared_session
from fadoctor.repair.plan.states.compiled import ASSUMED
from fadoctor.repair.resolution.judge import plan_base
from fadoctor.repair.resolution.left_open import open_bounds
from fadoctor.repair.resolution.wanted import name_of
from fadoctor.sources.manifests.formats.requirements_txt import KIND
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.installed.isolated import BEFORE_TORCH, found_early
from fadoctor.sources.manifests.installed.moved_library import MOVED_LIBRARY_BOUND
from fadoctor.sources.manifests.planned import (
    UNSEEN_BASE,
    UNSEEN_REST,
    Manifest,
    speaks_of_image,
)
from fadoctor.sources.manifests.read import read_source
from fadoctor.sources.manifests.requirement_text import read_requirement
from fadoctor.sources.manifests.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.plan import Action
    from fadoctor.model.rule import Knowledge
    from fadoctor.repair.plan.planner import PlannerRequest
    from fadoctor.repair.resolution.lines import Rewrite

IF_NEW = "if the environment is still empty: "
"""How the notes begin."""

IF_ALONE = "if the lines that could not be read ask for nothing else: "
"""How they begin where the environment is new, and not all that it gets could be read."""

_WITHOUT_TORCH = "build-no-torch-isolation"
"""The rule of what is built where torch is not there yet."""

_MOVED = "later-command-moves-library"
_TOLD = ("numpy-torch-abi", _MOVED)
"""Warnings, as attention works all the same; what they speak of does not, so they are told, too."""

_NO_FACT = Absent("not read")
_SHOWN = 3
"""Errors that are told: more would hide what is surely so."""


def new_notes(
    environment: Environment,
    knowledge: Knowledge,
    files: tuple[Iterable[str], Iterable[Rewrite], Callable[[str], Source]],
    question: Callable[[Environment], PlannerRequest],
) -> Iterator[str]:
    """Yield what goes wrong where nothing is there before the commands, and what to ask for then.

    `environment`: as the files describe it. `files`: their names, what a plan writes, and what
    reads one. These are notes alone: something may be there, or come by a line that was not read.
    """
    said = environment.target.notes
    if not {UNSEEN_BASE, UNSEEN_REST} & set(said):
        return
    names, rewrites, opened = files
    texts = {each.source.name: each.text for each in rewrites}
    manifests = [_of_new(_read(opened(name), texts)) for name in names]
    if any(speaks_of_image(note) for each in manifests for note in each.notes):
        return
    matrix = whole_matrix(knowledge)
    given = planned_environment(environment, manifests, matrix)
    comes = plan_base(given, knowledge)
    there = {each.fingerprint for each in _errors(plan_base(environment, knowledge), knowledge)}
    found = [each for each in _errors(comes, knowledge) if each.fingerprint not in there]
    bounds = list(open_bounds(given, knowledge))
    found += [e for each in bounds for e in each.findings[:1] if e.fingerprint not in there]
    told = [_with_bound(each, given) for each in found[:_SHOWN]]
    is_early = any(each.rule_id == _WITHOUT_TORCH for each in found)
    advice = _first(given, manifests) if is_early else ""
    if told and (advice := advice or _advice(given, manifests, knowledge, question)):
        told[-1] = f"{told[-1]} {advice}"
    begins = IF_NEW if UNSEEN_BASE in said else IF_ALONE
    yield from (f"{begins}{text}" for text in told)


def _with_bound(finding: Finding, given: Environment) -> str:
    """Return what a finding says, with the bound of the library that it speaks of."""
    bound = fact_text(given.facts.get(MOVED_LIBRARY_BOUND, _NO_FACT), "")
    is_meant = finding.rule_id == _MOVED and bound
    return f"{finding.message} Name {bound} in that command, too." if is_meant else finding.message


def _first(given: Environment, manifests: Iterable[Manifest]) -> str:
    """Return that the command with torch comes first, where another one builds for it before."""
    asked = [each for manifest in manifests for each in manifest.requirements]
    named = given.places.get(f"{TORCH}.version", ())
    is_named = any(each.isolated_by == BEFORE_TORCH for each in asked)
    return f"Then move the command of {named[0]} above that one" if named and is_named else ""


def _advice(
    given: Environment,
    manifests: Iterable[Manifest],
    knowledge: Knowledge,
    question: Callable[[Environment], PlannerRequest],
) -> str:
    """Return what to write then, as a sentence; "" where a plan does not reach it."""
    comes, matrix = plan_base(given, knowledge), whole_matrix(knowledge)
    plan = make_plan_on(foresee(comes, knowledge), shared_session(knowledge), question(comes))
    is_proved = not (plan.conflicts or plan.proof.errors)
    asked = dict(_asked(plan.actions)) if is_proved else {}
    # what commands pin stays, but for a file in place of sources
    asked = {n: text for n, text in asked.items() if n in SETUPS or not _is_pinned(n, given)}
    if TORCH in asked:  # which requires one triton
        asked.pop(TRITON, None)
    again = planned_environment(given, (*manifests, _list_of(asked.values())), matrix)
    if any(_errors(plan_base(again, knowledge), knowledge)):
        return ""
    asked |= {each.name: each.requirement for each in open_bounds(again, knowledge)}
    indexes = dict.fromkeys(each.index for each in plan.actions if each.index and asked)
    source = f" from {' and '.join(indexes)}" if indexes else ""
    return f"Then ask for {' and '.join(asked.values())}{source}" if asked else ""


def _is_pinned(name: str, given: Environment) -> bool:
    return isinstance(given.fact(f"{package_of(name, name)}.version"), Known)


def _list_of(asked: Iterable[str]) -> Manifest:
    """Return what the commands would name beside what they name now."""
    place = Place("as advised", 1)
    found = tuple(
        read_requirement(text, place, Source(place.file, "", Path(place.file))) for text in asked
    )
    return Manifest(place.file, KIND, found)


def _asked(actions: Iterable[Action]) -> Iterator[tuple[str, str]]:
    """Yield what a plan installs: name and requirement."""
    for action in actions:
        if action.kind is ActionKind.INSTALL:
            for text in action.requirements:
                yield name_of(text), text


def _read(source: Source, texts: Mapping[str, str]) -> Manifest:
    text = texts.get(source.name, source.text)
    return read_source(msgspec.structs.replace(source, text=text, instead=texts))


def _of_new(manifest: Manifest) -> Manifest:
    """Return what commands install where nothing is there before them."""
    notes = tuple(note for note in manifest.notes if note not in {UNSEEN_BASE, UNSEEN_REST})
    asked = tuple(found_early(manifest.requirements))
    return msgspec.structs.replace(manifest, notes=notes, requirements=asked)


def _errors(environment: Environment, knowledge: Knowledge) -> Iterator[Finding]:
    for each in foresee(environment, knowledge).assessment.findings:
        is_assumed = any(evidence.source == ASSUMED for evidence in each.evidence)
        is_told = each.severity is Severity.ERROR or each.rule_id in _TOLD
        if is_told and not is_assumed:
            yield each
