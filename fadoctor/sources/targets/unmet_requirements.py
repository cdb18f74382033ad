"""Which requirements, declared by an installed package, are not met here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.same_version import of_same_version
from fadoctor.knowledge.matrix.versions import admits
from fadoctor.model.fact import Absent, Fact, Known, Unknown, Value, fact_text
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Rows

_SOURCE = "its requirements, and the list of installed packages"
NAMED = "packages.named"
"""What a text names of the installed packages, which may be some of all."""
MINIMUMS = "minimums-in-use"
"""The table of what a part of a release needs at least, which its metadata do not say."""
DERIVED = ("unmet", "unmet_alone", "missing")
"""What every package has; what else is said of its requirements is there where one is not met."""

_ALIASES = {name: names for names in PACKAGES.values() if len(names) > 1 for name in names}
"""A distribution -> those that can stand in for it: triton is pytorch-triton elsewhere."""

_NAME = r"[a-z0-9][a-z0-9._-]{0,99}"


class _Unmet(msgspec.Struct, frozen=True):
    """A requirement that does not hold."""

    name: str
    specifier: str
    version: str
    """The one that is there, "" where none is."""
    in_use: bool = False
    """Whether it fails where a part is used, and no metadata say so."""

    @property
    def state(self) -> str:
        if not self.version:
            return f"({self.specifier}, not installed)" if self.specifier else "(not installed)"
        there = f"{self.version} is installed"
        return f"({self.specifier}, but {there})" if self.specifier else f"({there})"


def unmet_requirements(
    facts: Mapping[str, Fact], matrix: Matrix, packages: Collection[str], *, advises: bool = True
) -> dict[str, Fact]:
    """Return what of the packages' requirements does not hold.

    `advises`: with what could be installed instead; no condition of a rule asks for that.

    ``unmet`` has all of it, ``unmet_alone`` what no rule of its own speaks of, ready to be
    installed, ``missing`` the names that are not installed at all. Requirements of what conda
    installs are not looked at: it calls some distributions by other names.
    """
    installed = facts.get("packages.installed")
    if installed is None:
        return {}
    found: dict[str, Fact] = {}
    for package in packages:
        if isinstance(facts.get(f"{package}.version"), (Known, Unknown)):
            values = _of_package(_Checks(package, facts, matrix, advises=advises), installed)
            found |= {f"{package}.{name}": fact for name, fact in values.items()}
    return found


def _of_package(checks: _Checks, installed: Fact) -> dict[str, Fact]:
    package, facts = checks.key, checks.facts
    requires = facts.get(f"{package}.requires", Unknown("it was not read", package))
    installer = facts.get(f"{package}.installer")
    if isinstance(installer, Known) and installer.value == "conda":
        return dict.fromkeys(DERIVED, Absent("conda has names of its own"))
    if not isinstance(requires, Known) or not isinstance(requires.value, dict):
        below = [*_below_minimum(_listed(installed, facts.get(NAMED)), checks, ())]
        told = {**_values(below, checks), "missing": requires} if below else {}
        return told or dict.fromkeys(DERIVED, requires)
    if not isinstance(installed, Known) or not isinstance(installed.value, dict):
        return _of_some(requires.value, installed, facts.get(NAMED), checks)
    unmet = [
        *_violated(requires.value, installed.value, checks),
        *_violated(checks.if_there(installed.value, requires.value), installed.value, checks),
    ]
    unmet += _below_minimum(installed.value, checks, {each.name for each in unmet})
    if not unmet:
        return dict.fromkeys(DERIVED, Absent(f"{_SOURCE}: none"))
    return _values(unmet, checks)


def _of_some(
    requires: Mapping[str, str], installed: Fact, named: Fact | None, checks: _Checks
) -> dict[str, Fact]:
    """Return what the named versions alone violate; what else there is, and is not, is unknown."""
    some = _listed(named)
    asked = {name: specifier for name, specifier in requires.items() if name in some}
    unmet = list(_violated(asked, some, checks))
    unmet += _below_minimum(some, checks, {each.name for each in unmet})
    if not unmet:
        return dict.fromkeys(DERIVED, installed)
    return {**_values(unmet, checks), "missing": installed}


def _listed(*lists: Fact | None) -> dict[str, str]:
    """Return the versions of the first list that is known."""
    known = (each.value for each in lists if isinstance(each, Known))
    return next((value for value in known if isinstance(value, dict)), {})


def _values(unmet: list[_Unmet], checks: _Checks) -> dict[str, Fact]:
    """Return the facts of requirements that are not met."""
    told = [each for each in unmet if not checks.has_rule(each)]
    values: dict[str, Value] = {
        "unmet": {each.name: each.state for each in unmet},
        "missing": tuple(each.name for each in unmet if not each.version),
        **_told(told, checks),
    }
    outside = {each.name: each.specifier for each in told if each.version}
    if checks.advises:
        # Late: most environments have nothing to say here.
        from fadoctor.sources.targets.accepted_releases import accepted  # noqa: PLC0415

        values |= accepted(checks.distribution, outside, checks.facts, checks.matrix)
    names = (*DERIVED, *values)
    return {
        name: Known(values[name], _SOURCE) if values.get(name) else Absent(f"{_SOURCE}: none")
        for name in names
    }


def _violated(
    requires: Mapping[str, str], installed: Mapping[str, str], checks: _Checks
) -> Iterator[_Unmet]:
    for name, specifier in requires.items():
        version = _version(name, installed)
        if not _is_met(version, checks.asked(name, specifier)):
            yield _Unmet(name, specifier, version or "")


def _below_minimum(
    installed: Mapping[str, str], checks: _Checks, told: Collection[str]
) -> Iterator[_Unmet]:
    """Yield what is not the version that a part of the package needs, and not told already."""
    for name, specifier in checks.minimums(installed):
        version = _version(name, installed)
        if name not in told and version and not _is_met(version, specifier):
            yield _Unmet(name, specifier, version, in_use=True)


def _told(unmet: list[_Unmet], checks: _Checks) -> dict[str, Value]:
    """Return what one rule for all packages says of them."""
    checked = checks.words("checks") | names_in(checks.words("if_there"))
    wanted = checks.words("there") if checks.is_by_table else frozenset()
    refused = [each.name for each in unmet
               if (each.name in checked and not each.in_use)
               or (each.name in wanted and not each.version)]  # fmt: skip
    notes = [(checks.note(each.name, "why"), checks.note(each.name, "stake")) for each in unmet]
    return {
        "unmet_alone": tuple(f"{each.name}{checks.bounded(each)}" for each in unmet),
        "unmet_told": {each.name: each.state for each in unmet},
        "unmet_outside": {each.name: each.version for each in unmet if each.version},
        "unmet_checked": tuple(refused),
        "unmet_why": " ".join(why for why, _ in notes if why),
        "unmet_stake": " ".join(stake for _, stake in notes if stake),
    }


class _Checks:
    """What the matrix knows about the requirements of one package."""

    def __init__(
        self, package: str, facts: Mapping[str, Fact], matrix: Matrix, *, advises: bool
    ) -> None:
        self.key, self.advises = package, advises
        name = facts.get(f"{package}.distribution")
        self.package = name if isinstance(name, Known) else Known(PACKAGES[package][0], package)
        self.facts, self.matrix = facts, matrix
        version = facts.get(f"{package}.version", Unknown("it was not read", package))
        self._version = version
        self._own = matrix.find("requirement-checks", {"package": self.package, "version": version})
        self._read = facts.get(f"{package}.checks")
        build, loads = facts.get("torch.build"), facts.get(f"{package}.loads")
        self._own_torch = not isinstance(build, Known) or build.value == "other"
        self._loads = isinstance(loads, Known) and loads.value is True

    @property
    def distribution(self) -> str:
        """Return its name, as it is installed."""
        return str(self.package.value)

    @property
    def is_by_table(self) -> bool:
        """Return whether its row says what it compares, and not its installed sources."""
        return not isinstance(self._read, Known)

    def asked(self, name: str, specifier: str) -> str:
        """Return the specifier that a version is held against: "" where evidence outranks it."""
        if name == "torch" and self._own_torch:
            return ""
        if self._loads and specifier:
            proof = self._row("requirement-evidence", name).cell("proved_by_loading")
            return "" if isinstance(proof, Known) else specifier
        return specifier

    def if_there(self, installed: Mapping[str, str], requires: Mapping[str, str]) -> dict[str, str]:
        """Return what it compares of what is installed, though its metadata do not ask for it."""
        if self.is_by_table and not all(
            _is_met(installed.get(name), specifier)
            for name, specifier in _specifiers(self.words("beside")).items()
        ):
            return {}
        found = _specifiers(self.words("if_there"))
        there = {name for name in found if installed.get(name)} - requires.keys()
        return {name: specifier for name, specifier in found.items() if name in there}

    def minimums(self, installed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield what a part of it needs of what is installed, with a specifier."""
        keys = {"package": self.package, "version": self._version}
        for row in self.matrix.find(MINIMUMS, keys).rows:
            beside = cell_words(row.get("beside"))
            if not beside or any(map(installed.get, beside)):
                yield str(row["needs"]), f">={row['least']}"
        version = fact_text(self._version, "")
        yield from of_same_version(str(self.package.value), version, self.matrix).items()

    def words(self, column: str) -> frozenset[str]:
        """Return what it compares, by its installed sources, else by its row; or nothing.

        `if_there` is each with its specifier: what the metadata do not ask for is compared where it
        is installed.
        """
        if isinstance(self._read, Known) and isinstance(self._read.value, dict):
            is_whole = column == "if_there"
            return frozenset(f"{k}{v if is_whole else ''}" for k, v in self._read.value.items())
        cell = self._own.cell(column)
        is_list = isinstance(cell, Known) and isinstance(cell.value, tuple)
        return frozenset(cell.value) if is_list else frozenset()  # type: ignore[union-attr, arg-type] # is_list saw to it

    def has_rule(self, unmet: _Unmet) -> bool:
        """Return whether a rule of its own speaks of a requirement that is not met."""
        column = "outside" if unmet.version else "missing"
        return isinstance(self._row("requirement-rules", unmet.name).cell(column), Known)

    def bounded(self, unmet: _Unmet) -> str:
        """Return what an installer is asked for: below the release that it does not work with.

        Its metadata do not say that, and an installer takes the newest.
        """
        if "<" in unmet.specifier or "=" in unmet.specifier.replace(">=", ""):
            return unmet.specifier
        keys = {"package": self.package, "version": self._version, "needs": Known(unmet.name, "it")}
        below = self.matrix.find("requirement-bounds", keys).cell("below")
        end = f"<{below.value}" if isinstance(below, Known) else ""
        return ",".join(filter(None, (unmet.specifier, end)))

    def note(self, name: str, column: str) -> str:
        """Return what is to be said of a requirement."""
        cell = self.matrix.find("requirement-notes", {"requirement": Known(name, "asked")})
        text = cell.cell(column)
        return str(text.value) if isinstance(text, Known) else ""

    def _row(self, table: str, name: str) -> Rows:
        keys = {"package": self.package, "requirement": Known(name, "asked")}
        return self.matrix.find(table, keys)


def names_in(words: Collection[str]) -> frozenset[str]:
    """Return the names of requirements, which words hold with or without a specifier."""
    return frozenset(_specifiers(words))


def _specifiers(words: Collection[str]) -> dict[str, str]:
    return {
        match[0]: word[match.end() :] for word in sorted(words) if (match := re.match(_NAME, word))
    }


def _version(name: str, installed: Mapping[str, str]) -> str | None:
    """Return the version that is installed, "" where another distribution stands in for it."""
    found = installed.get(name)
    if found is None and any(other in installed for other in _ALIASES.get(name, ())):
        return ""
    return found


def _is_met(version: str | None, specifier: str) -> bool:
    """Return whether a version is there, and a specifier admits it."""
    return version is not None and admits(specifier, version)
