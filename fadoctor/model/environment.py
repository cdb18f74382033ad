"""An environment: the target that was examined and every fact about it, ready for JSON."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.catalogue import OPTIONAL_EXTENSION, REQUIRER
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.finding import Finding
from fadoctor.model.packages import EXTENSIONS, PACKAGES, TORCH
from fadoctor.model.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FACTS_SCHEMA_VERSION = 1

SUBJECT_LIMIT = 64
"""Most GPUs or toolkits of one machine that are judged; saved facts can claim any number."""


REQUIRER_LIMIT = 500
"""Most distributions beside the packages whose requirements are judged."""

OF_A_LOG = "log"
"""The kind of a target of which only a log tells."""

PASTED = "pasted report"
"""The reason of a target that was read out of what other tools print."""


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is examined, and why that one.

    Facts name files below ``roots`` as ``$prefix/...``, ``$site/...`` and ``~/...``, so that they
    read the same on every machine; the real folders stand only here.
    """

    kind: str
    """``environment``, ``site-packages``, ``facts``, ``manifest`` or ``log``."""
    label: str
    """How a person names it: a folder or a file."""
    reason: str
    """Why this one: ``--python``, ``$VIRTUAL_ENV``, ``.venv found in ...``."""
    python: str | None = None
    """The interpreter, absolute; None where there is none."""
    site: tuple[str, ...] = ()
    """Folders with packages, in import order, absolute."""
    roots: dict[str, str] = {}
    """Named roots: ``prefix``, ``site``, ``home`` -> absolute folder."""
    may_run: bool = False
    """Whether its interpreter may be run: it was named or is active, not merely found."""
    notes: tuple[str, ...] = ()
    """What the user should know about the choice."""


UNSAID = "the text does not say"
"""Why a fact is open of which a text says nothing: it may be, or not."""

ASSUMED_PLATFORM = "assumed: the log names no other platform"
"""The source of a platform that a text does not name: it is the likeliest one."""

NAME_A_GPU = "name one with --gpu"
"""What the reason of a GPU ends with that neither a text nor this machine tells."""

UNCHECKED = "other releases that the files allow are not checked yet"
"""Why a first answer about ranges decides nothing: it judged today's releases alone."""

DRIVER_NOT_GIVEN = "--gpu was given without --driver"
"""Why the driver of an assumed GPU is open, and with it each cell whose kernel is there."""

OTHER_PLATFORM = "another platform is assumed"
"""Why driver, Python and libraries are open where a platform alone is assumed."""

RESOLVED = "packages.resolved"
"""The fact which resolver decided what files leave open."""

BY_RESOLVER = "--resolve"
"""The source of what a resolver was asked."""

UNNAMED = "not listed; may be installed as a dependency"
"""Why the version of a package is open of which files say nothing."""


class Subject(msgspec.Struct, frozen=True):
    """What a rule is judged for: a GPU, a package, an extension, or one of each."""

    text: str
    """How findings name it: ``gpu[0]``, ``vllm``, ``vllm (fa2) on gpu[0]``."""
    bindings: dict[str, str] = {}
    """What paths of the rule mean here: ``gpu`` -> ``gpu[0]``."""
    within: tuple[str, ...] = ()
    """The subjects that it is made of: what is wrong with one of them is wrong with it."""


class Environment(msgspec.Struct, frozen=True, dict=True):
    """Everything that was read about one target. Survives a JSON round trip unchanged."""

    fadoctor: str
    """Version of fadoctor that read the facts."""
    target: Target
    facts: dict[str, Fact]
    """Dotted name -> fact; the names and their types are in the fact catalogue."""
    overlays: tuple[str, ...] = ()
    """What-if overlays that replaced facts, as typed: ``--gpu V100``."""
    schema_version: int = FACTS_SCHEMA_VERSION
    places: dict[str, tuple[Place, ...]] = {}
    """Fact -> where it stands in the manifests and configurations that were examined."""
    ranges: dict[str, str] = {}
    """Distributions that are planned in no exact version -> the specifier, "" for any.

    Without those that something else may bound in a way that nobody knows.
    """
    bounded: dict[str, str] = {}
    """Distribution -> range, of those of which nobody knows which release will be taken."""
    pinned: dict[str, str] = {}
    """Distribution without facts of its own -> the exact version in which files name it."""
    is_locked: bool = False
    """Whether locks name all that there will be: their tools let it stay together as it is."""
    elsewhere: tuple[str, ...] = ()
    """Distributions that files name and that may come from elsewhere than PyPI."""
    asked: dict[str, str] = {}
    """Distribution -> all that one installer has to meet at once of it, constraints too."""
    builds: dict[str, str] = {}
    """Distribution -> the one build that the index serves from which it has to come: ``cu124``."""
    complaints: tuple[Finding, ...] = ()
    """What a text, from which the facts were read, shows by its own words."""

    def fact(self, name: str) -> Fact:
        """Return the fact of that name; Unknown where no probe has provided it."""
        found = self.facts.get(name)
        if found is None:
            return Unknown("it was not read", name)
        return found

    @property
    def is_windows(self) -> bool:
        """Whether commands are for a shell of Windows."""
        system = self.facts.get("host.os")
        return isinstance(system, Known) and system.value == "windows"

    def subjects(self, kind: str) -> tuple[Subject, ...]:
        """Return all that rules judge of a kind: GPUs, toolkits, packages or extensions.

        None where nobody could count them. A package is one that is there, or may be.
        """
        found = self._subjects.get(kind)
        if found is None:
            found = self._subjects[kind] = tuple(self._of_kind(kind))
        return found

    @cached_property
    def _subjects(self) -> dict[str, tuple[Subject, ...]]:
        return {}

    def _of_kind(self, kind: str) -> Iterator[Subject]:
        match kind:
            case "package":
                for key in PACKAGES:
                    yield from self._package(key)
            case "requirer":
                yield from self.subjects("package")
                for key in self.requirers():
                    name = self.fact(f"{key}.distribution")
                    yield Subject(str(getattr(name, "value", key)), {"package": key})
            case "extension" | "optional_extension":
                is_meant = self._may_miss if kind == OPTIONAL_EXTENSION else self._must_load
                for key, names in EXTENSIONS.items():
                    those = [
                        name
                        for name in names
                        if is_meant(f"{key}.{name}") and self.was_sought(f"{key}.{name}")
                    ]
                    for subject in self._package(key) if those else ():
                        yield from self._extensions(subject, key, those)
            case _:
                found = self.fact(f"{kind}.count")
                count = found.value if isinstance(found, Known) else 0
                for index in range(min(count, SUBJECT_LIMIT) if isinstance(count, int) else 0):
                    yield self._numbered(f"{kind}[{index}]", kind)

    def _numbered(self, path: str, kind: str) -> Subject:
        """Return a GPU or a toolkit by its number, a name that is asked for by who asks for it."""
        asker, wanted = self.facts.get(f"{path}.asker"), self.facts.get(f"{path}.wanted")
        if isinstance(asker, Known) and isinstance(wanted, Known):
            return Subject(f"{asker.value}: {wanted.value}", {kind: path}, (str(asker.value),))
        return Subject(path, {kind: path})

    def requirers(self) -> tuple[str, ...]:
        """Return the prefixes of what requires a part of the stack and is no package of it."""
        return requirers_in(self.facts)

    def _package(self, key: str) -> Iterator[Subject]:
        """Yield a package that is there, or may be."""
        if not isinstance(self.fact(f"{key}.version"), Absent):
            name = self.fact(f"{key}.distribution")
            text = str(name.value) if isinstance(name, Known) else PACKAGES[key][0]
            yield Subject(text, {"package": key})

    def _may_miss(self, extension: str) -> bool:
        """Return whether a package does without an extension, or may do."""
        found = self.facts.get(f"{extension}.optional")
        return isinstance(found, Unknown) or _is_true(found)

    def was_sought(self, extension: str) -> bool:
        """Return whether those who read the facts looked for an extension, or for none at all.

        They give all that they know of a file, there or not: facts of an older fadoctor lack what
        it knew nothing of, which must not make a report of today less sure.
        """
        return f"{extension}.file" in self.facts or f"{TORCH}.binary.file" not in self.facts

    def _must_load(self, extension: str) -> bool:
        """Return whether a package does not surely do without an extension."""
        return not _is_true(self.facts.get(f"{extension}.optional"))

    def _is_there(self, extension: str) -> bool:
        """Return whether an extension is there, or may be, or the loader speaks of it."""
        refused = isinstance(self.facts.get(f"{extension}.failure"), Known)
        return refused or not isinstance(self.fact(f"{extension}.file"), Absent)

    def _extensions(self, package: Subject, key: str, names: Iterable[str]) -> Iterator[Subject]:
        """Yield a package's extensions: the one that it cannot do without, and those there are."""
        for name in names:
            bindings = {"package": key, "extension": f"{key}.{name}"}
            if name == "binary":
                yield Subject(package.text, bindings)
            elif self._is_there(f"{key}.{name}"):
                yield Subject(f"{package.text} ({name})", bindings, (package.text,))


def requirers_in(facts: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return ``requirer[0]`` and so on, as many as facts count."""
    count = facts.get(f"{REQUIRER}.count")
    found = count.value if isinstance(count, Known) and type(count.value) is int else 0
    return tuple(f"{REQUIRER}[{index}]" for index in range(min(found, REQUIRER_LIMIT)))


def _is_true(fact: Fact | None) -> bool:
    return isinstance(fact, Known) and fact.value is True
