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

TABLE, GONE = "function-arguments", "function-arguments-gone"

Taken = frozenset[str]
Functions = dict[str, "Taken | None"]
"""What each function takes. None: any argument, or it is defined more than once."""

_NAME = re.compile(r"[a-z][a-z_]{6,40}")
_CLASS = re.compile(r"[A-Z]\w{2,60}")
_METHODS = frozenset({"__init__", "forward"})
"""Methods that other packages call; a message of Python names them with their class."""
_ARGUMENT = re.compile(r"[a-z]\w{1,60}")
_ASIDE = re.compile(
    r"/(?:tests?|test_utils|testing|experimental|commands|examples)/|/testing_utils"
)
"""Files whose functions programs do not call."""
_OF_A_MODEL = re.compile(r"transformers/models/(?!auto/)")
"""Files of which many have a function of the same name."""
_DEFINED = re.compile(r"^def ([a-z][a-z_]{6,40})\(", re.MULTILINE)
_LONG = 3
_ANY = "**"
"""Among what a method takes: any argument."""
_NEVER = Version("9999999")
_OF_MEGATRON = (
    "nemo/lightning/", "nemo/collections/llm/", "nemo/collections/nlp/parts/",
    "nemo/collections/nlp/models/language_modeling/",
    "nemo/collections/nlp/modules/common/megatron/",
)  # fmt: skip


@dataclass(frozen=True)
class Library:
    """A package whose functions programs and other packages call."""

    name: str
    oldest: Version
    """Older releases are not read."""
    short: frozenset[str] = frozenset()
    """Functions of less than three words: programs have functions of other such names."""
    folders: tuple[str, ...] = ()
    """Where the sources lie; none: in the folder of its name."""
    below: Version | None = None
    """Releases since this one are not read, where such a bound is given."""
    whole: bool = False
    """Methods and every release are read, and what functions no longer take is told, too."""

    @property
    def places(self) -> tuple[str, ...]:
        """Return how paths of its sources begin."""
        return self.folders or (f"{self.name}/",)


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
    Library(
        "megatron-core",
        Version("0.1.0"),
        frozenset({"roll_tensor"}),
        ("megatron/core/",),
        whole=True,
    ),
    # NeMo 3 has neither its lightning nor its collection llm.
    Library(
        "nemo_toolkit",
        Version("1.23.0"),
        folders=_OF_MEGATRON,
        below=Version("3.0.0"),
        whole=True,
    ),
)


def to_read(library: Library, releases: Mapping[Version, Release]) -> list[Version]:
    """Return the releases that are read, oldest first."""
    every = [
        version
        for version, release in sorted(releases.items())
        if library.oldest <= version < (library.below or _NEVER)
        and not version.is_prerelease
        and not all(file.yanked for file in release.files)
    ]
    return every if library.whole else [every[place] for place in first_of_minors(every)]


class Reader:
    """Reads the functions of releases; what a file of an earlier one held is not read again."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: dict[tuple[str, bool], list[tuple[str, Taken | None]]] = {}

    def functions(self, sources: Sources) -> Functions:
        """Return the functions of a release, and the methods that are read of its library."""
        digests = sources.digests
        own = (path for path in digests if path.startswith(self._library.places))
        paths = [path for path in own if not _ASIDE.search(path)]
        new = [path for path in paths if self._key(path, digests[path]) not in self._known]
        for path, text in sources.read(new).items():
            self._known[self._key(path, digests[path])] = list(
                names_in(text)
                if _OF_A_MODEL.match(path)
                else functions_in(text, methods=self._library.whole)
            )
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


def functions_in(source: str, *, methods: bool = False) -> Iterator[tuple[str, Taken | None]]:
    """Yield the functions of a source, and what they take; none for what is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _NAME.fullmatch(node.name):
            yield node.name, _taken(node)
        elif methods and isinstance(node, ast.ClassDef) and _CLASS.fullmatch(node.name):
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and each.name in _METHODS:
                    yield f"{node.name}.{each.name}", _taken_by_method(each)


def _taken(node: ast.FunctionDef) -> Taken | None:
    is_wrapped = any("wraps" in ast.dump(each) for each in node.decorator_list)
    return None if node.args.kwarg or is_wrapped else frozenset(parameters_of(node))


def _taken_by_method(node: ast.FunctionDef) -> Taken | None:
    """Return what a method takes, and ``_ANY``; None for `forward(ctx, ...)` of autograd."""
    taken = frozenset(parameters_of(node))
    return None if "ctx" in taken else taken | ({_ANY} if node.args.kwarg else frozenset())


def argument_rows(
    library: Library, had: Mapping[Version, Functions]
) -> tuple[list[str], list[str]]:
    """Return the rows of arguments that came to a function that was there, and stayed.

    Beside them, of a library of which it is told, the rows of those that went, and stay away.
    """
    versions = sorted(had)
    rows, gone = [], []
    for name in sorted(had[versions[-1]]):
        with_it = [version for version in versions if name in had[version]]
        taken = [had[version][name] for version in with_it]
        if not _is_told(library, name) or None in taken:
            continue
        known = _closed([each or frozenset() for each in taken])
        rows += [
            f"  - {{function: {name}, name: {argument}, package: {library.name}, "
            f'since: {since}, before: {before}, below: "{since.major + 1}"}}\n'
            for argument, before, since in _turned(with_it, known, known[-1] - known[0])
        ]
        lost = frozenset().union(*known) - known[-1] if library.whole else frozenset()
        gone += [
            f"  - {{function: {name}, name: {argument}, package: {library.name}, "
            f"first: {first}, last: {last}}}\n"
            for argument, first, last in _left(with_it, known, lost)
        ]
    return rows, gone


def _closed(taken: Sequence[Taken]) -> list[Taken]:
    """Return what each release takes: one that takes any argument takes those of all others."""
    every = frozenset().union(*taken)
    return [every if _ANY in each else each for each in taken]


def _is_told(library: Library, name: str) -> bool:
    is_long = "." in name or len(name.strip("_").split("_")) >= _LONG
    return name in library.short or is_long


def _turned(
    versions: Sequence[Version], taken: Sequence[Collection[str]], arguments: Collection[str]
) -> Iterator[tuple[str, Version, Version]]:
    """Yield each argument that came once: its name, the release before, and its first one."""
    for argument in sorted(filter(_ARGUMENT.fullmatch, arguments)):
        turns = _turns([argument in each for each in taken])
        if len(turns) == 1:
            yield argument, versions[turns[0] - 1], versions[turns[0]]


def _left(
    versions: Sequence[Version], taken: Sequence[Collection[str]], arguments: Collection[str]
) -> Iterator[tuple[str, Version, Version]]:
    """Yield each argument that went and stays away: its name, its first and its last release."""
    for argument in sorted(filter(_ARGUMENT.fullmatch, arguments)):
        has = [argument in each for each in taken]
        turns = _turns(has)
        if len(turns) == 1 or (len(turns) == 2 and not has[0]):
            yield argument, versions[has.index(True)], versions[turns[-1] - 1]


def _turns(has: Sequence[bool]) -> list[int]:
    """Return the places at which something came or went."""
    return [place for place, (old, new) in enumerate(pairwise(has), 1) if old != new]
