"""The arguments that functions of libraries take, release by release, by their sources.

The first release of each minor is read, and the newest one.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.names.arguments import parameters_of
from tools.refresh.names.history import first_of_minors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tools.refresh.index import Release
    from tools.refresh.names.archive import Sources

TABLE = "function-arguments"

Taken = frozenset[str]
Functions = dict[str, "Taken | None"]
"""What each function takes. None: any argument, or it is defined more than once."""

_NAME = re.compile(r"[a-z][a-z_]{6,40}")
_ARGUMENT = re.compile(r"[a-z]\w{1,60}")
_ASIDE = re.compile(
    r"/(?:tests?|test_utils|testing|experimental|commands|examples)/|/testing_utils"
)
"""Files whose functions programs do not call."""
_OF_A_MODEL = re.compile(r"transformers/models/(?!auto/)")
"""Files of which many have a function of the same name."""
_DEFINED = re.compile(r"^def ([a-z][a-z_]{6,40})\(", re.MULTILINE)
_LONG = 3


@dataclass(frozen=True)
class Library:
    """A package whose functions programs and other packages call."""

    name: str
    oldest: Version
    """Older releases are not read."""
    short: frozenset[str] = frozenset()
    """Functions of less than three words: programs have functions of other such names."""


LIBRARIES = (
    Library("peft", Version("0.5.0")),
    Library(
        "accelerate",
        Version("0.20.0"),
        frozenset({"dispatch_model", "notebook_launcher"}),
    ),
    Library(
        "transformers",
        Version("4.30.0"),
        frozenset({"ffmpeg_microphone", "ffmpeg_microphone_live"}),
    ),
    Library("trl", Version("0.7.0")),
)


def to_read(library: Library, releases: Mapping[Version, Release]) -> list[Version]:
    """Return the releases that are read, oldest first."""
    every = [
        version
        for version, release in sorted(releases.items())
        if version >= library.oldest
        and not version.is_prerelease
        and not all(file.yanked for file in release.files)
    ]
    return [every[place] for place in first_of_minors(every)]


class Reader:
    """Reads the functions of releases; what a file of an earlier one held is not read again."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._known: dict[tuple[str, bool], list[tuple[str, Taken | None]]] = {}

    def functions(self, sources: Sources) -> Functions:
        """Return the functions of a release that are no method."""
        digests = sources.digests
        own = (path for path in digests if path.startswith(f"{self._package}/"))
        paths = [path for path in own if not _ASIDE.search(path)]
        new = [path for path in paths if self._key(path, digests[path]) not in self._known]
        for path, text in sources.read(new).items():
            read = names_in if _OF_A_MODEL.match(path) else functions_in
            self._known[self._key(path, digests[path])] = list(read(text))
        found: Functions = {}
        for path in paths:
            for name, taken in self._known[self._key(path, digests[path])]:
                found[name] = None if name in found else taken
        return found

    @staticmethod
    def _key(path: str, digest: str) -> tuple[str, bool]:
        return digest, _OF_A_MODEL.match(path) is not None


def names_in(source: str) -> Iterator[tuple[str, None]]:
    """Yield the functions of a source of which no row tells: they keep a name from being told."""
    for match in _DEFINED.finditer(source):
        yield match[1], None


def functions_in(source: str) -> Iterator[tuple[str, Taken | None]]:
    """Yield the functions of a source, and what they take; none for what is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _NAME.fullmatch(node.name):
            is_open = node.args.kwarg is not None or any(
                "wraps" in ast.dump(each) for each in node.decorator_list
            )
            yield node.name, None if is_open else frozenset(parameters_of(node))


def argument_rows(library: Library, had: Mapping[Version, Functions]) -> list[str]:
    """Return the rows of arguments that came to a function that was there, and stayed."""
    versions = sorted(had)
    rows = []
    for name in sorted(had[versions[-1]]):
        with_it = [version for version in versions if name in had[version]]
        taken = [had[version][name] for version in with_it]
        if not _is_told(library, name) or None in taken:
            continue
        for argument, before, since in _came(with_it, [each or frozenset() for each in taken]):
            rows.append(
                f"  - {{function: {name}, name: {argument}, package: {library.name}, "
                f'since: {since}, before: {before}, below: "{since.major + 1}"}}\n'
            )
    return rows


def _is_told(library: Library, name: str) -> bool:
    return name in library.short or len(name.strip("_").split("_")) >= _LONG


def _came(
    versions: Sequence[Version], taken: Sequence[Collection[str]]
) -> Iterator[tuple[str, Version, Version]]:
    """Yield each argument that came once: its name, the release before, and its first one."""
    for argument in sorted(filter(_ARGUMENT.fullmatch, set(taken[-1]) - set(taken[0]))):
        has = [argument in each for each in taken]
        turns = [place for place, (old, new) in enumerate(pairwise(has), 1) if old != new]
        if len(turns) == 1:
            yield argument, versions[turns[0] - 1], versions[turns[0]]
