"""An environment: the target that was examined and every fact about it, ready for JSON."""

from __future__ import annotations

from functools import cached_property

import msgspec

from fadoctor.model.catalogue import PACKAGES
from fadoctor.model.fact import Absent, Fact, Known, Unknown

FACTS_SCHEMA_VERSION = 1

SUBJECT_LIMIT = 64
"""Most GPUs or toolkits of one machine that are judged; saved facts can claim any number."""


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is examined, and why that one.

    Facts name files below ``roots`` as ``$prefix/...``, ``$site/...`` and ``~/...``, so that they
    read the same on every machine; the real folders stand only here.
    """

    kind: str
    """``environment``, ``site-packages`` or ``facts``."""
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

    def fact(self, name: str) -> Fact:
        """Return the fact of that name; Unknown where no probe has provided it."""
        found = self.facts.get(name)
        if found is None:
            return Unknown("no probe has looked", name)
        return found

    def subjects(self, kind: str) -> list[str]:
        """Return ``gpu[0]``, ``gpu[1]``, ... of a kind that is counted; none where it is not."""
        count = self.fact(f"{kind}.count")
        if not isinstance(count, Known) or not isinstance(count.value, int):
            return []
        return [f"{kind}[{index}]" for index in range(min(count.value, SUBJECT_LIMIT))]

    @cached_property
    def packages(self) -> dict[str, str]:
        """Fact prefix -> distribution of each package that is there, or may be."""
        found = {}
        for key, usual in PACKAGES.items():
            if not isinstance(self.fact(f"{key}.version"), Absent):
                name = self.fact(f"{key}.distribution")
                found[key] = str(name.value) if isinstance(name, Known) else usual[0]
        return found
