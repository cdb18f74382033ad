"""A planned environment in which a resolver has decided what the files leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import BY_RESOLVER, RESOLVED
from fadoctor.model.fact import Fact, Known, Unknown, printable
from fadoctor.model.packages import STACK
from fadoctor.model.place import Place
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED
from fadoctor.sources.manifests.installed.question import Unaskable, name_in, question_of
from fadoctor.sources.manifests.installed.resolver import ask
from fadoctor.sources.manifests.planned import Manifest, Requirement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.sources.manifests.installed.resolver import ResolverAnswer, Run

ANSWER = "the resolver's answer"


def resolved_environment(
    host: Environment,
    manifests: tuple[Manifest, ...],
    matrix: Matrix,
    run: Run,
    environ: Mapping[str, str],
) -> Environment:
    """Return what the files make of a machine, with the releases that a resolver picks for it.

    Without an answer the environment is as the files say, and `packages.resolved` is Unknown.
    """
    planned = planned_environment(host, manifests, matrix)
    if any(manifest.is_complete for manifest in manifests):
        return _told(
            planned, Known("a lock", BY_RESOLVER), "A lock names the releases: nothing asked."
        )
    try:
        question = question_of(manifests, planned.facts)
    except Unaskable as why:
        return _told(planned, Unknown(str(why), BY_RESOLVER), f"No resolver was asked: {why}.")
    answer = ask(question, run, environ)
    if answer.refusal:
        named = [name_in(text) for text in question.requirements]
        return _contradicted(planned, manifests, answer, named)
    if answer.failure:
        text = f"{answer.by or 'No resolver'} gave no answer: {answer.failure}"
        return _told(planned, Unknown(printable(answer.failure), BY_RESOLVER), text)
    found = planned_environment(host, (*manifests, _as_lock(answer)), matrix)
    places = {
        name: kept
        for name, all_ in found.places.items()
        if (kept := tuple(place for place in all_ if place.file != ANSWER))
    }
    found = msgspec.structs.replace(found, places=places)
    source = f"{answer.by}: {len(answer.pins)} packages"
    return _told(found, Known(source, BY_RESOLVER), _summary(answer))


def _as_lock(answer: ResolverAnswer) -> Manifest:
    pins = tuple(
        Requirement(name, Place(ANSWER, number, 1), f"=={version}")
        for number, (name, version) in enumerate(sorted(answer.pins.items()), start=1)
    )
    return Manifest(ANSWER, "requirements.txt", pins, is_complete=True)


def _summary(answer: ResolverAnswer) -> str:
    stack = [f"{name} {version}" for name, version in answer.pins.items() if name in STACK]
    text = f"Picked by {answer.by}: {', '.join(stack) or 'no package of the stack'}."
    if answer.left_out:
        text += f" Not asked about {', '.join(answer.left_out)}, which has sources only."
    return text


def _contradicted(
    planned: Environment, manifests: tuple[Manifest, ...], answer: ResolverAnswer, named: list[str]
) -> Environment:
    """Return the environment with the resolver's refusal, where the files show none themselves."""
    planned = _told(planned, Known(f"{answer.by}: no solution", BY_RESOLVER), "")
    said = planned.facts.get(CONTRADICTED)
    if isinstance(said, Known) and said.value:
        return planned
    words = set(answer.refusal.replace("=", " ").replace("<", " ").replace(">", " ").split())
    name = next((each for each in named if each in words), named[0])
    found = {name: f"({answer.by}: {answer.refusal})"}
    at = tuple(r.place for m in manifests for r in m.requirements if r.name == name)
    facts: dict[str, Fact] = {**planned.facts, CONTRADICTED: Known(found, answer.by)}
    places = {**planned.places, CONTRADICTED: at}
    return msgspec.structs.replace(planned, facts=facts, places=places)


def _told(environment: Environment, fact: Fact, note: str) -> Environment:
    target = environment.target
    notes = (*target.notes, printable(note)) if note else target.notes
    facts = dict(sorted({**environment.facts, RESOLVED: fact}.items()))
    told = msgspec.structs.replace(target, notes=notes)
    return msgspec.structs.replace(environment, facts=facts, target=told)
