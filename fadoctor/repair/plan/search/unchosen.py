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
from fadoctor.repair.plan.choices.helpers import MOVE_ALONG
from fadoctor.repair.plan.choices.offers import bounded, is_told
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.search.stance import Bound, EndOfPackage, JudgedReleases, Stance
from fadoctor.repair.plan.states.requirements import named_or_installed, requirements_of, satisfies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State

_OF_THEIR_OWN = frozenset((*ORDER, *PLANNED, *BESIDE_TORCH))
"""Packages of which other tables than those of helpers have the releases."""


_Range = tuple[str, tuple[str, ...], tuple[str | None, ...]]
"""A distribution, the ranges in which it is asked for, and the versions of what it asks for."""


class Beside:
    """What one state decides and asks for."""

    def __init__(self, decided: dict[str, str]) -> None:
        """Take what stays whatever is decided."""
        self.decided = decided
        self.asked: dict[str, list[Bound]] = {}
        self.ranges: dict[str, _Range] = {}
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

    def with_one(self, asked: Bound) -> Beside:
        """Return it with one more that asks for a package."""
        name = asked.needs
        found = Beside(self.decided)
        found.asked = {**self.asked, name: [*self.asked.get(name, ()), asked]}
        found.ranges = {other: each for other, each in self.ranges.items() if other != name}
        return found


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
        self._found: dict[_Range, tuple[Choice, ...]] = {}
        self._hopeless: dict[object, bool] = {}
        self._steps: dict[object, tuple[int, int]] = {}
        """What one more that asks adds, by all that it depends on."""
        self._releases: dict[str, JudgedReleases] = {}
        self._places: dict[tuple[str, str, str], frozenset[int]] = {}
        self._links: dict[str, tuple[str, ...]] = {}
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
        for each in stance.asked:
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

    def _step(self, asked: Bound, beside: Beside) -> tuple[int, int]:
        """Return what it adds that one more asks for a package."""
        name = asked.needs
        before = beside.ends.get(name, EndOfPackage.OPEN)
        here = self._there.get(name)
        if before is EndOfPackage.BROKEN or (here is None and not self._is_list):
            return 0, 0
        is_met = here is not None and (not asked.is_new or satisfies(here, asked.told))
        if is_met and before is EndOfPackage.OPEN:
            return 0, 0
        alike = (
            asked,
            before,
            tuple(beside.asked.get(name, ())),
            self._range(name, beside)[2],
            self._further_ranges(name, beside),
        )
        if alike not in self._steps:
            then = beside.with_one(asked)
            after = self._end(name, then, is_refused=before is EndOfPackage.REPLACED)
            errors, changed = after.costs
            self._steps[alike] = errors - before.costs[0], changed - before.costs[1]
        return self._steps[alike]

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

    def _end(self, name: str, beside: Beside, *, is_refused: bool) -> EndOfPackage:
        """Return in what one package ends that nobody decides about."""
        here = self._there.get(name)
        if here is None and not self._is_list:
            return EndOfPackage.OPEN
        broken = tuple(
            each.told
            for each in beside.asked.get(name, ())
            if each.is_new and (here is None or not satisfies(here, each.told))
        )
        if not broken and not is_refused:
            return EndOfPackage.OPEN
        if package_of(name, name) in self.problem.wishes.kept:
            return EndOfPackage.BROKEN
        if package_of(name, name) not in _OF_THEIR_OWN:
            asked = (broken, self._range(name, beside), self._further_ranges(name, beside))
            if asked not in self._hopeless:
                self._hopeless[asked] = self._is_hopeless(name, broken, beside)
            if self._hopeless[asked]:
                return EndOfPackage.BROKEN
        return EndOfPackage.OPEN if here is None else EndOfPackage.REPLACED

    def _is_hopeless(self, name: str, broken: tuple[str, ...], beside: Beside) -> bool:
        """Return whether no known release takes all that is decided, and all of those are known."""
        if coming := self._fitting(name, beside):
            return not any(self._can_come(each, beside) for each in coming)
        begins, here = self.helpers.begins(name), self._there.get(name, "")
        moves = not broken and begins and here and version_key(begins) <= version_key(here)
        return bool(moves) or any(self.helpers.has(name, each) for each in broken)

    def _range(self, name: str, beside: Beside) -> _Range:
        """Return what decides which releases of a package may come."""
        if name not in beside.ranges:
            ranges = {each.full for each in beside.asked.get(name, ()) if each.full}
            there = tuple(map(beside.decided.get, self._releases_of(name).others))
            beside.ranges[name] = (name, tuple(sorted(ranges)), there)
        return beside.ranges[name]

    def _fitting(self, name: str, beside: Beside) -> tuple[Choice, ...]:
        """Return the releases that all which is decided takes, newest first."""
        asked = self._range(name, beside)
        if asked not in self._found:
            releases = self._releases_of(name)
            others = zip(releases.others, asked[2], strict=True)
            common = set(range(len(releases.every))).intersection(
                *(self._in_range(name, text) for text in asked[1]),
                *(self._with_other(name, other, v) for other, v in others if v),
            )
            self._found[asked] = tuple(releases.every[at][0] for at in sorted(common))
        return self._found[asked]

    def _in_range(self, name: str, specifier: str) -> frozenset[int]:
        """Return the places of the releases of a package that are in a range."""
        asked = (name, specifier, "")
        if asked not in self._places:
            every = self._releases_of(name).every
            self._places[asked] = frozenset(
                at for at, (each, _) in enumerate(every) if accepts(specifier, each.version)
            )
        return self._places[asked]

    def _with_other(self, name: str, other: str, version: str) -> frozenset[int]:
        """Return the places of the releases of a package that take a version of another."""
        asked = (name, other, version)
        if asked not in self._places:
            every = self._releases_of(name).every
            self._places[asked] = frozenset(
                at
                for at, (_, needs) in enumerate(every)
                if all(accepts(text, version) for who, text in needs if who == other)
            )
        return self._places[asked]

    def _releases_of(self, name: str) -> JudgedReleases:
        """Return the releases of a package for this Python, and what each has to be beside."""
        if name not in self._releases:
            session, problem = self.problem.session, self.problem
            every = []
            for each in self.helpers.fitting(name, problem.environment, (), {}):
                by_names = session.bounds.of(name, each.version)
                beside = [
                    item for item in by_names.items() if item[0] not in MOVE_ALONG.get(name, ())
                ]
                pairs = session.pairs.of(name, each.version)
                every.append((each, (*self.helpers.own(name, each.version), *beside, *pairs)))
            others = dict.fromkeys(other for _, needs in every for other, _ in needs)
            self._releases[name] = JudgedReleases(tuple(every), tuple(others))
        return self._releases[name]

    def _further_ranges(self, name: str, beside: Beside) -> tuple[_Range, ...]:
        """Return what decides which releases may come of what releases of a package require."""
        if name not in self._links:
            every = self._releases_of(name).every
            self._links[name] = tuple(
                dict.fromkeys(other for each, _ in every for other in self._further(each))
            )
        among = (other for other in self._links[name] if other in beside.asked)
        return tuple(self._range(other, beside) for other in among)

    def _can_come(self, choice: Choice, beside: Beside) -> bool:
        """Return whether what a release requires of others that are asked for can come as well."""
        further = self._further(choice)
        for name in beside.asked.keys() & further.keys():
            specifier, here = further[name], self._there.get(name, "")
            if here and accepts(specifier, here):
                continue
            found = self._fitting(name, beside)
            fits = any(accepts(specifier, each.version) for each in found)
            if found and not fits and self.helpers.has(name, specifier):
                return False
        return True

    def _further(self, choice: Choice) -> dict[str, str]:
        """Return what a release requires of packages that nobody decides about."""
        key = (choice.distribution, choice.version)
        if key not in self._more:
            needs = self.helpers.needs(*key, self.problem.platform)
            needs = {**self.helpers.declared(*key), **needs}
            self._more[key] = {
                name: text for name, text in needs.items() if text and self._is_open(name)
            }
        return self._more[key]


_NOTHING = Known({}, "")
