"""What a stage of an image holds while it is built: later installations go before earlier ones."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.index_releases import ends_before
from fadoctor.sources.manifests.planned import CommandStep, is_unfollowed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.planned import Later, Manifest, Requirement, Setting
    from fadoctor.syntax.dockerfile import Instruction


STAGE_LIMIT = 100
WISH_LIMIT = 5_000
"""Packages that the commands of one Dockerfile name."""

_NOTE_LIMIT = 100


class Tally:
    """What the commands of one Dockerfile have asked for, in all stages together."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.wishes = self.commands = 0

    def command(self) -> int:
        """Count one more command that installs; return its number."""
        self.commands += 1
        return self.commands

    def is_full(self) -> bool:
        """Count one more; say whether that is one too many."""
        self.wishes += 1
        return self.wishes > WISH_LIMIT


class Stage:
    """Packages, variables and facts after each instruction."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.packages: dict[str, list[Requirement]] = {}
        self.constraints: list[Requirement] = []
        self.indexes: list[Setting] = []
        self.variables: dict[str, str | None] = {}
        """What shell and instructions see, arguments of the build too; None is not known."""
        self.settings: dict[str, Setting] = {}
        """What the image keeps."""
        self.facts: dict[str, Setting] = {}
        self.python: Setting | None = None
        self.image: Setting | None = None
        self.system = ""
        """The distribution of the image: ``ubuntu22.04``."""
        self.refused: dict[str, str] = {}
        """Package -> why the command that names it installs nothing."""
        self.later: list[Later] = []
        """Names that a command leaves open where torch is there already."""
        self.early: list[Setting] = []
        """Commands that import torch where nothing has installed it."""
        self.steps: list[CommandStep] = []
        """Its commands, in their order."""
        self.notes: list[tuple[int, str]] = []
        self.is_open = False
        """Whether a command installs what only a run would tell: any package may be there."""
        self.copied: dict[str, str] = {}
        """Name in the image -> path in the build context."""
        self.folders: dict[str, str] = {}
        """Path in the image -> path in the build context that was copied there."""
        self.written: dict[str, tuple[tuple[str, Place], ...]] = {}
        """Path of a file that commands wrote -> its lines, with the place of each."""
        self.workdir: str | None = None
        """Where commands begin, in an image; None where they begin is that of the files."""
        self.starts: dict[str, Instruction] = {}
        """What a container begins with, by its keyword: ENTRYPOINT, CMD."""

    def on_top(self) -> Stage:
        """Return a stage that is built from this one."""
        found = Stage()
        found.packages = {name: list(asked) for name, asked in self.packages.items()}
        found.constraints = list(self.constraints)
        found.indexes = list(self.indexes)
        found.settings = dict(self.settings)
        found.variables = {name: setting.value for name, setting in self.settings.items()}
        found.facts = dict(self.facts)
        found.python, found.image, found.system = self.python, self.image, self.system
        found.notes, found.copied = list(self.notes), dict(self.copied)
        found.folders, found.workdir = dict(self.folders), self.workdir
        found.written = dict(self.written)
        found.is_open, found.starts = self.is_open, dict(self.starts)
        found.refused, found.later = dict(self.refused), list(self.later)
        found.early, found.steps = list(self.early), list(self.steps)
        return found

    def beside(self, path: str) -> str | None:
        """Return the path in the build context of one in the image; None where none was copied.

        Where commands begin beside the files, a path is what it is; one from the root is none.
        """
        path = posixpath.normpath(path)
        if self.workdir is None:
            return None if path.startswith(("/", "~")) else path
        rest = ""
        while path not in self.folders:
            head, _, name = path.rpartition("/")
            if not name:
                return None
            path, rest = head or "/", posixpath.join(name, rest) if rest else name
        return posixpath.normpath(posixpath.join(self.folders[path], rest))

    def take(self, manifest: Manifest, line: int, *, upgrade: bool = False) -> None:
        """Install what another file asks for that a command in a line names."""
        self.install(manifest.requirements, upgrade=upgrade)
        self.constraints += manifest.constraints
        self.facts |= manifest.facts
        self.refused |= manifest.refused
        self.later += manifest.later
        self.early += manifest.early
        self.python = manifest.python if manifest.kind.startswith("env") else self.python
        self.quote(manifest, line)

    def leave_open(self) -> None:
        """Remember that a command installs what only a run would tell."""
        self.is_open = True
        self.steps.append(CommandStep(is_read=False))

    def install(
        self,
        asked: Iterable[Requirement],
        *,
        upgrade: bool = False,
        is_alone: bool = False,
        is_joint: bool = False,
    ) -> None:
        """Install packages; what is there and good enough stays, as installers leave it.

        `is_alone`, `is_joint`: as a `CommandStep` has them.
        """
        new: dict[str, list[Requirement]] = {}
        asked = tuple(asked)
        is_joint = is_joint or any(each.manager for each in asked)
        self.steps.append(CommandStep(asked, upgrade, is_alone, is_joint))
        for each in asked:
            if upgrade:
                each = msgspec.structs.replace(each, is_renewed=True, is_upgraded=True)  # noqa: PLW2901
            new.setdefault(each.name, []).append(each)
        for name, wishes in new.items():
            there = self.packages.get(name, [])
            if len(there) == 1 and not upgrade and all(_is_met(there[0], w) for w in wishes):
                self.packages[name] = [_named_again(there[0], wishes)]
                continue
            stays = len(there) == 1 and not upgrade and _is_kept(there[0], wishes)
            doubted = wishes if upgrade else _doubted(there, wishes)
            self.packages[name] = [_bounded(there[0], wishes)] if stays else doubted

    def remove(self, names: Iterable[str]) -> None:
        """Uninstall packages."""
        removed = tuple(names)
        self.steps.append(CommandStep(removed=removed))
        for name in removed:
            self.packages.pop(name, None)

    def copy_from(self, other: Stage) -> None:
        """Take over the environment of another stage."""
        self.packages |= {name: list(asked) for name, asked in other.packages.items()}
        self.steps.append(CommandStep(is_read=False))
        self.constraints += other.constraints
        self.facts |= {
            name: setting for name, setting in other.facts.items() if name.startswith("torch.")
        }
        self.python = other.python or self.python
        self.notes += [note for note in other.notes if note not in self.notes]

    def quote(self, manifest: Manifest, line: int) -> None:
        """Repeat what was not followed in another file, with the line that names that file."""
        self.notes += [(line, note) for note in manifest.notes]

    def note(self, line: int, text: str) -> None:
        """Say what was not followed, or cannot be known."""
        if is_unfollowed(f": {text}") or text.endswith("is not known"):
            self.steps.append(CommandStep(is_read=False))
        if len(self.notes) < _NOTE_LIMIT:
            self.notes.append((line, text))


def _is_met(there: Requirement, wish: Requirement) -> bool:
    """Say whether what is installed is what is asked for, so that nothing happens."""
    if wish.url or there.marker or there.url != wish.url:
        return False
    if not wish.specifier:
        return True
    version, allowed = parse_version(exact_version(there.specifier)), None
    if version is not None:
        allowed = parse_specifier(wish.specifier)
    return version is not None and allowed is not None and (
        allowed.contains(version, prereleases=True)
    )  # fmt: skip


# torch>=2.0,!=2.1.0 has no upper bound
_UPPER = re.compile(r"<|==|~=")


def _is_kept(there: Requirement, wishes: list[Requirement]) -> bool:
    """Say whether the newest release that came earlier surely meets wishes for no older one."""
    if there.url or there.marker or there.doubt or exact_version(there.specifier):
        return False
    if any(each.url or each.marker or _UPPER.search(each.specifier) for each in wishes):
        return False
    return not any(ends_before(there.index, each.specifier) for each in wishes)


def _doubted(there: list[Requirement], wishes: list[Requirement]) -> list[Requirement]:
    """Return wishes that what is there may meet, where its release is unknown."""
    doubt = next((each.doubt for each in there if each.doubt), "")
    if not doubt or any(each.url or exact_version(each.specifier) for each in wishes):
        return wishes
    return [msgspec.structs.replace(each, doubt=doubt) for each in wishes]


def _bounded(there: Requirement, wishes: list[Requirement]) -> Requirement:
    texts = dict.fromkeys(each.specifier for each in (there, *wishes) if each.specifier)
    return msgspec.structs.replace(_named_again(there, wishes), specifier=",".join(texts))


def _named_again(there: Requirement, wishes: list[Requirement]) -> Requirement:
    return msgspec.structs.replace(there, last_command=max(each.command for each in wishes))


def tied(asked: Iterable[Requirement]) -> list[Requirement]:
    """Return requirements for which no other index is asked than theirs."""
    return [msgspec.structs.replace(each, is_only_index=bool(each.index)) for each in asked]


def renamed(asked: Iterable[Requirement], index: str) -> list[Requirement]:
    """Return requirements with the index that their command names."""
    return [
        msgspec.structs.replace(each, index=index) if index and not each.index else each
        for each in asked
    ]
