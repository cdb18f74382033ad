"""What one choice asks for of packages that nobody decides about, and in what these end."""

from __future__ import annotations

import enum

import msgspec


class Bound(msgspec.Struct, frozen=True):
    """What one choice asks for of one package that nobody decides about."""

    needs: str
    """The distribution."""
    told: str
    """The range by the facts of a state: outside of it the requirement is broken."""
    full: str
    """The range by all that is known, which a release that comes must be in."""
    is_new: bool
    """Whether it is asked by what comes, and held before or was not asked."""


class Stance(msgspec.Struct, frozen=True):
    """What one choice asks for, and what it is for those that ask for it."""

    asked: tuple[Bound, ...] = ()
    refused_by: tuple[str, ...] = ()
    """What is installed, and refuses it, and did not refuse what was there before."""
    distribution: str = ""
    version: str = ""
    number: int = 0
    """The same for all that ask for the same, and are refused by the same."""


class EndOfPackage(enum.Enum):
    """In what a package ends that nobody decides about."""

    OPEN = enum.auto()
    REPLACED = enum.auto()
    BROKEN = enum.auto()

    @property
    def costs(self) -> tuple[int, int]:
        """The errors and the changes that it costs."""
        return int(self is EndOfPackage.BROKEN), int(self is EndOfPackage.REPLACED)
