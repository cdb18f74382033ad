"""What states make of the table: a backend is predicted once for all that are alike to it."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.verdicts.obstacles import READ_BY_NAME
from fadoctor.judging.verdicts.predict import concerns, decides_a_verdict, predict_backends
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.packages import EXTENSIONS, PACKAGES
from fadoctor.model.verdict import Backend, Predicted, Verdict
from fadoctor.repair.plan.search.shortfall import count_lost
from fadoctor.repair.plan.search.wishes import HALF
from fadoctor.repair.plan.states.relations import MOST_REMEMBERED
from fadoctor.repair.plan.states.rule_inputs import FactReading, values_of

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_OF_EXTENSION = ("file", "optional", "failure", "says")
_OF_PACKAGE = ("version", "loads", "unmet", "wheel.prebuilt")
_OF_THE_HUB = ("env.HF_HUB_OFFLINE", "env.LOCAL_KERNELS", "torch.hip", "packages.installed")

Memory = dict["Hashable", tuple[Verdict, ...]]
"""What tells states apart for a backend -> its verdicts."""


class Outlook(msgspec.Struct, frozen=True):
    """What is predicted of one backend."""

    verdicts: tuple[Verdict, ...] = ()
    lost: int = 0
    """Cells that worked before and do not any more."""


Outlooks = dict[Backend, Outlook]

Group = tuple[FactReading, ...]
"""The facts that are read of one package, or of the Hub."""


class Cells:
    """The table of one environment, in states that differ in packages alone."""

    def __init__(
        self,
        kernels: Kernels,
        machine: Sequence[Hashable],
        worked: Collection[tuple[object, ...]],
        memory: Memory,
    ) -> None:
        """Take the backends, what tells the machine from others, and what worked before.

        `memory`: what problems share.
        """
        self.kernels = kernels
        self.worked = worked
        self._machine = tuple(machine)
        self._memory = memory
        self._matrix: Matrix = kernels.matrix
        self._readers: dict[str, set[Backend]] = {}
        numbers: dict[Group, int] = {}
        self._readings: dict[Backend, tuple[int, ...]] = {}
        """The places of their groups of facts: several backends read the same of torch."""
        for backend in Backend:
            read = tuple(_read(kernels, backend))
            self._readings[backend] = tuple(numbers.setdefault(g, len(numbers)) for g in read)
            for reading in chain.from_iterable(read):
                self._readers.setdefault(reading.name, set()).add(backend)
        self._groups = tuple(numbers)
        self._concerned: dict[tuple[str, str], frozenset[Backend]] = {}
        self._decided: dict[int, tuple[Judgement, frozenset[Backend], Hashable]] = {}

    def next(
        self,
        before: tuple[Environment, Outlooks],
        environment: Environment,
        told: tuple[Sequence[Judgement], Sequence[Judgement]],
        backends: Iterable[Backend],
    ) -> Outlooks:
        """Return the outlooks of a state that follows another one, and of more backends.

        `told`: what `deciding` leaves of what is held against the state, and what of it is new.
        """
        earlier, outlooks = before
        telling, fresh = told
        touched = self._changed(earlier, environment).union(*map(self._decided_by, fresh))
        anew = [*(backend for backend in outlooks if backend in touched), *backends]
        if not anew:
            return outlooks
        mine: dict[Backend, list[Judgement]] = {backend: [] for backend in anew}
        because: dict[Backend, list[Hashable]] = {backend: [] for backend in anew}
        for each in telling:
            _, decided, words = self._known(each)
            for backend in decided & mine.keys():
                mine[backend].append(each)
                because[backend].append(words)
        asked = {place for backend in anew for place in self._readings[backend]}
        values = {p: tuple(values_of(self._groups[p], environment.facts)) for p in asked}
        return outlooks | {
            b: self._outlook(b, environment, values, (mine[b], because[b])) for b in anew
        }

    def _changed(self, one: Environment, other: Environment) -> set[Backend]:
        """Return the backends that read a fact which differs between two states."""
        if one is other:
            return set()
        before, after = one.facts.get, other.facts.get
        readers = self._readers
        changed = (readers[name] for name in readers if before(name) is not after(name))
        return set().union(*changed)

    def _outlook(
        self,
        backend: Backend,
        environment: Environment,
        values: Mapping[int, tuple[Hashable, ...]],
        told: tuple[Sequence[Judgement], Sequence[Hashable]],
    ) -> Outlook:
        """Return what is predicted of a backend; `told`: what is held against it, and in words.

        `values`: what the groups of facts are, by their places.
        """
        mine, because = told
        read = map(values.__getitem__, self._readings[backend])
        asked = (backend, *self._machine, *read, *because)
        verdicts = self._memory.get(asked)
        if verdicts is None:
            kernels = Kernels(environment, self._matrix)
            there = [backend] if kernels.is_installed(backend) else []
            verdicts = self._memory[asked] = predict_backends(kernels, mine, there)
        return Outlook(verdicts, count_lost(self.worked, verdicts, (backend,)))  # type: ignore[arg-type]

    def deciding(self, told: Iterable[Judgement]) -> tuple[Judgement, ...]:
        """Return those that can keep a backend from working: few of many."""
        return tuple(each for each in told if self._decided_by(each))

    def _decided_by(self, each: Judgement) -> frozenset[Backend]:
        """Return the backends whose cells a judgement can keep from working."""
        return self._known(each)[1]

    def _known(self, each: Judgement) -> tuple[Judgement, frozenset[Backend], Hashable]:
        """Return a judgement, the backends that it can keep from working, and what it says.

        States share their judgements, and ask again for each of them: the same object, the same
        answer. The object is kept, since another one may get the number of one that is gone.
        """
        known = self._decided.get(id(each))
        if known is None:
            if len(self._decided) > MOST_REMEMBERED:
                self._decided.clear()
            found = self.concerned(each) if decides_a_verdict(each) else frozenset[Backend]()
            words = (each.rule.id, each.subject, each.outcome, each.severity)
            known = self._decided[id(each)] = (each, found, words)
        return known

    def concerned(self, each: Judgement) -> frozenset[Backend]:
        """Return the backends that a judgement says something of."""
        asked = (each.rule.id, each.about.bindings.get("package", ""))
        found = self._concerned.get(asked)
        if found is None:
            found = frozenset(b for b in Backend if concerns(each, self.kernels, b))
            self._concerned[asked] = found
        return found


def is_of_no_use(outlooks: Outlooks, wanted: Collection[Backend]) -> bool:
    """Return whether no kernel of the Hub that is wanted can work on any GPU, once all are told."""
    if any(backend not in outlooks for backend in wanted):
        return False
    half = [v for backend in wanted for v in outlooks[backend].verdicts if v.dtype in HALF]
    return all(verdict.predicted is Predicted.FAILS for verdict in half)


def _read(kernels: Kernels, backend: Backend) -> Iterator[Group]:
    """Yield the facts of packages that decide what is predicted of a backend, beside rules."""
    yield from map(_facts_of_package, kernels.decided_by(backend))
    yield tuple(FactReading(f"{extension}.file") for extension in kernels.one_of(backend))
    if kernels.route(backend) == "hub":
        yield tuple(map(FactReading, (*_facts_of_hub(backend), *_OF_THE_HUB)))


@cache
def _facts_of_package(package: str) -> Group:
    found = [FactReading(f"{package}.{noun}") for noun in _OF_PACKAGE]
    found += [FactReading(name, PACKAGES[package][0]) for name in READ_BY_NAME]
    for name in EXTENSIONS.get(package, ()):
        found += [FactReading(f"{package}.{name}.{noun}") for noun in _OF_EXTENSION]
    return tuple(found)


@cache
def _facts_of_hub(backend: Backend) -> tuple[str, ...]:
    """Return the facts about what of the Hub a backend takes."""
    head = f"hub.{backend.value.removeprefix('hub-')}."
    return tuple(name for name in build_catalogue() if name.startswith(head))
