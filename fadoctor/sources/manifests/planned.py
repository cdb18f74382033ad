"""What a requirement or lock file asks for, before it is held against others and the tables."""

from __future__ import annotations

import re

import msgspec

from fadoctor.model.place import Place
from fadoctor.sources.manifests.chosen import ManifestRequest

_NOT_SEEN = "not looked at"
_OF_ONE = "that one command names "
_PAGE_LIMIT = 200
"""Longest address in a note, in characters."""


def unseen_files(where: str) -> str:
    """Return the note on a page of files that an installer looks at, too."""
    return f"files at {where} {_NOT_SEEN}"


def unseen_page(where: str) -> str:
    """Return the note on such a page that one command names: others do not look there."""
    return f"files at {where[:_PAGE_LIMIT]} {_OF_ONE}{_NOT_SEEN}"


def speaks_of_files(note: str) -> bool:
    """Return whether a note is one on a page of files that nobody has read."""
    return "files at " in note and note.endswith(_NOT_SEEN)


_IMAGE, _UNSAID = "the contents of the image ", " are unknown"
_WHICH, _OPEN = "the name of the image ", " is unknown"


def unseen_image(name: str) -> str:
    """Return the note on an image of which no table says what it brings."""
    return f"{_IMAGE}{name}{_UNSAID}"


def open_image(name: str) -> str:
    """Return the note on an image whose name a variable decides that nobody knows."""
    return f"{_WHICH}{name}{_OPEN}"


UNSEEN_BASE = "packages that are there before these commands are unknown"
"""The note on commands that install into an environment that is there already."""


UNSEEN_REST = "packages that unread lines install are unknown"
"""The note on commands of which not all could be followed."""


def speaks_of_image(note: str) -> bool:
    """Return whether a note is one on an image, or what else is there, that nobody knows."""
    if note in (UNSEEN_BASE, UNSEEN_REST):
        return True
    is_unsaid = _IMAGE in note and note.endswith(_UNSAID)
    return is_unsaid or (_WHICH in note and note.endswith(_OPEN))


UNASKED = " is not asked for"
"""In the note on an extra, a group or an environment whose packages nobody asks for."""


def speaks_of_unasked(note: str) -> bool:
    """Return whether a note is one on packages that are installed only where somebody asks."""
    return UNASKED in note


REPLACES = ": an installer replaces "
"""In the note on what the packages of a command put in the place of what is there."""


DOES_NOT_FIT = ", which does not fit"
"""After it, where what is there is a range that surely has to give way."""
_MOVED = re.compile(rf"{re.escape(REPLACES)}torch(?:==|[<>~=].{{1,200}}{re.escape(DOES_NOT_FIT)})")


def speaks_of_moved_torch(note: str) -> bool:
    """Return whether a note says that a package takes the torch away that is there before it."""
    return _MOVED.search(note) is not None


_UNFOLLOWED = (" not followed: ", " is not read", "the contents of ", ": there is no ",
               " was not fetched", ", so not followed")  # fmt: skip


def is_unfollowed(note: str) -> bool:
    """Return whether a note says that something is installed that could not be read."""
    return any(words in note for words in _UNFOLLOWED)


class Requirement(msgspec.Struct, frozen=True):
    """One package that a file asks for."""

    name: str
    """Normalised name of the distribution: ``flash-attn``."""
    place: Place
    specifier: str = ""
    """PEP 440: ``==2.7.1`` (a lock's version), ``>=2.4,<3``; "" where any version will do."""
    url: str = ""
    """Where the file itself lies: URL or path of a wheel, ``git+https://...``; no credentials."""
    marker: str = ""
    """PEP 508, as written; "" where it always holds."""
    extras: tuple[str, ...] = ()
    index: str = ""
    """Index or channel that this one comes from, where the file says so for it alone."""
    is_only_index: bool = False
    """Whether an installer asks no other index for it."""
    files: tuple[str, ...] = ()
    """Names of the wheels that a lock lists: evidence of build, platform and Python."""
    requires: tuple[str, ...] = ()
    """What a lock says that it requires, as PEP 508 strings."""
    manager: str = ""
    """``conda`` where conda brings it, in a build of its own; "" for pip and its likes."""
    build: str = ""
    """Conda's build string, or a pattern for it: ``cuda126_py312h*``."""
    doubt: str = ""
    """Why nobody knows what will be there of it, "" where it is what it says."""
    is_isolated: bool = False
    """Whether an installer surely builds it in an environment that has no torch."""
    isolated_by: str = ""
    """The tool that does so, where it has ways of its own to turn it off: ``Poetry``."""
    is_isolated_by_new: bool = False
    """Whether the newer releases of the installer do so, though torch is there before."""
    is_renewed: bool = False
    """Whether nothing of it that was there stays: ``pip install --upgrade``, or nothing was."""
    is_upgraded: bool = False
    """Whether its command takes the newest release, whatever is there: ``--upgrade``."""
    is_as_came: bool = False
    """Whether the file names no release, and the tables say which one came."""
    has_pages: bool = False
    """Whether its command looks at pages of files as well that nobody has read."""
    command: int = 0
    """Which command names it, counted from 1: an installer heeds all of one at once."""
    last_command: int = 0
    """The last command that names it, where it is there already and stays."""
    of: str = ""
    """The list that names it: ``extra cpu``, ``group dev``; "" for what is always installed."""


class CommandStep(msgspec.Struct, frozen=True):
    """One command of several, in their order: what it installs, or what it removes."""

    asked: tuple[Requirement, ...] = ()
    is_upgrade: bool = False
    """Whether it takes the newest release of what it names, whatever is there."""
    is_alone: bool = False
    """Whether what is asked for comes without what it requires: ``--no-deps``."""
    is_joint: bool = False
    """Whether it heeds what earlier ones asked for: conda does, and the tool of a project."""
    removed: tuple[str, ...] = ()
    is_read: bool = True
    """Whether it installs no more than that."""


class Later(msgspec.Struct, frozen=True):
    """A name that a command leaves open, where an earlier one installed torch.

    pip asks for its newest release, whatever is there, and replaces what that release refuses.
    """

    asker: Requirement
    torch: Requirement
    """What is there before, or a server that pins it."""
    together: tuple[Requirement, ...] = ()
    """All that the command names."""


class Setting(msgspec.Struct, frozen=True):
    """Something else that a file decides: an index, a version of Python, a variable."""

    value: str
    place: Place


class Manifest(msgspec.Struct, frozen=True):
    """One file, read."""

    file: str
    kind: str
    """``requirements.txt``, ``uv.lock``, ``Dockerfile``."""
    requirements: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    """Bounds for what something else asks for; they ask for nothing themselves."""
    aside: tuple[Requirement, ...] = ()
    """What its extras and groups ask for that were not chosen: the tool may hold all together."""
    apart: tuple[frozenset[str], ...] = ()
    """Lists that are never installed together, as `Requirement.of` names them."""
    is_resolved_whole: bool = False
    """Whether its tool resolves all lists together, and fails where one of them cannot be."""
    is_complete: bool = False
    """Whether it names every package there will be: a lock does, a list of wishes does not."""
    indexes: tuple[Setting, ...] = ()
    """Package indexes, the first one first; credentials removed."""
    python: Setting | None = None
    """Version or range of Python that it asks for, as a PEP 440 specifier."""
    image: Setting | None = None
    """Container image that it starts from."""
    variables: dict[str, Setting] = {}
    """Environment variables that it sets."""
    facts: dict[str, Setting] = {}
    """What else it decides, by the name of the fact: ``host.glibc``, ``torch.cuda``."""
    roots: tuple[str, ...] = ()
    """What it was made for, as PEP 508 strings: of its packages only what these lead to by
    ``requires`` is installed. None of them: all that the markers let through."""
    notes: tuple[str, ...] = ()
    """What could not be followed, in words: an include that is not there, a line of shell."""
    extras: tuple[str, ...] = ()
    """Extras that can be chosen, as they are written."""
    groups: tuple[str, ...] = ()
    """Groups, categories and environments that can be chosen."""
    choice: ManifestRequest = ManifestRequest()
    """What was chosen when it was read."""
    overridden: tuple[str, ...] = ()
    """Packages of which it overrules what others require of them."""
    only_index: str = ""
    """The index from which all of it has to come, "" where there may be others."""
    is_in_steps: bool = False
    """Whether it installs one thing after the other, each on top of what is there."""
    refused: dict[str, str] = {}
    """Package -> why the command that names it installs nothing."""
    later: tuple[Later, ...] = ()
    """Names that commands leave open where torch is there already."""
    early: tuple[Setting, ...] = ()
    """Commands that import torch before any command installs it."""
    steps: tuple[CommandStep, ...] = ()
    """Its commands, where it installs one thing after the other."""

    @property
    def has_unseen_files(self) -> bool:
        """Whether an installer looks at pages of files that nobody has read."""
        return any(map(speaks_of_files, self.notes))

    @property
    def has_common_pages(self) -> bool:
        """Whether it looks there for all that is asked for, and not for what one command names."""
        return any(speaks_of_files(note) and _OF_ONE not in note for note in self.notes)
