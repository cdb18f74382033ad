"""What of the stack another folder hides: PYTHONPATH and the user site come before the environment.

Only names that were read before are compared. That a virtual environment hides what the system has
is what it is for; that a folder of the user comes before the environment's own is worth a word.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.packages import BYSTANDERS, PACKAGES
from fadoctor.sources.probes.import_path import PYTHONPATH, below, is_own, pythonpath
from fadoctor.sources.probes.world import absent, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.distributions import Distribution, Survey
    from fadoctor.sources.probes.import_path import Folder, ImportPath
    from fadoctor.sources.probes.world import Facts, World

USER_SITE = "user site"

_NAMES = ("packages.hidden", "packages.hidden_by", "packages.hidden_how")

# ~/.local/lib/python3.11/site-packages, and where macOS and Windows have it
_USER_SITE = (
    r"/(?:\.local/lib/python[\d.]{3,6}t?|Library/Python/[\d.]{3,6}/lib/python"
    r"|AppData/Roaming/Python/Python\d{2,4})/site-packages"
)


class Hidden(msgspec.Struct, frozen=True):
    """A package of the environment that Python does not import: another one comes first."""

    key: str
    """The prefix of its facts."""
    name: str
    """The distribution of the environment."""
    version: str
    """Of the environment's."""
    instead: str
    """Version of what is imported; empty where no record tells."""
    folder: str
    """The folder that comes first."""
    how: str


def find_hidden(world: World, path: ImportPath, survey: Survey, facts: Facts) -> tuple[Hidden, ...]:
    """Return the packages of the environment itself that a folder of the user hides.

    What a virtual environment sees of the system is not its own: the user's comes before that.
    """
    ways = {folder.path: _way(world, folder.path) for folder in path.folders}
    first = [folder for folder in path.folders if ways[folder.path]]
    if not first:
        return ()
    mine = {folder.path for folder in path.folders if is_own(world, folder.path)}
    found: list[Hidden] = []
    for key, names in PACKAGES.items():
        name = next((each for each in names if each in survey.chosen), "")
        if name and key not in BYSTANDERS:
            record = survey.chosen[name][0]
            way = ways.get(record.folder, "")
            if way:
                found += _by_record(key, record, way, survey, mine)
            elif record.folder in mine and not _is_true(facts.get(f"{key}.editable")):
                found += _by_folder(key, record, path, first, ways)
    return tuple(found)


def hidden_facts(world: World, found: tuple[Hidden, ...], there: Iterable[str]) -> Facts:
    """Return the facts about packages that are hidden, and of those that are there."""
    source = "folders in the order in which Python looks for modules"
    versions: Facts = {f"{key}.hidden_version": absent(source) for key in there}
    if not found:
        return dict.fromkeys(_NAMES, absent(source)) | versions
    versions |= {f"{each.key}.hidden_version": known(each.version, source) for each in found}
    told = {
        each.name: f"{each.instead or 'of unknown version'} instead of {each.version}"
        for each in sorted(found, key=lambda each: each.name)
    }
    folders = dict.fromkeys(world.name(each.folder) for each in found)
    ways = dict.fromkeys(each.how for each in found)
    return versions | {
        "packages.hidden": known(told, source),
        "packages.hidden_by": known(tuple(folders), source),
        "packages.hidden_how": known(tuple(ways), source),
    }


def _by_record(
    key: str, record: Distribution, way: str, survey: Survey, mine: set[str]
) -> Iterator[Hidden]:
    """Yield the environment's own record of what a folder of the user has in another version."""
    later = (each for name in PACKAGES[key] for each in survey.hidden.get(name, ()))
    own = next((each for each in later if each.folder in mine), None)
    if own is not None and own.version != record.version:
        yield Hidden(key, own.name, own.version, record.version, record.folder, way)


def _by_folder(
    key: str, record: Distribution, path: ImportPath, first: list[Folder], ways: dict[str, str]
) -> Iterator[Hidden]:
    """Yield a package whose name a folder of the user has too, without a record of it."""
    order = [folder.path for folder in path.folders]
    before = order[: order.index(record.folder)]
    for folder in first:
        may_be = key in folder.names and folder.path in before
        if may_be and Path(folder.path, key, "__init__.py").is_file():
            way = ways[folder.path]
            yield Hidden(key, record.name, record.version, "", folder.path, way)
            return


def _way(world: World, folder: str) -> str:
    """Return how a folder got before the environment's; empty where it is the environment's own."""
    if is_own(world, folder):
        return ""
    if world.inside(folder) in pythonpath(world):
        return PYTHONPATH
    return USER_SITE if re.fullmatch(_USER_SITE, below(world, "home", folder)) else ""


def _is_true(fact: Fact | None) -> bool:
    return isinstance(fact, Known) and fact.value is True
