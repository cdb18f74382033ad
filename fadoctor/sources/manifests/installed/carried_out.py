"""What commands in sequence leave: each heeds what it names and what that requires, as pip does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.on_index import on_index
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_in, parse_version, version_key
from fadoctor.model.fact import Fact, Known
from fadoctor.model.packages import package_of
from fadoctor.sources.manifests.commands.replaced import needed_by
from fadoctor.sources.manifests.installed.combine import admits, exact_version
from fadoctor.sources.manifests.installed.contradicted import is_from_below, is_impossible
from fadoctor.sources.manifests.installed.planned_torch import is_pypi
from fadoctor.sources.manifests.installed.range_ends import has_end
from fadoctor.sources.manifests.planned import Requirement

# >=5.0.0,<5.3
_BEGINS = re.compile(r">=(\d[\w.]{0,30})")

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.planned import CommandStep

_BRINGS, _BOUNDS, _MONTHS, _PYTHONS = "may-bring", "may-bound", "release-months", "release-pythons"
_DECLARED = "declared-requirements"
_STEP_LIMIT = 300
"""Commands that are carried out; of more, what they leave is not known."""
_ROUNDS = 200
"""Choices of one command, before it is left undecided."""


class Came(msgspec.Struct, frozen=True):
    """A package that is there."""

    version: str = ""
    """"" where nobody knows it."""
    within: str = ""
    """The range that it surely meets, where its version is not known."""
    by: Requirement | None = None
    """What the command names that put it there: itself, or what requires it."""
    why: str = ""
    """What required it there: ``datasets 5.2.0 requires huggingface-hub<3.0,>=1.31.0``."""
    step: int = 0
    """The number of the command that put it there, counted from 1."""

    @property
    def range(self) -> str:
        """Return the releases among which it is, as a specifier."""
        return f"=={self.version}" if self.version else self.within


class LostPin(msgspec.Struct, frozen=True):
    """A pin that a later command does not leave."""

    pin: Requirement
    came: Came


class CarriedOut:
    """Commands, and what is there after the last one, as far as the tables tell it."""

    def __init__(
        self, matrix: Matrix, python: str, steps: Iterable[CommandStep], *, is_open: bool
    ) -> None:
        """Carry out commands. `is_open`: whether packages may be there before."""
        self.matrix, self.python, self.steps = matrix, python, tuple(steps)
        self.is_open = self.began_open = is_open
        self.there: dict[str, Came] = {}
        self.undone: dict[str, LostPin] = {}
        self.step = 0
        self.raised = 0
        """The last command with a package that may require newer libraries than are there."""
        self.doubted = 0
        """The last command of which nobody knows what it changes: all before it may be changed."""

        for each in self.steps[:_STEP_LIMIT]:
            self.step += 1
            self._carry_out(each)
        if len(self.steps) > _STEP_LIMIT:
            self._doubt()

    def _carry_out(self, step: CommandStep) -> None:
        if not step.is_read:
            self.is_open = True
            self._doubt()
        for name in step.removed:
            self.there.pop(name, None)
        if step.asked:
            self._install(step)

    def broken(self) -> Iterator[tuple[str, str, str]]:
        """Yield package, library and the range that the package requires and the library misses."""
        for name, came in self.there.items():
            for library, needs in self.requires(name, came.version).items():
                if needs and self.misses(library, needs):
                    yield name, library, needs

    def misses(self, library: str, needs: str) -> bool:
        """Return whether a library surely is none of the releases that something needs.

        Of packages without a list of releases it is known that they keep none of it old, and not
        that they raise none.
        """
        there = self.there.get(library)
        if there is None or there.step <= self.doubted or not is_impossible((there.range, needs)):
            return False
        return there.step > self.raised or not is_from_below(there.range, needs)

    def requires(self, name: str, version: str) -> dict[str, str]:
        """Return what a release requires: name -> specifier; what any release brings, by tables."""
        known: dict[tuple[str, ...], dict[str, str]] = self.matrix.read.setdefault(needed_by, {})
        key = (name, version, self.python)
        if version and key not in known:
            found = needed_by(name, version, self.matrix, self.python)
            known[key] = found or dict.fromkeys(cell_words(self._cell(_BRINGS, name, "brings")), "")
        return known[key] if version else {}

    def releases(self, name: str) -> tuple[str, ...]:
        """Return the releases of a package that the index has, newest first; () for not listed."""
        known: dict[tuple[str, str], tuple[str, ...]] = self.matrix.read.setdefault(CarriedOut, {})
        if (name, self.python) not in known:
            each = (self._newest_first(name, found) for found in self._listed(name))
            listed = on_index(name, self.matrix, "", self.python)
            known[name, self.python] = listed or next(filter(None, each), ())
        return known[name, self.python]

    def _listed(self, name: str) -> Iterator[Iterable[str]]:
        """Yield the releases of which a table has the month, and those that begin a row.

        The newest of the index requires what the first one declares that declares the same.
        """
        rows = self.matrix.tables[_MONTHS].rows
        yield (v for row in rows if row["package"] == name for v in cell_words(row["version"]))
        rows = self.matrix.tables[_DECLARED].rows
        texts = (str(row["version"]) for row in rows if row["package"] == name)
        yield {version for text in texts for version in _BEGINS.findall(text)}

    def _newest_first(self, name: str, found: Iterable[str]) -> tuple[str, ...]:
        """Return those of some releases that are for this Python."""
        ordered = sorted(found, key=version_key, reverse=True)
        return tuple(version for version in ordered if self._takes(name, version))

    def _takes(self, name: str, version: str) -> bool:
        """Return whether a release is for this Python, as far as a table says it."""
        keys = {"package": Known(name, "asked"), "version": Known(version, "asked")}
        cell = self.matrix.find(_PYTHONS, keys).cell("python")
        python = cell.value if isinstance(cell, Known) else None
        return not (self.python and isinstance(python, str)) or is_in(self.python, python) is True

    def _cell(self, table: str, name: str, column: str) -> object:
        cell: Fact = self.matrix.find(table, {"package": Known(name, "asked")}).cell(column)
        return cell.value if isinstance(cell, Known) else None

    def _is_known(self, asked: Requirement) -> bool:
        """Return whether the tables say what a package brings, and so that it brings no more."""
        if asked.url or asked.marker or asked.doubt:
            return False
        if self._cell(_BOUNDS, asked.name, "how") == "never":
            return True
        listed = self.releases(asked.name)
        version = exact_version(asked.specifier)
        if listed and version and not self.requires(asked.name, version):
            return False  # a release that is older than the tables
        if asked.extras:  # those of a library without the stack bound none of it either
            return bool(listed) and not any(map(package_of, self.requires(asked.name, listed[0])))
        return bool(listed) or self._is_told_of(asked.name)

    def _is_told_of(self, name: str) -> bool:
        return bool(self.matrix.find(_BRINGS, {"package": Known(name, "asked")}).rows)

    def _install(self, step: CommandStep) -> None:
        named = {each.name for each in step.asked}
        if not all(map(self._is_known, step.asked)):
            self._doubt()
        if not all(self.releases(each.name) for each in step.asked):
            self.raised = self.step
        chosen = _alone(step) if step.is_alone else None if step.is_joint else self._chosen(step)
        if chosen is None:
            chosen = _alone(step)
            self._doubt()
            self.is_open = True
        for name, came in chosen.items():
            before = self.there.get(name)
            if before is not None and before is came:
                continue
            self._watch_pin(name, before, came, named)
            self.there[name] = msgspec.structs.replace(came, step=self.step)

    def _watch_pin(
        self, name: str, before: Came | None, came: Came, named: Collection[str]
    ) -> None:
        """Remember a pin that a command moves which does not name the package."""
        if name in named:
            self.undone.pop(name, None)
            return
        pin = before.by if before is not None else None
        if pin is None or pin.name != name or not has_end(pin.specifier):
            return
        if is_impossible((pin.specifier, came.range)):
            self.undone[name] = LostPin(pin, came)

    def _doubt(self) -> None:
        """Forget what is wrong by now: a command that nobody can read may put it right."""
        self.doubted = self.step
        self.undone.clear()

    def _chosen(self, step: CommandStep) -> dict[str, Came] | None:
        """Return what a command puts there; None where that depends on the installer."""
        chosen: dict[str, Came] = {}
        askers = {each.name: each for each in step.asked}
        for _ in range(_ROUNDS):
            needs = self._needs(step.asked, chosen)
            name = next(
                (n for n in needs if n not in chosen or not _fits(chosen[n], needs[n])), None
            )
            if name is None:
                return chosen
            if is_impossible([text for text, _ in needs[name]]):
                return None
            by = askers.get(name) or self._asker(name, needs, askers)
            came = self._candidate(name, needs, by, step, chosen)
            if came is None:
                return None
            chosen[name] = came
        return None

    def _needs(
        self, asked: Iterable[Requirement], chosen: dict[str, Came]
    ) -> dict[str, list[tuple[str, str]]]:
        """Return what is asked of each package: specifier, and the package that requires it."""
        found: dict[str, list[tuple[str, str]]] = {}
        for each in asked:
            found.setdefault(each.name, []).append((each.specifier, ""))
        for name, came in chosen.items():
            for other, text in self.requires(name, came.version).items():
                found.setdefault(other, []).append((text, name))
        return found

    def _asker(
        self,
        name: str,
        needs: dict[str, list[tuple[str, str]]],
        askers: dict[str, Requirement],
    ) -> Requirement | None:
        """Return what the command names that leads to a package."""
        seen: set[str] = set()
        while name and name not in askers and name not in seen:
            seen.add(name)
            name = next((by for _, by in needs.get(name, ()) if by), "")
        return askers.get(name)

    def _candidate(
        self,
        name: str,
        needs: dict[str, list[tuple[str, str]]],
        by: Requirement | None,
        step: CommandStep,
        chosen: dict[str, Came],
    ) -> Came | None:
        """Return which release comes, by all that is asked so far; None where none surely does."""
        texts = [text for text, _ in needs[name] if text]
        within = ",".join(dict.fromkeys(texts))
        asked = next((each for each in step.asked if each.name == name), None)
        kept = None if asked is not None and step.is_upgrade else self._kept(name, needs[name])
        if kept is not None:
            return kept
        why = self._why(name, needs[name], chosen)
        exact = next(filter(None, map(exact_version, texts)), "")
        is_elsewhere = asked is not None and not self._is_of_pypi(asked)
        listed = () if exact or is_elsewhere else self.releases(name)
        if not listed:
            return Came("" if is_elsewhere and asked and asked.url else exact, within, by, why)
        fitting = [v for v in listed if all(admits(text, v) for text in texts)]
        return self._newest(name, fitting, needs, by, why) if fitting else None

    def _kept(self, name: str, asked: Sequence[tuple[str, str]]) -> Came | None:
        """Return what is there and stays, because it is what is asked for, or may be."""
        there = self.there.get(name) or (Came() if self.is_open else None)
        if there is None or not _fits(there, asked):
            return None
        if not there.version and any(exact_version(text) for text, _ in asked):
            return None
        if there.version:
            return there
        both = dict.fromkeys((there.within, *(text for text, _ in asked)))
        return msgspec.structs.replace(there, within=",".join(filter(None, both)))

    def _is_of_pypi(self, asked: Requirement) -> bool:
        """Return whether the newest release comes of those that the tables list."""
        is_plain = not (asked.url or asked.doubt or asked.marker)
        return is_plain and (not asked.is_only_index or is_pypi(asked.index))

    def _newest(
        self,
        name: str,
        fitting: Sequence[str],
        needs: dict[str, list[tuple[str, str]]],
        by: Requirement | None,
        why: str,
    ) -> Came | None:
        """Return the newest release; None where it rules out what else is asked for.

        Then an installer takes an older one, or another of the others: which, depends on it.
        """
        own = self.requires(name, fitting[0])
        for other, text in own.items():
            others = [each for each, asker in needs.get(other, ()) if asker != name]
            if text and is_impossible((text, *others)):
                return None
        return Came(fitting[0], "", by, why)

    def _why(self, name: str, asked: Sequence[tuple[str, str]], chosen: dict[str, Came]) -> str:
        """Return who requires a package, in words: the one whose bound counts."""
        found = [(text, by) for text, by in asked if by]
        there = self.there.get(name)
        if there is not None and there.range:
            found = [e for e in found if is_impossible((there.range, e[0]))] or found
        text, by = next(iter(found), ("", ""))
        came = chosen.get(by)
        version = f" {came.version}" if came and came.version else ""
        return f"{by}{version} requires {name}{text}" if by else ""


def _alone(step: CommandStep) -> dict[str, Came]:
    """Return what a command names, without what that requires."""
    return {
        each.name: Came(exact_version(each.specifier), each.specifier, each) for each in step.asked
    }


def _fits(came: Came, asked: Sequence[tuple[str, str]]) -> bool:
    """Return whether a release is what is asked for; of an unknown one, whether it can be."""
    texts = [text for text, _ in asked if text]
    if came.version and parse_version(came.version) is not None:
        return all(admits(text, came.version) for text in texts)
    return not is_impossible((came.within, *texts))
