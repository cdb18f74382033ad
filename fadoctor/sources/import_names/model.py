"""What is asked about an environment's sources, and what is answered."""

from __future__ import annotations

import msgspec


class ModuleEntry(msgspec.Struct, frozen=True):
    """A row of the table of modules."""

    distribution: tuple[str, ...]
    role: str
    """``entry`` or ``foundation``."""
    next: tuple[str, ...] = ()
    """What is imported next: ``module:name`` or ``module``."""


class Site(msgspec.Struct, frozen=True):
    """Where an environment's sources lie."""

    folders: tuple[str, ...]
    """Of the import path, in order."""
    installed: dict[str, str]
    """Normalised name of every distribution -> version."""
    records: dict[str, str]
    """Distribution of the stack -> path of its RECORD, where it has one."""
    python: tuple[int, ...] = ()
    system: str = ""
    """linux, windows or macos; empty where it is not known."""
    hooked: bool = False
    """Whether modules may come from elsewhere than these folders."""
    variables: tuple[str, ...] = ()
    """Names of the environment variables that are set."""


class Broken(msgspec.Struct, frozen=True):
    """A name that one distribution asks of another, which has it not."""

    asker: str
    file: str
    line: int
    provider: str
    module: str
    name: str
    """Empty where the module itself is not there."""
    breaks: tuple[str, ...]
    """The statements that stop: ``import peft``."""
    at_import: bool
    """Whether one of them imports the asking package, or another entry, itself."""


class NameAnswer(msgspec.Struct, frozen=True):
    """What was found."""

    broken: tuple[Broken, ...] = ()
    problem: str = ""
    """Why this may not be all of it; empty where it is."""
    source: str = ""
    """Where it comes from: ``verdict``, or how many files were parsed."""
