"""What states make of the table: a backend is predicted once for all that are alike to it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.verdicts.obstacles import READ_BY_NAME
from fadoctor.judging.verdicts.predict import concerns, decides_a_verdict, predict_backends
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.packages import EXTENSIONS, PACKAGES
from fadoctor.model.verdict import Backend, Predicted, Verdict
from fadoctor.repair.plan.rule_inputs import FactReading, values_of
from fadoctor.repair.plan.shortfall import count_lost
from fadoctor.repair.plan.wishes import HALF

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact

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
        self._readings = {backend: tuple(_read(kernels, backend)) for backend in Backend}
        self._concerned: dict[tuple[str, str], frozenset[Backend]] = {}

    def next(
        self,
        before: tuple[Environment, Outlooks],
        environment: Environment,
        told: tuple[Sequence[Judgement], Sequence[Judgement]],
        backends: Iterable[Backend],
    ) -> Outlooks:
        """Return the outlooks of a state that follows another one, and of more backends.

        `told`: what is held against the state, and what of it is new.
        """
        earlier, outlooks = before
        telling, fresh = ([each for each in some if decides_a_verdict(each)] for some in told)
        touched = {backend for each in fresh for backend in self.concerned(each)}
        anew = [b for b in outlooks
                if b in touched or not self._is_alike(b, earlier, environment)]  # fmt: skip
        anew += backends
        mine: dict[Backend, list[Judgement]] = {backend: [] for backend in anew}
        for each in telling if anew else ():
            for backend in self.concerned(each) & mine.keys():
                mine[backend].append(each)
        return outlooks | {b: self._outlook(b, environment, mine[b]) for b in anew}

    def _is_alike(self, backend: Backend, one: Environment, other: Environment) -> bool:
        if one is other:
            return True
        mine, theirs = one.facts, other.facts
        return all(mine.get(r.name) is theirs.get(r.name) for r in self._readings[backend])

    def _outlook(
        self, backend: Backend, environment: Environment, mine: Sequence[Judgement]
    ) -> Outlook:
        """Return what is predicted of a backend; `mine`: what is held against it."""
        because = ((each.rule.id, each.subject, each.outcome, each.severity) for each in mine)
        facts: Mapping[str, Fact] = environment.facts
        asked = (
            backend,
            *self._machine,
            *values_of(self._readings[backend], facts),
            *because,
        )
        verdicts = self._memory.get(asked)
        if verdicts is None:
            kernels = Kernels(environment, self._matrix)
            there = [backend] if kernels.is_installed(backend) else []
            verdicts = self._memory[asked] = predict_backends(kernels, mine, there)
        return Outlook(verdicts, count_lost(self.worked, verdicts, (backend,)))  # type: ignore[arg-type]

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


def _read(kernels: Kernels, backend: Backend) -> Iterator[FactReading]:
    """Yield the facts of packages that decide what is predicted of a backend, beside rules."""
    for package in kernels.decided_by(backend):
        yield from (FactReading(f"{package}.{noun}") for noun in _OF_PACKAGE)
        yield from (FactReading(name, PACKAGES[package][0]) for name in READ_BY_NAME)
        for name in EXTENSIONS.get(package, ()):
            yield from (FactReading(f"{package}.{name}.{noun}") for noun in _OF_EXTENSION)
    yield from (FactReading(f"{extension}.file") for extension in kernels.one_of(backend))
    if kernels.route(backend) == "hub":
        yield from map(FactReading, _facts_of_hub(backend))
        yield from (FactReading(name) for name in _OF_THE_HUB)


@cache
def _facts_of_hub(backend: Backend) -> tuple[str, ...]:
    """Return the facts about what of the Hub a backend takes."""
    head = f"hub.{backend.value.removeprefix('hub-')}."
    return tuple(name for name in build_catalogue() if name.startswith(head))
