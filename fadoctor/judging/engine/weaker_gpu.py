"""GPUs beside better ones: what fails on one of them is no error while another one does without.

A card that only drives a display is visible to programs too. Nobody computes on it, so what fails
there alone is a warning, whose root is that it is visible. Rules about that read two facts which
follow from how the other rules came out; they are judged last.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.evaluate import Judgement, evaluate
from fadoctor.judging.engine.scope import Scope
from fadoctor.model.environment import Subject
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.finding import Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Rule

OUTDONE, SELECTION = "outdone_by", "selection"
_GPU = "gpu"
_OUTDONE = f"{_GPU}.{OUTDONE}"
_FINE = (Outcome.PASS, Outcome.NOT_APPLICABLE)
_SOURCE = "how the rules came out"


def reads_outcomes(rule: Rule) -> bool:
    """Return whether a rule is about how the others came out for a GPU."""
    return _OUTDONE in rule.when


def mark_outdone(judgements: list[Judgement], environment: Environment) -> list[Judgement]:
    """Return the judgements; those that another visible GPU does without are marked."""
    gpus = [subject.text for subject in environment.subjects(_GPU)]
    if len(gpus) < 2:
        return judgements
    better = _Better(judgements, environment, gpus)
    return [
        msgspec.structs.replace(each, outdone=True) if better.than(each) else each
        for each in judgements
    ]


class _Better:
    """Which GPU does without an error that another has."""

    def __init__(
        self, judgements: Iterable[Judgement], environment: Environment, gpus: list[str]
    ) -> None:
        self.environment = environment
        self.visible = [gpu for gpu in gpus if _is_visible(environment, gpu)]
        self._outcomes: dict[tuple[str, ...], Outcome] = {}
        self._broken: defaultdict[str, list[Judgement]] = defaultdict(list)
        for each in judgements:
            if gpu := each.about.bindings.get(_GPU):
                self._outcomes[_key(each, gpu)] = each.outcome
                if _is_error(each):
                    self._broken[gpu].append(each)

    def than(self, each: Judgement) -> list[str]:
        """Return the GPUs that do without an error of another; none where it is no such error."""
        gpu = each.about.bindings.get(_GPU)
        if gpu is None or not _is_error(each):
            return []
        return [other for other in self.visible if other != gpu and self._helps(other, gpu, each)]

    def may_than(self, each: Judgement) -> bool:
        """Return whether this may be an error that another GPU does without: nobody can say."""
        gpu = each.about.bindings.get(_GPU)
        if gpu is None or each.severity is not Severity.ERROR or each.outcome in _FINE:
            return False
        is_open = each.outcome is Outcome.UNKNOWN
        others = (*_FINE, Outcome.UNKNOWN) if is_open else (Outcome.UNKNOWN,)
        return any(
            self._outcomes.get(_key(each, other)) in others and self._same_maker(other, gpu)
            for other in self.visible
            if other != gpu
        )

    def _helps(self, other: str, gpu: str, each: Judgement) -> bool:
        """Return whether the rule passes there, and not all that it is about is broken there."""
        if self._outcomes.get(_key(each, other)) not in _FINE or not self._same_maker(other, gpu):
            return False
        concerned = _backends(each)
        broken = {backend for error in self._broken[other] for backend in _backends(error)}
        return not concerned or not concerned <= broken

    def _same_maker(self, one: str, two: str) -> bool:
        makers = [self.environment.fact(f"{gpu}.vendor") for gpu in (one, two)]
        known = {fact.value for fact in makers if isinstance(fact, Known)}
        return len(known) < 2


def with_outcomes(environment: Environment, judgements: Sequence[Judgement]) -> Environment:
    """Return the environment with what the judgements say of GPUs beside others."""
    gpus = [subject.text for subject in environment.subjects(_GPU)]
    better = _Better(judgements if len(gpus) > 1 else (), environment, gpus)
    over: dict[str, dict[str, None]] = {}
    for each in (each for each in judgements if each.outdone):
        over.setdefault(each.about.bindings[_GPU], {}).update(dict.fromkeys(better.than(each)))
    found: dict[str, Fact] = {}
    for gpu in gpus:
        found |= _facts(environment, gpu, over, better.visible)
    for each in judgements if len(gpus) > 1 else ():
        gpu = each.about.bindings.get(_GPU, "")
        if gpu in gpus and gpu not in over and better.may_than(each):
            found[f"{gpu}.{OUTDONE}"] = Unknown(f"{each.rule.id} is not decided", _SOURCE)
    # A copy keeps the kind of mapping: the facts of a rule's case answer for all they do not name.
    facts = copy.copy(environment.facts)
    facts.update({name: fact for name, fact in found.items() if name not in facts})
    return msgspec.structs.replace(environment, facts=facts)


def evaluate_outcomes(rule: Rule, environment: Environment, matrix: Matrix) -> list[Judgement]:
    """Return the judgements of a rule about outcomes; of nothing where no GPU is beside another."""
    if any(f"{gpu.text}.{OUTDONE}" in environment.facts for gpu in environment.subjects(_GPU)):
        return evaluate(rule, environment, matrix)
    scope = Scope(environment, matrix, rule, {})
    return [Judgement(rule, Subject(_GPU), Outcome.NOT_APPLICABLE, scope)]


def _facts(
    environment: Environment, gpu: str, over: Mapping[str, Iterable[str]], visible: list[str]
) -> dict[str, Fact]:
    names = (f"{gpu}.{OUTDONE}", f"{gpu}.{SELECTION}")
    if gpu not in over:
        return dict.fromkeys(names, Absent(_SOURCE))
    makers = _by_maker(environment)
    mates = next(gpus for gpus in makers.values() if gpu in gpus)
    stay = [str(mates.index(each)) for each in visible if each in mates and each not in over]
    labels = tuple(f"{each} {_name(environment, each)}".strip() for each in over[gpu])
    selection: Fact = Known(",".join(stay), _SOURCE) if stay else Absent(_SOURCE)
    return {names[0]: Known(labels, _SOURCE), names[1]: selection}


def _by_maker(environment: Environment) -> dict[str, list[str]]:
    """Return each maker's GPUs in order: ordinals count those of one maker."""
    found: dict[str, list[str]] = {}
    for subject in environment.subjects(_GPU):
        maker = environment.fact(f"{subject.text}.vendor")
        key = str(maker.value) if isinstance(maker, Known) else ""
        found.setdefault(key, []).append(subject.text)
    return found


def _name(environment: Environment, gpu: str) -> str:
    name = environment.fact(f"{gpu}.name")
    return str(name.value) if isinstance(name, Known) else ""


def _is_visible(environment: Environment, gpu: str) -> bool:
    fact = environment.fact(f"{gpu}.visible")
    return isinstance(fact, Known) and fact.value is True


def _is_error(each: Judgement) -> bool:
    return each.outcome is Outcome.FAIL and each.severity is Severity.ERROR


def _key(each: Judgement, gpu: str) -> tuple[str, ...]:
    """Return what is the same for one rule, one GPU and whatever else it is judged for."""
    others = (f"{kind}={path}" for kind, path in each.about.bindings.items() if kind != _GPU)
    return (each.rule.id, gpu, *others)


def _backends(each: Judgement) -> set[object]:
    affects = each.rule.affects
    return set(affects.backends) if affects else set()
