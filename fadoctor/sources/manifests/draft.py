"""A manifest while it is put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.sources.manifests.planned import (
    UNASKED,
    CommandStep,
    Later,
    Manifest,
    Requirement,
    Setting,
)
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.manifests.source import Source

_NOTE_LIMIT = 50


class Draft:
    """Collects what a file says."""

    def __init__(self, source: Source, kind: str) -> None:
        """Begin with nothing."""
        self.source, self.kind = source, kind
        self.requirements: list[Requirement] = []
        self.constraints: list[Requirement] = []
        self.aside: list[Requirement] = []
        self.apart: list[frozenset[str]] = []
        self.indexes: list[Setting] = []
        self.python: Setting | None = None
        self.image: Setting | None = None
        self.variables: dict[str, Setting] = {}
        self.facts: dict[str, Setting] = {}
        self.notes: list[str] = []
        self.is_complete = False
        self.is_resolved_whole = False
        self.is_in_steps = False
        self.refused: dict[str, str] = {}
        self.later: list[Later] = []
        self.steps: list[CommandStep] = []
        self.early: list[Setting] = []
        self.overridden: dict[str, None] = {}
        self.extras: dict[str, None] = {}
        self.groups: dict[str, None] = {}

    def note(self, line: int, text: str) -> None:
        """Say what could not be followed, with the line where it stands."""
        said = printable(f"{self.source.name}:{line}: {text}", 500)
        if said not in self.notes and len(self.notes) < _NOTE_LIMIT:
            self.notes.append(said)

    def takes_extra(self, name: str) -> bool:
        """Take note of an extra that can be chosen; say whether it was."""
        self.extras[name] = None
        return normalise_name(name) in self.source.choice.extras

    def takes_group(self, name: str) -> bool:
        """Take note of a group that can be chosen; say whether it was."""
        self.groups[name] = None
        return normalise_name(name) in self.source.choice.groups

    def default_python(self, python: Setting | None) -> None:
        """Take a version of Python unless one was given before."""
        self.python = self.python or python

    def manifest(self) -> Manifest:
        """Return it as it is."""
        return Manifest(
            file=self.source.name,
            kind=self.kind,
            requirements=tuple(self.requirements),
            constraints=tuple(self.constraints),
            aside=tuple(self.aside),
            apart=tuple(self.apart),
            is_resolved_whole=self.is_resolved_whole,
            is_complete=self.is_complete,
            indexes=tuple(self.indexes),
            python=self.python,
            image=self.image,
            variables=self.variables,
            facts=self.facts,
            notes=tuple(self.notes),
            extras=tuple(self.extras),
            groups=tuple(self.groups),
            choice=self.source.choice,
            overridden=tuple(self.overridden),
            is_in_steps=self.is_in_steps,
            refused=self.refused,
            later=tuple(self.later),
            early=tuple(self.early),
            steps=tuple(self.steps),
        )


def listed_in(asked: Iterable[Requirement], kind: str, name: str) -> list[Requirement]:
    """Return requirements of an extra or a group, which say so."""
    of = f"{kind} {normalise_name(name)}"
    return [msgspec.structs.replace(each, of=of) for each in asked]


def only_named(draft: Draft, line: int, what: str, names: list[str]) -> None:
    """Note packages that are installed only where somebody asks for their group.

    `what`: such as "the extra train"; then the option that takes it is named.
    """
    if names and not draft.source.choice.is_for_package:
        shown = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        _, kind, name = f"{what}  ".split(" ", 2)
        option = f"; --{kind} {name.strip()} takes it" if kind in ("extra", "group") else ""
        draft.note(line, f"{what}{UNASKED} by default: {shown}{option}")
