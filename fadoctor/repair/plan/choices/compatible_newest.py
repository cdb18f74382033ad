"""The packages that a release is installed beside, and the newest release that all of them take."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere
from fadoctor.knowledge.matrix.versions import is_older, version_part
from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.finding import Outcome
from fadoctor.model.packages import TRITON, package_of
from fadoctor.repair.plan.choices.helpers import MOVE_ALONG
from fadoctor.repair.plan.choices.offers import bounded, is_told
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.states.requirements import named_or_installed
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.requirements import Requirements

_TRIED = 60
"""Releases of one package of which the rules are asked."""


class Company:
    """What one environment holds by then, and what of it asks for others."""

    def __init__(
        self,
        problem: Problem,
        environment: Environment,
        requirements: Requirements,
        followers: Mapping[str, Choice],
        *,
        careful: bool,
    ) -> None:
        """Take the environment, and what follows in it; `careful`: a rule's warning counts."""
        self.problem = problem
        self.environment = environment
        self.requirements = requirements
        self.followers = followers
        self.careful = careful
        self.moving: frozenset[str] = frozenset()
        """Distributions that will be others: what they take now is not asked."""
        self._asked: dict[tuple[tuple[str, str], ...], Requirements] = {}
        """What all require, by what follows: more does while one company is asked."""

    @cached_property
    def there(self) -> Mapping[str, str]:
        """What is there by then, with its versions."""
        return named_or_installed(self.environment)

    @cached_property
    def before(self) -> Mapping[str, str]:
        """What is there before any change, with its versions."""
        return named_or_installed(self.problem.environment)

    def while_moving(self, names: Collection[str], more: Mapping[str, Choice]) -> Company:
        """Return the company while some of it move, with more that comes along."""
        followers = {**self.followers, **more}
        found = Company(
            self.problem, self.environment, self.requirements, followers, careful=self.careful
        )
        found.moving = frozenset(names)
        return found

    @property
    def _moved(self) -> set[str]:
        """What comes along in another release, or will be another."""
        return {*self._followed, *self.moving}

    @property
    def _followed(self) -> set[str]:
        """What comes along in another release: what the one that goes requires is over."""
        return {each.distribution for each in self.followers.values()}

    def newest(self, distribution: str, specifier: str = "") -> Choice | None:
        """Return the newest release that all take, None where none is known to fit.

        `specifier`: what somebody asks for beside the packages that are there.
        """
        found = self._fitting(distribution, specifier)
        good = (each for each in found[:_TRIED] if not self.is_warned_of(each))
        newest = next(iter(found), None)
        return next(good, newest) if self.careful else newest

    def nearest(self, distribution: str) -> Choice | None:
        """Return the newest release that all take and that is no older than the installed one.

        The newest of the earlier ones where no such release fits.
        """
        here = self.before.get(distribution, "")
        later = self.newest(distribution, f">={here.partition('+')[0]}") if here else None
        return later or self.newest(distribution)

    def newest_of_each_major(self, distribution: str, specifier: str = "") -> list[Choice]:
        """Return the newest release that all take of the major version that is here, and of all."""
        found = self._fitting(distribution, specifier)
        newest = self.newest(distribution, specifier)
        others = [] if newest is None else [each for each in found if _is_newer(each, newest)]
        good = (each for each in others[:_TRIED] if not self.is_warned_of(each))
        return [each for each in (newest, next(good, None)) if each is not None]

    def newest_whole(self, distribution: str, specifier: str = "") -> Choice | None:
        """Return the newest release that all take, and that can have what it requires itself."""
        found = self._fitting(distribution, specifier)[:_TRIED]
        whole = [each for each in found if not self._lacks(each)]
        good = (each for each in whole if not self.is_warned_of(each))
        newest = next(iter(whole), None)
        return next(good, newest) if self.careful else newest

    def _lacks(self, choice: Choice) -> bool:
        """Return whether something that a release requires is not here, and cannot come."""
        helpers = self.problem.session.candidates.helpers
        there = self.there
        followers = {**self.followers, choice.package: choice}
        beside = Company(
            self.problem, self.environment, self.requirements, followers, careful=False
        )
        needs = helpers.needs(choice.distribution, choice.version, self.problem.platform)
        return any(
            name not in there and helpers.reaches(name, asked) and beside.newest(name) is None
            for name, asked in needs.items()
        ) or (TRITON in needs and TRITON not in there and not self._has_triton(needs[TRITON]))

    def _has_triton(self, specifier: str) -> bool:
        """Return whether a triton in a range has a file for this platform and Python."""
        candidates, environment = self.problem.session.candidates, self.environment
        place = InstalledWhere(self.problem.platform, python_of(environment).rstrip("t"))
        return any(
            accepts(specifier, version)
            and candidates.listed.published.has_file(TRITON, version, place)
            for row in candidates.tables["triton-releases"].rows
            for version in cell_words(row["version"])
        )

    def _fitting(self, distribution: str, specifier: str = "") -> list[Choice]:
        """Return the releases that all take, newest first."""
        helpers = self.problem.session.candidates.helpers
        there = {name: v for name, v in self.there.items() if name not in self.moving}
        there |= {each.distribution: each.version for each in self.followers.values()}
        asking = [
            (asker, there.get(asker, ""), needs[distribution])
            for asker, needs in self._needs(there).items()
            if distribution in needs
        ]
        asked = [self._specifier(asker, v, distribution, needs) for asker, v, needs in asking]
        bounds = self.problem.session.bounds
        asked += [
            bounds.of(name, there[name]).get(distribution, "")
            for name in bounds.packages & there.keys()
        ]
        fitting = helpers.fitting(distribution, self.environment, [*asked, specifier], there)
        moving = {*MOVE_ALONG.get(distribution, ())} - self._followed
        stays = {name: version for name, version in there.items() if name not in moving}
        pairs = self.problem.session.pairs
        taken = [
            each
            for each in fitting
            if bounds.take(distribution, each.version, stays)
            and pairs.take(distribution, each.version, there)
        ]
        if own := self.problem.environment.ranges.get(distribution, ""):
            taken = [each for each in taken if accepts(own, each.version)] or taken
        months = self.problem.session.months
        askers = [(asker, version) for asker, version, _ in asking]
        beside = months.newest_of(self._in_use(distribution, there)) if not askers else ()
        timely = months.of_their_time(taken, askers or beside)
        return self._nearest_first(distribution, timely)

    def _in_use(self, distribution: str, there: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        """Return what stays beside a release of an installed package that nothing asks for.

        Its neighbours call it in the way of their time, whatever their metadata say.
        """
        before = self.problem.environment
        # a text that lists some of it names no more
        listed = fact_mapping(before.fact("packages.installed")) or fact_mapping(before.fact(NAMED))
        if distribution not in listed:
            return ()
        moved = self._moved
        stays = {name: v for name, v in listed.items() if name not in moved}
        return [(name, v) for name, v in {**stays, **there}.items() if name != distribution]

    def _nearest_first(self, distribution: str, releases: list[Choice]) -> list[Choice]:
        """Return releases of the major version that is installed before all others.

        Programs are written for one major version: another comes only where no release of it fits.
        In a file one that no pin rules out goes before: else another line has to change.
        """
        installed = self.before
        here = installed.get(distribution, "")
        major = version_part(here, "major")
        found = sorted(releases, key=lambda each: version_part(each.version, "major") != major)
        if self.problem.environment.target.kind != "manifest" or not here:
            return found
        moving = {distribution, *MOVE_ALONG.get(distribution, ()), *self._followed, *self.moving}
        pins = {n: v for n, v in installed.items() if n not in moving and not package_of(n)}
        if not found or not self._asks_more(found[0], pins):
            return found
        good = (e for e in found if not is_older(e.version, here) and not self._asks_more(e, pins))
        first = list(islice(good, 1))
        return [*first, *(each for each in found if each not in first)]

    def _asks_more(self, choice: Choice, pins: Mapping[str, str]) -> bool:
        """Return whether a release requires another release of something than a pin admits."""
        helpers = self.problem.session.candidates.helpers
        needs = helpers.declared(choice.distribution, choice.version)
        return any(name in pins and not accepts(text, pins[name]) for name, text in needs.items())

    def is_warned_of(self, choice: Choice) -> bool:
        """Return whether a rule finds something about a release, beside all that follows.

        What a package goes with is asked of packages that nobody decides about, too.
        """
        problem = self.problem
        after = problem.trial.after(self.environment, [*self.followers.values(), choice])
        if isinstance(after.facts.get(f"{choice.package}.pair_told"), Known):
            return True
        return any(
            each.outcome is Outcome.FAIL
            for relation in problem.relations
            if choice.package in relation.mentions
            for each in problem.judge(relation, after)
        )

    def _needs(self, there: Mapping[str, str]) -> Requirements:
        """Return what everything that is there requires, the followers included.

        Of a release that comes only the tables say it; that of the release that goes is nothing.
        """
        asked = tuple((each.requirement, each.version) for each in self.followers.values())
        if asked not in self._asked:
            self._asked[asked] = self._required(there)
        return self._asked[asked]

    def _required(self, there: Mapping[str, str]) -> Requirements:
        """Return what `_needs` keeps."""
        helpers, platform = self.problem.session.candidates.helpers, self.problem.platform
        before = fact_mapping(self.problem.environment.fact("packages.installed"))
        followed = self._followed
        found = {name: needs for name, needs in self.requirements.items() if name in there}
        changed = [name for name, version in there.items() if version != before.get(name)]
        for name in changed:
            if needs := helpers.needs(name, there[name], platform):
                found[name] = needs
            elif name in followed:
                found.pop(name, None)
        open_ = {each.distribution for each in self.followers.values() if not is_told(each)}
        for name in changed:
            if name not in open_ and (told := helpers.declared(name, there[name])):
                found[name] = {**told, **found.get(name, {})}
        for name in changed:
            found |= self._pinned_by(found.get(name, {}), there, platform)
        return found

    def _pinned_by(
        self, needs: Mapping[str, str], there: Mapping[str, str], platform: str
    ) -> Requirements:
        """Return what the releases require that a release pins, and that come with it."""
        helpers = self.problem.session.candidates.helpers
        pins = {name: s[2:] for name, s in needs.items() if s.startswith("==") and "," not in s}
        coming = {name: v for name, v in pins.items() if there.get(name) != v}
        return {
            name: found for name, v in coming.items() if (found := helpers.needs(name, v, platform))
        }

    def _specifier(self, asker: str, version: str, needs: str, specifier: str) -> str:
        return bounded(self.problem.session.matrix, asker, version, needs, specifier)


def _is_newer(one: Choice, other: Choice) -> bool:
    """Return whether a release has a newer major version."""
    majors = (version_part(each.version, "major") for each in (other, one))
    return is_older(*map(str, majors)) is True
