"""What a resolver takes: for each open package the newest release that fits all the others."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import requirers_in
from fadoctor.model.fact import Known, Unknown, fact_mapping, fact_text
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, PARTLY, TORCH
from fadoctor.model.packages import package_of as prefix_of
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.resolution.declared import SOURCE, Declared
from fadoctor.repair.resolution.prebuilt import Prebuilt
from fadoctor.repair.resolution.versions import Versions, package_of
from fadoctor.sources.manifests.installed.held import HELD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.place import Place

STEP_LIMIT = 3_000
"""Releases that are looked at for one resolution."""

LEFT_OPEN = ""
"""Stands for the release of a package of which the tables do not say which one comes."""

_CONDA = "conda"
_FIRST = (TORCH,)
"""Packages that are decided before others: as resolvers do with what much hangs on."""


class Resolver:
    """Resolves the open packages of one planned environment."""

    def __init__(self, environment: Environment, versions: Versions) -> None:
        """Take the environment and the releases that there are."""
        self.environment, self.versions = environment, versions
        unasked, python = _without_their_extras(environment), python_of(environment).rstrip("t")
        extras = _with_their_extras(environment)
        self.prebuilt = Prebuilt.of(versions.matrix)
        self.ranges = package_of(environment.ranges)
        self.bounds = package_of(environment.asked)
        self.exact = {
            package: str(fact.value)
            for package in PACKAGES
            if isinstance(fact := environment.fact(f"{package}.version"), Known)
        }
        locked = environment.pinned | _by_name(self.exact) if environment.is_locked else {}
        self.declared = Declared(versions.matrix, unasked, python, extras, locked)
        self.pinned = self.declared.told_of(environment.pinned)
        self.of_conda = frozenset(
            package
            for package in PACKAGES
            if fact_text(environment.fact(f"{package}.installer"), "") == _CONDA
        )
        """What conda brings: of these pip, which comes after it, takes no notice."""
        self._unserved = frozenset(
            package
            for package, version in self.exact.items()
            if not (
                package in self.of_conda
                or isinstance(environment.fact(f"{package}.direct_url"), Known)
                or versions.is_served(package, version)
            )
        )
        """What no installer can have here: it brings nothing."""
        self._steps = 0
        self._loosely = False
        self._has_helpers = True
        self._has_open = False
        self._is_reversed = False

    def resolve(self, fixed: Mapping[str, str]) -> dict[str, str] | None:
        """Return package -> version of all that is open, some fixed; None where nothing fits."""
        self._steps = STEP_LIMIT
        self._loosely = False
        needs = self._needs({})
        for package, version in fixed.items():
            others = {name: each for name, each in fixed.items() if name != package}
            met = all(accepts(text, version) for text in needs.get(package, ()))
            if not met or not self._fits(package, version, others):
                return None
        return self._without_open(self._decided(dict(fixed)))

    def resolve_without_helpers(self) -> dict[str, str] | None:
        """Return the same of all but the helpers, which stay open from now on."""
        self._has_helpers = False
        return self.resolve({})

    def resolve_loosely(self) -> dict[str, str]:
        """Return the newest of all that is open where not all fits: that is for rules to say."""
        self._steps = STEP_LIMIT
        self._loosely = True
        return self._without_open(self._decided({})) or {}

    def _decided(self, chosen: dict[str, str]) -> dict[str, str] | None:
        package = self._next(chosen)
        if package is None:
            return chosen
        needs = self._needs(chosen)
        bounds = [self._asked(package), *needs.get(package, ())]
        candidates = self.versions.of(package, ",".join(filter(None, bounds)))
        is_named = package in self.ranges or package in self.bounds
        loosest = ("",) if is_named else ()  # what only comes along is none of another release
        for bound in (*needs.get(package, ()), *loosest) if self._loosely else ():
            if candidates:
                break  # what one of them requires comes rather than what none does
            both = ",".join(filter(None, (self._asked(package), bound)))
            candidates = self.versions.of(package, both)
        if self._loosely and not (candidates or is_named):
            return self._decided({**chosen, package: LEFT_OPEN})
        for version in candidates:
            self._steps -= 1
            if self._steps < 0:
                return None
            if not self._loosely and not self._fits(package, version, chosen):
                continue
            of_conda = package in self.of_conda
            is_read = self.versions.is_read(package, version, of_conda=of_conda)
            is_open = not self._loosely and not is_read
            found = self._decided({**chosen, package: LEFT_OPEN if is_open else version})
            if is_open or found is not None:
                return found
        return None

    def _without_open(self, chosen: dict[str, str] | None) -> dict[str, str] | None:
        """Return what is chosen, without what is left open, which is remembered."""
        if chosen is None:
            return None
        self._has_open = LEFT_OPEN in chosen.values()
        return {package: version for package, version in chosen.items() if version != LEFT_OPEN}

    def is_sure(self, taken: Mapping[str, str]) -> bool:
        """Return whether the last resolution left nothing open: all else may hang on it.

        Where another order of deciding ends elsewhere, resolvers differ: uv decides what conflicts
        often before torch.
        """
        if self._has_open or not self.ranges.keys() <= taken.keys() or self.contradicts():
            return False
        if not all(self._is_installed(each, version) for each, version in self.exact.items()):
            return False
        self._is_reversed = not self._is_reversed
        other = self.resolve({})
        self._is_reversed = not self._is_reversed
        return other == taken

    def _is_installed(self, package: str, version: str) -> bool:
        """Return whether an installer takes a release that is pinned, by files and Python."""
        python_fits = not self.versions.excludes_python(package, version)
        return python_fits and self.versions.has_file(package, version)

    def resolve_in_order(self) -> dict[str, str] | None:
        """Return what comes where what the files name before torch is decided before it.

        pip decides in the order of the files. Who pins torch then decides which one comes.
        """
        taken = self.resolve({})
        before = set(takewhile(lambda name: name not in _FIRST, self.ranges))
        if taken is None or not before or TORCH not in self.ranges:
            return taken
        self._is_reversed = True
        other = self.resolve({})
        if other is not None and any(other.get(name) != taken.get(name) for name in before):
            return other
        self._is_reversed = False
        return self.resolve({})

    def contradicts(self) -> bool:
        """Return whether what the files pin exactly does not go together."""
        return any(
            name in self.exact and not accepts(text, self.exact[name])
            for package in self.exact
            for name, text in package_of(self._exact_of(package)).items()
        )

    def _asked(self, package: str) -> str:
        """Return what files ask of a package, also where they only bound what something brings."""
        return self.ranges.get(package, "") or self.bounds.get(package, "")

    def _next(self, chosen: Mapping[str, str]) -> str | None:
        """Return a package to decide: one that is asked for, or that what is decided requires.

        Helpers last: what has a table of its own pins them, and they bound nothing of it.
        """
        drawn = [p for p in self._needs(chosen, drawing=True) if self._is_open(p)]
        others = [package for package in self.ranges if package not in _FIRST]
        first = (*others, *_FIRST) if self._is_reversed else (*_FIRST, *others)
        names = dict.fromkeys((*first, *drawn))
        for package in sorted(names, key=self.versions.is_helper):
            wanted = package in self.ranges or package in drawn
            if wanted and package not in chosen and self._can_decide(package):
                return package
        return None

    def _can_decide(self, package: str) -> bool:
        """Return whether the tables know releases; helpers that no file names stay open."""
        if not self.versions.is_helper(package):
            return bool(self.versions.of(package, ""))
        named = package in self.ranges and self._has_helpers
        return named and bool(self.versions.of(package, self.ranges[package]))

    def _is_open(self, package: str) -> bool:
        version = self.environment.fact(f"{package}.version")
        unknown = isinstance(version, Unknown) and version.reason != HELD
        return unknown and package not in self.ranges and package not in self.exact

    def _needs(self, chosen: Mapping[str, str], *, drawing: bool = False) -> dict[str, list[str]]:
        """Return what everything that is decided asks of each package.

        `drawing`: only of those whose requirements bring what is judged; helpers bound alone.
        """
        found: dict[str, list[str]] = {}
        asked = [(package, self._exact_of(package)) for package in self.exact]
        asked += [(package, self.versions.requires(package, v)) for package, v in chosen.items()]
        for package, needs in asked:
            if drawing and self.versions.is_helper(package) and package not in PARTLY:
                continue
            if drawing and package in self._unserved:
                continue
            for name, text in package_of(needs).items():
                if not self._is_unheeded(package, name):
                    found.setdefault(name, []).append(text)
        return found

    def _exact_of(self, package: str) -> dict[str, str]:
        fact = self.environment.fact(f"{package}.requires")
        if isinstance(fact, Known) or not self.versions.is_helper(package):
            return fact_mapping(fact)
        return self.versions.requires(package, self.exact[package])

    def _fits(self, package: str, version: str, chosen: Mapping[str, str]) -> bool:
        """Return whether what a release requires is met by what is decided already."""
        if self.is_refused(package, version):
            return False
        there = {**self.exact, **chosen}
        needs = package_of(self.versions.requires(package, version))
        return all(
            accepts(text, there[name]) if name in there else self._may_be(name, text)
            for name, text in needs.items()
            if not self._is_unheeded(package, name)
        )

    def _is_unheeded(self, asker: str, package: str) -> bool:
        """Return whether what pip installs requires something of what conda chose before."""
        return package in self.of_conda and asker not in self.of_conda

    def _may_be(self, package: str, specifier: str) -> bool:
        """Return whether a release in a range is known, of what is not decided yet."""
        both = ",".join(filter(None, (specifier, self._asked(package))))
        return not self.versions.of(package, "") or bool(self.versions.of(package, both))

    def world(self, chosen: Mapping[str, str]) -> Environment:
        """Return the environment with the releases that were chosen."""
        facts = dict(self.environment.facts)
        for package, version in chosen.items():
            facts |= self.versions.facts(package, version)
        facts |= self._broken({**self.exact, **chosen})
        facts |= self.prebuilt.facts(self.environment, facts, self._newest(FLASH_ATTN))
        places = self.environment.places | _places_of_askers(facts, self.environment.places)
        return msgspec.structs.replace(self.environment, facts=facts, places=places)

    def _newest(self, package: str) -> str:
        """Return the newest release of a range, "" of what is pinned."""
        listed = self.versions.of(package, self.ranges[package]) if package in self.ranges else ()
        return listed[0] if listed else ""

    def _broken(self, there: Mapping[str, str]) -> dict[str, Fact]:
        """Return which requirements are not met that no file and no table of releases says.

        Where all that the tables list are met, there may be others: they stay Unknown.
        """
        pins = self._pins(there)
        found = self.declared.askers(self.pinned, pins)
        for package, version in there.items():
            name = f"{package}.requires"
            said = self.environment.facts.get(name, _OPEN)
            told = fact_mapping(said)
            broken = {
                other: text
                for other, text in self._declared(package, version).items()
                if other not in told
                and other in pins
                and not accepts(text, pins[other])
                and not self.declared.is_locked({PACKAGES[package][0]: version, other: pins[other]})
            }
            if broken:
                found[name] = Known(told | broken, SOURCE)
        return found

    def _declared(self, package: str, version: str) -> dict[str, str]:
        """Return what a release requires beside what facts say of it."""
        needs = dict(self.declared.of(PACKAGES[package][0], version))
        if self.versions.is_helper(package):
            needs |= self.versions.requires(package, version)
        return needs

    def declared_of(self, name: str, version: str) -> dict[str, str]:
        """Return what a release of a distribution requires, as far as tables say it."""
        needs = dict(self.declared.of(name, version))
        package = prefix_of(name)
        return needs | self.versions.requires(package, version) if package else needs

    def _pins(self, there: Mapping[str, str]) -> dict[str, str]:
        """Return by its name what will be there in an exact version."""
        return self.pinned | _by_name(there)

    def is_refused(self, package: str, version: str) -> bool:
        """Return whether a release and what the files pin surely do not go together."""
        name = PACKAGES[package][0]
        pins = self._pins(self.exact)
        if self.declared.broken(name, version, pins):
            return True
        return any(self.declared.broken(other, pin, {name: version}) for other, pin in pins.items())

    def is_kept_out(self, package: str, version: str) -> bool:
        """Return whether what the files pin requires another release, or one goes with no pin."""
        needs = self._needs({}).get(package, ())
        return self.is_refused(package, version) or not all(accepts(e, version) for e in needs)

    def comes_along(self, package: str) -> bool:
        """Return whether no file names a package: what requires it brings it, and bounds it."""
        return package not in self.bounds.keys() | self.exact.keys() | self.of_conda

    def quarrels(self, package: str, version: str, taken: Mapping[str, str]) -> frozenset[str]:
        """Return of what is taken with a release, by one installer, what it does not go with.

        Such an installer heeds what both require of each other, so that both never come. What no
        file names comes along with what requires it.
        """
        own = self._needs_of(package, version)
        comes_along = self.comes_along(package)
        return frozenset(
            PACKAGES[other][0]
            for other, there in taken.items()
            if other != package
            and other in self.bounds
            and (package in self.bounds or comes_along)
            and not (
                accepts(own.get(other, ""), there)
                and accepts(self._needs_of(other, there).get(package, ""), version)
            )
        )

    def _needs_of(self, package: str, version: str) -> dict[str, str]:
        return package_of(self.declared_of(PACKAGES[package][0], version))


def _by_name(versions: Mapping[str, str]) -> dict[str, str]:
    """Return versions of packages by the names that installers use."""
    return {PACKAGES[package][0]: version for package, version in versions.items()}


def _with_their_extras(environment: Environment) -> Iterator[str]:
    """Yield the packages that are pinned with an extra that requires the stack."""
    for package in PARTLY:
        version, needs = (environment.fact(f"{package}.{n}") for n in ("version", "requires"))
        if isinstance(version, Known) and isinstance(needs, Known):
            yield package


def _without_their_extras(environment: Environment) -> Iterator[str]:
    """Yield what is pinned, and requires the stack only in extras that nobody asked for."""
    for package in PARTLY:
        version, needs = (environment.fact(f"{package}.{n}") for n in ("version", "requires"))
        if isinstance(version, Known) and isinstance(needs, Unknown):
            yield PACKAGES[package][0]


def _places_of_askers(
    facts: Mapping[str, Fact], places: Mapping[str, tuple[Place, ...]]
) -> dict[str, tuple[Place, ...]]:
    """Return where the files name what requires something in vain and has no facts of its own."""
    found: dict[str, tuple[Place, ...]] = {}
    for key in requirers_in(facts):
        asker = facts.get(f"{key}.distribution")
        name = asker.value if isinstance(asker, Known) else ""
        if at := places.get(f"packages.installed.{name}"):
            found |= {f"{key}.{fact}": at for fact in ("distribution", "version", "requires")}
    return found


_OPEN = Unknown("not read", "resolver")
