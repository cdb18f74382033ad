"""What a state costs at least beyond what is decided: packages that nobody decides about.

These follow once all else is decided, at a cost that is known before: of what a release that comes
refuses, another release comes, or no release suits all that ask for it. The search need not come to
a whole state to know, nor put a choice to the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.packages import BESIDE_TORCH, ORDER, PACKAGES, PLANNED, TORCH, package_of
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.offers import bounded, is_told
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.search.stance import Bound, EndOfPackage, Stance
from fadoctor.repair.plan.search.suiting import places_of
from fadoctor.repair.plan.states.requirements import named_or_installed, requirements_of, satisfies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State

_OF_THEIR_OWN = frozenset((*ORDER, *PLANNED, *BESIDE_TORCH))
"""Packages of which other tables than those of helpers have the releases."""


class Beside:
    """What one state decides and asks for."""

    def __init__(self, decided: dict[str, str]) -> None:
        """Take what stays whatever is decided."""
        self.decided = decided
        self.asked: dict[str, list[Bound]] = {}
        self.broken: dict[str, tuple[str, ...]] = {}
        """The ranges in which packages are asked for, and what is here is not."""
        self.suiting: dict[str, int] = {}
        """The places of the releases that all which is decided takes."""
        self.linked: dict[str, int] = {}
        """The places of those for which what they require can come as well."""
        self.ends: dict[str, EndOfPackage] = {}
        """In what packages end, where that costs something."""
        self.steps: dict[Bound, tuple[int, int]] = {}
        self.more: dict[int, tuple[int, int]] = {}
        """What stances add, by their numbers."""

    @property
    def costs(self) -> tuple[int, int]:
        """The errors and the changes that follow."""
        ends = [*self.ends.values()]
        return ends.count(EndOfPackage.BROKEN), ends.count(EndOfPackage.REPLACED)


class Unchosen:
    """What one problem decides nothing about."""

    def __init__(self, problem: Problem) -> None:
        """Read what is installed, and what it requires."""
        self.problem = problem
        self.helpers = problem.session.candidates.helpers
        environment = problem.environment
        self._there = named_or_installed(environment)
        self._is_list = isinstance(environment.fact("packages.installed"), Known)
        self._requirements = requirements_of(environment, problem.others)
        self._askers: dict[str, list[tuple[str, str]]] = {}
        for asker, version in self._there.items():
            if version and self._is_free(asker):
                for needs, specifier in self._needs_of(asker, version).items():
                    self._askers.setdefault(needs, []).append((asker, specifier))
        self._besides: dict[tuple[tuple[str, str], ...], Beside] = {}
        self._stances: dict[tuple[str, str], Stance] = {}
        self._numbers: dict[tuple[tuple[Bound, ...], tuple[str, ...]], int] = {}
        self._unmet: dict[int, tuple[Bound, ...]] = {}
        """What stances ask for that is not here, by their numbers."""
        self._suiting = problem.session.suiting(environment)
        self._lost: dict[tuple[str, tuple[str, ...]], bool] = {}
        self._links: dict[str, dict[str, tuple[str, ...]]] = {}
        self._linked: dict[tuple[str, str, int], int] = {}
        self._more: dict[tuple[str, str], dict[str, str]] = {}
        self._stay = {
            name: version
            for name, version in self._there.items()
            if package_of(name, name) in problem.wishes.kept and self._is_free(name)
        }
        """What is kept, and is none of the packages that a search decides about."""
        self._kept = tuple(
            Bound(needs, specifier, specifier, False)
            for name in self._stay
            for needs, specifier in self._requirements.get(name, {}).items()
            if self._is_open(needs)
        )

    def beside(self, state: State) -> Beside:
        """Return what the choices of a state ask for, and in what that ends."""
        asked = tuple((name, choice.key) for name, choice in state.items())
        if asked not in self._besides:
            self._besides[asked] = self._beside(state)
        return self._besides[asked]

    def _beside(self, state: State) -> Beside:
        """Return what `beside` keeps."""
        found = Beside(dict(self._stay))
        refused: set[str] = set()
        for choice in state.values():
            stance = self._stance(choice)
            if stance.version:
                found.decided[stance.distribution] = stance.version
            for each in stance.asked:
                found.asked.setdefault(each.needs, []).append(each)
            refused.update(stance.refused_by)
        for each in self._kept:
            found.asked.setdefault(each.needs, []).append(each)
        for name in dict.fromkeys((*found.asked, *refused)):
            end = self._end(name, found, is_refused=name in refused)
            if end is not EndOfPackage.OPEN:
                found.ends[name] = end
        return found

    def more(self, beside: Beside, choice: Choice) -> tuple[int, int]:
        """Return the errors and changes that one more choice adds at least."""
        stance = self._stance(choice)
        found = beside.more.get(stance.number)
        if found is None:
            found = beside.more[stance.number] = self._more_of(beside, stance)
        return found

    def number(self, choice: Choice) -> int:
        """Return what choices share that add the same beside all."""
        return self._stance(choice).number

    def _more_of(self, beside: Beside, stance: Stance) -> tuple[int, int]:
        errors = changed = 0
        for each in self._telling(stance, beside):
            if each not in beside.steps:
                beside.steps[each] = self._step(each, beside)
            step = beside.steps[each]
            errors += step[0]
            changed += step[1]
        for name in stance.refused_by:
            if beside.ends.get(name, EndOfPackage.OPEN) is EndOfPackage.OPEN and not any(
                each.needs == name for each in stance.asked
            ):
                changed += 1
        return errors, changed

    def _telling(self, stance: Stance, beside: Beside) -> tuple[Bound, ...]:
        """Return what of a stance may add something: most of it is met by what is here.

        In order, where a package that ends badly anyhow is asked for, too.
        """
        unmet = self._unmet.get(stance.number)
        if unmet is None:
            unmet = self._unmet[stance.number] = tuple(
                each for each in stance.asked if not self._is_met(each)
            )
        if not beside.ends:
            return unmet
        return tuple(each for each in stance.asked if each in unmet or each.needs in beside.ends)

    def _is_met(self, asked: Bound) -> bool:
        """Return whether it adds nothing that one asks for a package that stays as it is."""
        here = self._there.get(asked.needs)
        if here is None:
            return not self._is_list
        return not asked.is_new or satisfies(here, asked.told)

    def _step(self, asked: Bound, beside: Beside) -> tuple[int, int]:
        """Return what it adds that one more asks for a package."""
        name = asked.needs
        before = beside.ends.get(name, EndOfPackage.OPEN)
        if before is EndOfPackage.BROKEN or (before is EndOfPackage.OPEN and self._is_met(asked)):
            return 0, 0
        is_refused = before is EndOfPackage.REPLACED
        after = self._end(name, beside, is_refused=is_refused, more=asked).costs
        return after[0] - before.costs[0], after[1] - before.costs[1]

    def _is_free(self, name: str) -> bool:
        package = package_of(name, name)
        return package not in self.problem.packages

    def _is_open(self, name: str) -> bool:
        """Return whether nobody decides about what a choice requires, nor asked for it."""
        wishes = self.problem.wishes
        package = package_of(name, name)
        return self._is_free(name) and package not in wishes.asked and name not in wishes.frameworks

    def _needs_of(self, name: str, version: str) -> Mapping[str, str]:
        """Return what an installed package requires: by its metadata, or by the tables."""
        found = self._requirements.get(name)
        return self.helpers.needs(name, version, self.problem.platform) if found is None else found

    def _stance(self, choice: Choice) -> Stance:
        asked = (choice.package, choice.key)
        if asked not in self._stances:
            found = self._taken(choice)
            alike = (found.asked, found.refused_by)
            number = self._numbers.setdefault(alike, len(self._numbers))
            self._stances[asked] = msgspec.structs.replace(found, number=number)
        return self._stances[asked]

    def _taken(self, choice: Choice) -> Stance:
        if choice.kind is ChoiceKind.REMOVE:
            return Stance()
        before = self.problem.broken_before
        if not choice.is_change:
            here = [name for name in self._there if package_of(name, name) == choice.package]
            if len(here) != 1 or not self._there[here[0]]:
                return Stance()
            name, version = here[0], self._there[here[0]]
            asked = self._asked(name, version, {}, self._requirements.get(name, {}))
            return Stance(asked, (), name, version)
        name, version = choice.distribution, choice.version
        if not version or not is_told(choice):
            return Stance()
        told = fact_mapping(choice.facts.get(f"{choice.package}.requires", _NOTHING))
        listed = self.helpers.needs(name, version, self.problem.platform)
        full = {**self.helpers.declared(name, version), **(listed or told)}
        is_ours = choice.package != TORCH and (choice.package in PACKAGES or name in self._there)
        # what it declares alone, and what is here does not meet, moves as well
        moving = {each: text for each, text in full.items() if is_ours and each in self._there}
        refusing = tuple(
            asker
            for asker, specifier in self._askers.get(name, ())
            if not satisfies(version, specifier) and (asker, name) not in before
        )
        return Stance(self._asked(name, version, {**moving, **told}, full), refusing, name, version)

    def _asked(
        self, name: str, version: str, told: Mapping[str, str], full: Mapping[str, str]
    ) -> tuple[Bound, ...]:
        """Return what a release asks for of packages that nobody decides about."""
        matrix, before = self.problem.session.matrix, self.problem.broken_before
        by_names = self.problem.session.bounds.of(name, version)
        found = []
        for needs in dict.fromkeys((*told, *full, *by_names)):
            text = bounded(matrix, name, version, needs, full.get(needs, ""))
            both = ",".join(filter(None, (text, by_names.get(needs, ""))))
            if both and self._is_open(needs):
                is_new = needs in told and (name, needs) not in before
                found.append(Bound(needs, told.get(needs, ""), both, is_new))
        return tuple(found)

    def _end(
        self, name: str, beside: Beside, *, is_refused: bool, more: Bound | None = None
    ) -> EndOfPackage:
        """Return in what one package ends that nobody decides about; `more`: what asks as well."""
        here = self._there.get(name)
        if here is None and not self._is_list:
            return EndOfPackage.OPEN
        broken = self._broken(name, beside)
        if more is not None and self._breaks(more, here):
            broken = (*broken, more.told)
        if not broken and not is_refused:
            return EndOfPackage.OPEN
        if package_of(name, name) in self.problem.wishes.kept:
            return EndOfPackage.BROKEN
        is_ours = package_of(name, name) not in _OF_THEIR_OWN
        if is_ours and self._is_hopeless(name, broken, beside, more):
            return EndOfPackage.BROKEN
        return EndOfPackage.OPEN if here is None else EndOfPackage.REPLACED

    def _broken(self, name: str, beside: Beside) -> tuple[str, ...]:
        """Return the ranges in which a package is asked for, and what is here is not."""
        if name not in beside.broken:
            here = self._there.get(name)
            beside.broken[name] = tuple(
                each.told for each in beside.asked.get(name, ()) if self._breaks(each, here)
            )
        return beside.broken[name]

    def _breaks(self, asked: Bound, here: str | None) -> bool:
        """Return whether what asks comes, and what is here is not in its range."""
        return asked.is_new and (here is None or not satisfies(here, asked.told))

    def _is_hopeless(
        self, name: str, broken: tuple[str, ...], beside: Beside, more: Bound | None
    ) -> bool:
        """Return whether no known release takes all that is decided, and all of those are known."""
        suiting = self._all_suiting(name, beside)
        if more is not None and more.full:
            suiting &= self._suiting.within(name, more.full)
        if suiting:
            return not suiting & self._all_linked(name, beside)
        if (name, broken) not in self._lost:
            begins, here = self.helpers.begins(name), self._there.get(name, "")
            moves = not broken and begins and here and version_key(begins) <= version_key(here)
            is_lost = bool(moves) or any(self.helpers.has(name, each) for each in broken)
            self._lost[name, broken] = is_lost
        return self._lost[name, broken]

    def _all_suiting(self, name: str, beside: Beside) -> int:
        """Return the places of the releases that all which is decided takes."""
        if name not in beside.suiting:
            found = self._suiting.all_of(name)
            for text in (each.full for each in beside.asked.get(name, ()) if each.full):
                found &= self._suiting.within(name, text)
            for other in self._suiting.others(name):
                if version := beside.decided.get(other):
                    found &= self._suiting.with_other(name, other, version)
            beside.suiting[name] = found
        return beside.suiting[name]

    def _all_linked(self, name: str, beside: Beside) -> int:
        """Return the places of the releases of which what they require can come as well."""
        if name not in beside.linked:
            found = self._suiting.all_of(name)
            for other in self._links_of(name):
                if other in beside.asked:
                    found &= self._linked_with(name, other, self._all_suiting(other, beside))
            beside.linked[name] = found
        return beside.linked[name]

    def _links_of(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return what releases of a package require, and in which range each one does."""
        if name not in self._links:
            every = [self._further(each) for each in self._suiting.every(name)]
            names = dict.fromkeys(other for further in every for other in further)
            self._links[name] = {o: tuple(each.get(o, "") for each in every) for o in names}
        return self._links[name]

    def _linked_with(self, name: str, other: str, suiting: int) -> int:
        """Return the places of the releases that take what is here of another, or may come of it.

        `suiting`: which releases of that may come.
        """
        asked = (name, other, suiting)
        if asked not in self._linked:
            self._linked[asked] = places_of(
                not specifier or self._can_come(other, specifier, suiting)
                for specifier in self._links_of(name)[other]
            )
        return self._linked[asked]

    def _can_come(self, name: str, specifier: str, suiting: int) -> bool:
        """Return whether what is here of a package, or may come, is in a range, or nobody knows."""
        here = self._there.get(name, "")
        return bool(
            (here and accepts(specifier, here))
            or not suiting
            or suiting & self._suiting.within(name, specifier)
            or not self.helpers.has(name, specifier)
        )

    def _further(self, choice: Choice) -> dict[str, str]:
        """Return what a release requires of packages that nobody decides about."""
        key = (choice.distribution, choice.version)
        if key not in self._more:
            needs = self.helpers.needs(*key, self.problem.platform)
            needs = {**self.helpers.declared(*key), **needs}
            self._more[key] = {
                name: text
                for name, text in needs.items()
                if text and name != choice.distribution and self._is_open(name)
            }
        return self._more[key]


_NOTHING = Known({}, "")
