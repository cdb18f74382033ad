"""The facts as they would be after a plan: a choice applied to an environment.

What an installation is known to give is Known, from the matrix; what nobody can know before it is
Unknown. Nothing is read or run.
"""

from __future__ import annotations

import re
from copy import copy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.requirement_parser import asked_for
from fadoctor.knowledge.matrix.same_version import TABLE
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.catalogue import LATER, build_catalogue
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping
from fadoctor.model.packages import KERNELS, PACKAGES, TORCH, TRITON
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.choices.wheel_facts import text_of
from fadoctor.repair.plan.hub.hub_states import HubStates
from fadoctor.repair.plan.states.compiled import AFTER, beside_other_torch
from fadoctor.repair.plan.states.contract_state import contracts_after
from fadoctor.repair.plan.states.same_folder import SameFolder
from fadoctor.sources.manifests.installed.fact_names import (
    CONTRADICTED,
    ISOLATED,
    ISOLATED_BY_NEW,
    ISOLATED_KIND,
    UNFIT,
    UNSERVED,
    UNSERVED_INSTEAD,
)
from fadoctor.sources.targets.derived import derive_extensions, derive_hub, derive_requirements
from fadoctor.sources.targets.incompatible_pairs import paired_with
from fadoctor.sources.targets.unmet_requirements import DERIVED, MINIMUMS, NAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice


REQUIRED = re.compile(r" requires (?P<other>[\w.-]{1,80})(?P<needs>[=<>!~][^ ]{1,200}), and ")
"""What a line says that a release requires, and the files rule out."""

_OF_WHEELS = (ISOLATED, ISOLATED_BY_NEW, UNFIT)
SETTLED = (CONTRADICTED, UNSERVED, *_OF_WHEELS)
"""Facts about lines of files, which a choice of what a line is about settles."""

_UNKNOWN = Unknown("known only after the installation", AFTER)
_MET = Absent(f"{AFTER}: the installer installs it")
"""One object: states whose facts are the same objects are alike at a glance."""


class PostState:
    """Applies choices to environments."""

    def __init__(self, matrix: Matrix, shared: Environment | None = None) -> None:
        """Take the matrix, which says what code runs on which GPU.

        `shared`: the environment of which all are states, where they are: what comes from the Hub
        is then derived once for all that are alike to it.
        """
        self.matrix = matrix
        self._advises = True
        self._names, self._later = _known_names()
        self._compared: dict[str, frozenset[str]] = _once(matrix, _compared)
        self.same_folder: SameFolder = _once(matrix, SameFolder)
        self._derive_hub: Callable[[Environment], Environment] = (
            partial(derive_hub, matrix=matrix)
            if shared is None
            else HubStates(matrix, shared).derive
        )

    def without_advice(self) -> PostState:
        """Return what applies choices for rules alone: what else could be installed is not told."""
        found = copy(self)
        found._advises = False  # noqa: SLF001 -- a copy of this one
        return found

    def after(self, environment: Environment, choices: Iterable[Choice]) -> Environment:
        """Return the environment after all choices, torch's first."""
        ordered = sorted(choices, key=lambda choice: choice.package != TORCH)
        for choice in ordered:
            environment = self.apply(environment, choice)
        return environment

    def apply(self, environment: Environment, choice: Choice) -> Environment:
        """Return the environment after one choice."""
        if not choice.is_change:
            return environment
        facts = dict(environment.facts)
        if choice.package in PACKAGES:
            facts.update(self._facts(facts, choice))
        if choice.package == TORCH:
            facts.update(beside_other_torch(environment.facts, choice.facts))
            facts.update(_without(facts, old_cuda_wheels(environment, choice)))
        if choice.package == TRITON:
            facts.update(_ptxas(choice))
        facts.update(_installed(facts, choice))
        if choice.kind is not ChoiceKind.REMOVE:
            facts.update(_without(facts, self.same_folder.replaced(facts, (choice,))))
        facts.update(_in_files(facts, choice))
        facts.update(_requirer(environment, choice))
        facts.update(contracts_after(facts, choice, self.matrix))
        after = msgspec.structs.replace(environment, facts=facts)
        if _decides_the_hub(after, choice):
            after = self._derive_hub(after)
        comparing = self._comparing(choice)
        askers = {
            **dict.fromkeys(_askers(after, choice, comparing)),
            **dict.fromkeys(self._paired(choice)),
        }
        after = derive_requirements(after, self.matrix, askers, advises=self._advises)
        after = _with_requirements(after)
        return derive_extensions(after, self.matrix, (choice.package,))

    def _paired(self, choice: Choice) -> tuple[str, ...]:
        """Return the packages that go with some versions of what a choice moves."""
        moved = {*PACKAGES.get(choice.package, (choice.package,)), *choice.brings}
        return paired_with(moved, self.matrix)

    def _comparing(self, choice: Choice) -> frozenset[str]:
        """Return the distributions that compare what a choice moves while they are imported.

        Their metadata need not ask for it.
        """
        moved = {*PACKAGES.get(choice.package, (choice.package,)), *choice.brings}
        found = (self._compared[name] for name in self._compared.keys() & moved)
        return frozenset().union(*found)

    def _facts(self, facts: Mapping[str, Fact], choice: Choice) -> dict[str, Fact]:
        names = self._names[choice.package]
        if choice.kind is ChoiceKind.REMOVE:
            return dict.fromkeys(names, Absent(f"{AFTER}: removed"))
        given = {name: _UNKNOWN for name in names if name in facts or name not in self._later}
        return {**given, **choice.facts}


def _once(matrix: Matrix, make: Callable[[Matrix], Any]) -> Any:
    """Return what is made of a matrix, which all that apply choices share."""
    if make not in matrix.read:
        matrix.read[make] = make(matrix)
    return matrix.read[make]


@cache
def _known_names() -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """Return the names of facts by package, and those that are found out later, if at all."""
    names = build_catalogue()
    by_package: dict[str, list[str]] = {package: [] for package in PACKAGES}
    for name in names:
        head, dot, _ = name.partition(".")
        if dot and head in by_package:
            by_package[head].append(name)
    found = {package: tuple(each) for package, each in by_package.items()}
    return found, frozenset(n for n, spec in names.items() if spec.provider == LATER)


def _decides_the_hub(environment: Environment, choice: Choice) -> bool:
    """Return whether a choice can change what comes from the Hub, to where kernels is or was."""
    fact = environment.fact("kernels.version")
    return choice.package == KERNELS or not isinstance(fact, Absent)


def _requirer(environment: Environment, choice: Choice) -> dict[str, Fact]:
    """Return the facts of what moves along and has none of its own but what it requires.

    What the release that goes requires is no longer asked; of the one that comes the search knows.
    """
    found: dict[str, Fact] = {}
    for key in environment.requirers():
        name = environment.fact(f"{key}.distribution")
        if isinstance(name, Known) and name.value == choice.distribution:
            is_gone = choice.kind is ChoiceKind.REMOVE
            version = Known(choice.version, AFTER) if choice.version else _UNKNOWN
            found[f"{key}.version"] = Absent(f"{AFTER}: removed") if is_gone else version
            found[f"{key}.requires"] = Known({}, AFTER)
            found |= {f"{key}.{derived}": _MET for derived in DERIVED}
    return found


def _compared(matrix: Matrix) -> dict[str, frozenset[str]]:
    """Return distribution -> those that compare it where it is installed."""
    found: dict[str, frozenset[str]] = {}
    for row in matrix.tables["requirement-checks"].rows:
        for text in (*cell_words(row.get("if_there")), *cell_words(row.get("beside"))):
            if (asked := asked_for(text)) is not None:
                found[asked.name] = found.get(asked.name, frozenset()) | {str(row["package"])}
    for row in (*matrix.tables[MINIMUMS].rows, *matrix.tables[TABLE].rows):
        for name in (str(row["needs"]), *cell_words(row.get("beside"))):
            found[name] = found.get(name, frozenset()) | {str(row["package"])}
    return found


def _askers(environment: Environment, choice: Choice, comparing: frozenset[str]) -> list[str]:
    """Return the packages whose requirements a choice can meet or break, itself among them.

    `comparing`: the distributions that compare what moves without asking for it.
    """
    moved = {*PACKAGES.get(choice.package, (choice.package,)), *choice.brings}
    found = []
    for package in (*PACKAGES, *environment.requirers()):
        needs = fact_mapping(environment.fact(f"{package}.requires"))
        gone = choice.package == TORCH and any(name.startswith("nvidia-") for name in needs)
        compares = comparing and text_of(environment, f"{package}.distribution") in comparing
        if gone or compares or package == choice.package or not moved.isdisjoint(needs):
            found.append(package)
    return found


def _with_requirements(environment: Environment) -> Environment:
    """Return the environment with what the installer brings along for all that it installs.

    What follows from a whole plan, and what cannot, is told by `aftermath`.
    """
    brought: dict[str, Fact] = {}
    for package in PACKAGES:
        requires = environment.facts.get(f"{package}.requires")
        if isinstance(requires, Known) and requires.source == AFTER:
            brought |= {f"{package}.{name}": _MET for name in DERIVED}
    return msgspec.structs.replace(environment, facts={**environment.facts, **brought})


def old_cuda_wheels(environment: Environment, torch: Choice) -> tuple[str, ...]:
    """Return the nvidia wheels of the CUDA major that a new torch leaves without a user.

    The wheels of two majors share folders: those that stay behind shadow the right ones. They stay
    where another package than torch is known to require them. A torch for ROCm has a triton of
    another name in the same folder: where that is there as well, it loses its files with the one
    that goes, and comes again only if it goes, too.
    """
    if isinstance(torch.facts.get("torch.hip"), Known):
        there = {**_listed(environment, NAMED), **_listed(environment, "packages.installed")}
        name = environment.fact(f"{TRITON}.distribution")
        here = {each for each in PACKAGES[TRITON] if each in there}
        here |= {str(name.value)} if isinstance(name, Known) else set()
        own = torch.facts.get(f"{TRITON}.distribution")
        if TRITON not in here and isinstance(own, Known):
            here -= {str(own.value)}  # pip replaces it by itself
        elif TRITON not in here:
            here = set()
        return tuple(each for each in PACKAGES[TRITON] if each in here)
    cuda = torch.facts.get("torch.cuda")
    found = environment.fact("packages.nvidia")
    if not isinstance(cuda, Known) or not isinstance(found, Known):
        return ()
    ending = f"-cu{version_part(str(cuda.value), 'major')}"
    wheels = found.value if isinstance(found.value, dict) else {}
    old = {name for name in wheels if name[-5:-2] == "-cu" and not name.endswith(ending)}
    for package in (*PACKAGES, *environment.requirers()):
        needs = environment.fact(f"{package}.requires")
        if package != TORCH and isinstance(needs, Known) and isinstance(needs.value, dict):
            old -= needs.value.keys()
    return tuple(sorted(old))


def _listed(environment: Environment, name: str) -> dict[str, str]:
    return fact_mapping(environment.fact(name))


def _without(facts: Mapping[str, Fact], names: tuple[str, ...]) -> dict[str, Fact]:
    changed: dict[str, Fact] = {}
    for fact_name in ("packages.installed", NAMED, "packages.nvidia"):
        fact = facts.get(fact_name)
        if names and isinstance(fact, Known) and isinstance(fact.value, dict):
            left = {name: value for name, value in fact.value.items() if name not in names}
            changed[fact_name] = Known(left, AFTER)
    return changed


def _installed(facts: Mapping[str, Fact], choice: Choice) -> dict[str, Fact]:
    """Return the list of everything after a choice; a version that is not known is empty."""
    changed: dict[str, Fact] = {}
    names = PACKAGES.get(choice.package, (choice.package,))
    for fact_name in (*_LISTS, "packages.duplicated", "packages.broken"):
        fact = facts.get(fact_name)
        if not isinstance(fact, Known) or not isinstance(fact.value, dict):
            continue
        left = {name: value for name, value in fact.value.items() if name not in names}
        if fact_name in _LISTS and choice.kind is not ChoiceKind.REMOVE:
            left |= {choice.distribution: choice.version, **choice.brings}
        changed[fact_name] = Known(left, AFTER)
    return changed


_LISTS = ("packages.installed", NAMED)
"""Facts with the packages that are there, or those of them that a text names."""

_NONE_LEFT = {
    ISOLATED: ISOLATED_KIND,
    ISOLATED_BY_NEW: ISOLATED_BY_NEW,
    UNSERVED: UNSERVED_INSTEAD,
}
"""Fact without an entry left -> the fact that is Absent then."""


def _in_files(facts: Mapping[str, Fact], choice: Choice) -> dict[str, Fact]:
    """Return what is wrong with lines of files, once one names another release, a wheel, or goes.

    Whether a release that comes goes with what else is asked for, its requirements say.
    """
    is_built = choice.kind not in (ChoiceKind.WHEEL, ChoiceKind.COMMUNITY, ChoiceKind.REMOVE)
    settled = (each for each in SETTLED if not (is_built and each in _OF_WHEELS))
    changed: dict[str, Fact] = {}
    for fact_name in settled:
        told = fact_mapping(facts.get(fact_name, _MET))
        left = {name: text for name, text in told.items() if not _is_settled(name, text, choice)}
        if left != told:
            changed[fact_name] = Known(left, AFTER)
    for emptied in [name for name, fact in changed.items() if not fact_mapping(fact)]:
        if emptied in _NONE_LEFT:
            changed[_NONE_LEFT[emptied]] = Absent(f"{AFTER}: a wheel from a URL")
    return changed


def _is_settled(name: str, text: str, choice: Choice) -> bool:
    """Return whether a choice moves what a line is about, or comes in the version it requires."""
    # triton-windows comes instead of the triton that PyPI has no file of for Windows
    if name == choice.distribution or name in PACKAGES.get(choice.package, ()):
        return True
    found = REQUIRED.search(text)
    is_other = found is not None and found["other"] == choice.distribution and choice.version
    return bool(is_other) and found is not None and accepts(found["needs"], choice.version)


def _ptxas(choice: Choice) -> dict[str, Fact]:
    """Return the ptxas that a triton brings."""
    version = choice.facts.get("toolkit.ptxas.version", Unknown("another triton", AFTER))
    if choice.kind is ChoiceKind.REMOVE:
        version = Absent(f"{AFTER}: triton is removed")
    place = version if isinstance(version, Absent) else Unknown("another triton", AFTER)
    return {"toolkit.ptxas.version": version, "toolkit.ptxas.path": place}
