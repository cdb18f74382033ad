"""A choice for one package: keep it, remove it, or install one exact thing in its place."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.model.fact import Fact
from fadoctor.model.packages import PACKAGES


class ChoiceKind(enum.Enum):
    """What is done with a package."""

    KEEP = "keep"
    REMOVE = "remove"
    INSTALL = "install"
    """A release of an index, by its version or a range."""
    WHEEL = "wheel"
    """An official file, by its address."""
    COMMUNITY = "community"
    """A file that somebody else than the package's authors built."""
    BUILD = "build"
    """Compiled on the target."""
    FOLLOW = "follow"
    """Whatever release the installer finds for what else is chosen."""


class Choice(msgspec.Struct, frozen=True):
    """What is done with one package, and the facts that this gives."""

    package: str
    """Fact prefix, or the normalised name of a distribution outside the catalogue."""
    kind: ChoiceKind
    key: str = ""
    """Tells two choices for one package apart."""
    version: str = ""
    requirement: str = ""
    """What the installer is given: ``torch==2.8.0+cu126``, ``triton==3.4.0``."""
    index: str = ""
    url: str = ""
    facts: dict[str, Fact] = {}
    """Facts of the package after it: those that are not named become Unknown."""
    age: int = 0
    """How many known releases are newer."""
    distance: int = 0
    """For torch: 1 another build of the same release, 2 of the same minor release, 3 of the next or
    the last one, 4 of one more."""
    env: dict[str, str] = {}
    """Variables that an installation needs."""
    brings: dict[str, str] = {}
    """Distribution -> version, of what comes along because it is missing."""
    pythons: tuple[str, ...] = ()
    """The Pythons that it has files for, as torch's table writes them; none: not known."""

    @property
    def is_change(self) -> bool:
        """Whether it changes anything."""
        return self.kind is not ChoiceKind.KEEP

    @property
    def distribution(self) -> str:
        """The distribution that it installs or removes: by its requirement, or the usual one."""
        names = PACKAGES.get(self.package)
        if names is None:
            return self.package
        if len(names) == 1:
            return names[0]
        others = (name for name in names[1:] if self.requirement.startswith(f"{name}=="))
        return next(others, distribution_of(self.package))


def keep(package: str) -> Choice:
    """Return the choice to leave a package as it is, there or not."""
    return Choice(package, ChoiceKind.KEEP, "keep")


def remove(package: str) -> Choice:
    """Return the choice to uninstall a package."""
    return Choice(package, ChoiceKind.REMOVE, "remove")


def follow(package: str, here: str = "") -> Choice:
    """Return the choice to let the installer find a release that fits the others.

    `here`: the version that is installed. A bare name would let the installer go back to an old
    release that declares no bounds, so that nothing older is admitted.
    """
    name = distribution_of(package)
    lowest = f">={here.partition('+')[0]}" if here else ""
    return Choice(package, ChoiceKind.FOLLOW, "follow", requirement=f"{name}{lowest}")


def distribution_of(package: str) -> str:
    """Return the usual distribution of a fact prefix; a distribution's name is its own."""
    return PACKAGES[package][0] if package in PACKAGES else package
