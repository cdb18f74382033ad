"""The flash-attn wheels that exist: official and community files, read from the matrix.

Nothing here is needed by a check: the tables are compiled apart, and the caller loads them.
`Wheels(load_apart(knowledge.tables))` is how it is used.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import Matrix, Row
from fadoctor.knowledge.matrix.versions import parse_version, version_key, version_part
from fadoctor.knowledge.matrix.wheel_words import label_parts, python_fits, python_tag
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import PACKAGES, TRITON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fadoctor.model.rule import Table

OFFICIAL, COMMUNITY = "official", "community"
_SOURCES = (OFFICIAL, COMMUNITY)
OFFICIAL_TABLE = "flash-attn-wheels"
_TABLES = {OFFICIAL: OFFICIAL_TABLE, COMMUNITY: "flash-attn-wheels-community"}
_KEYS = ("package", "version", "tag", "torch", "cuda", "abi", "python", "platform")
TRITON_WINDOWS = next(name for name in PACKAGES[TRITON] if name.endswith("-windows"))
"""The distribution of triton for Windows, for which PyPI's triton has no file."""
_PLACEHOLDER = re.compile(r"\{([a-zA-Z_]+)\}")
Words = dict[str, str]
"""One choice of the words of a row: key -> word."""


class WheelFile(msgspec.Struct, frozen=True):
    """One file that can be downloaded."""

    name: str
    url: str
    source: str
    """``official`` or ``community``."""
    package: str
    """``flash-attn`` or ``flash-attn-3``."""
    version: str
    """The version that it installs."""
    release: str
    """The release page: a version of flash-attn, or a tag of the community's repository."""
    torch: str
    """Minor that it was built for: ``2.8``."""
    cuda: str
    """Label of the name: ``cu12``, ``cu128``."""
    label_abi: bool | None
    """C++ string ABI by the name, True is the new one; None where the name has no such part."""
    real_abi: Fact
    """C++ string ABI that the file really has; Absent where there is but one (Windows)."""
    python: str
    """Its ABI tag: ``cp311``, ``cp313t``; ``cp39-abi3`` for the limited API."""
    platform: str
    """The machine that it runs on: ``linux_x86_64``."""
    sm: Fact
    """Compute capabilities with machine code; Unknown where nobody has read or derived them."""
    sm_at_least: Fact
    """What it holds in any case, where the rest is not known; else Absent."""
    sm_at_most: Fact
    """What it may hold and no more, where the rest is not known; else Absent."""
    glibc_needed: Fact
    """Below this glibc it was seen to fail."""
    glibc_enough: Fact
    """With this glibc it surely loads."""
    glibc_built_on: Fact
    """Where that is not known: the glibc of the oldest system that builds files of its kind."""
    evidence: str
    """Why it is believed to be there; empty for the community's list."""
    verified: bool
    """False where the file may be missing."""

    @property
    def cuda_major(self) -> str:
        """Return the CUDA major of the label."""
        return label_parts(self.cuda)[0]


class WheelRequest(msgspec.Struct, frozen=True):
    """What a wheel must fit."""

    torch: str
    """Minor of the installed torch: ``2.8``."""
    cuda: str
    """torch.version.cuda, or only its major: files of the same major fit, an equal one first."""
    python: str
    """ABI tag of the interpreter: ``cp311``, ``cp313t``."""
    platform: str
    """``linux_x86_64``."""
    cxx11_abi: bool
    """C++ string ABI of the installed torch."""
    package: str = "flash-attn"


class Lookup(msgspec.Struct, frozen=True):
    """What flash-attn's setup.py asks the release page for."""

    name: str
    """The file's name; empty where it asks for none."""
    file: WheelFile | None
    """The file of that name; None: there is none, and setup.py compiles."""


class Wheels:
    """The files of the tables, with queries. It keeps what it has looked up."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = tables
        self.matrix = Matrix(tables)
        self._cells: dict[tuple[str, ...], Fact] = {}

    def official(self, version: str = "") -> Iterator[WheelFile]:
        """Yield every file of flash-attn's release pages, or of one; doubtful ones included."""
        return self._files(OFFICIAL, **({"version": version} if version else {}))

    def named_as(self, version: str) -> Iterator[WheelFile]:
        """Yield the files of flash-attn's release pages that have a version in their names."""
        for row in self.tables[_TABLES[OFFICIAL]].rows:
            if version in (str(row.get("file_version")), *str(row["version"]).split()):
                files = (self._file(OFFICIAL, row, words) for words in _choices(row, {}))
                yield from (file for file in files if file.version == version)

    def community(self, version: str = "") -> Iterator[WheelFile]:
        """Yield every community file, or those of a version.

        One that stands on several pages comes once for each.
        """
        return self._files(COMMUNITY, **({"version": version} if version else {}))

    def fitting(self, wanted: WheelRequest) -> tuple[WheelFile, ...]:
        """Return the files that load beside a torch and an interpreter, newest first.

        Of one version official files come first, then those for exactly this CUDA. Files that may
        be missing, or whose ABI nobody knows, are left out; GPU and glibc are for the caller.
        """
        found: dict[str, WheelFile] = {}
        for source in _SOURCES:
            for file in self._files_for(source, wanted):
                known = found.get(file.name)
                if _fits(file, wanted) and (known is None or _is_newer(file, known)):
                    found[file.name] = file
        ranked = sorted(found.values(), key=lambda file: _rank(file, wanted))
        return tuple(sorted(ranked, key=lambda file: version_key(file.version), reverse=True))

    def asked_for(self, version: str, wanted: WheelRequest) -> Lookup:
        """Return what setup.py of a version downloads when it is installed beside a torch."""
        major = wanted.cuda.partition(".")[0]
        keys = {"version": version, "torch": wanted.torch, "cuda_major": major}
        label = self._cell("flash-attn-lookup", "label", **keys)
        if not isinstance(label, Known):
            return Lookup("", None)
        tag = python_tag(wanted.python)
        words = {
            "version": version,
            "cuda": str(label.value).replace("{cuda}", wanted.cuda.replace(".", "")),
            "torch": wanted.torch,
            "ABI": str(wanted.cxx11_abi).upper(),
            "python": tag,
            "abi_tag": tag,
            "platform": wanted.platform,
        }
        name = _fill(self._pattern(OFFICIAL, "flash-attn", "file"), words)
        page = self._files(OFFICIAL, version=version, torch=words["torch"], cuda=words["cuda"])
        return Lookup(name, next((file for file in page if file.name == name), None))

    def _files(self, source: str, **asked: str) -> Iterator[WheelFile]:
        """Yield the files of a table, or those of the words that are asked for."""
        for row in self.tables[_TABLES[source]].rows:
            if all(word in str(row[name]).split() for name, word in asked.items()):
                for words in _choices(row, asked):
                    yield self._file(source, row, words)

    def _files_for(self, source: str, wanted: WheelRequest) -> Iterator[WheelFile]:
        """Yield the files of a table whose names may fit: most do not, and are not made."""
        for row in self.tables[_TABLES[source]].rows:
            if wanted.torch in str(row["torch"]).split():
                for words in _choices(row, self._fitting_words(row, wanted)):
                    yield self._file(source, row, words)

    def _fitting_words(self, row: Row, wanted: WheelRequest) -> Words:
        """Return of each key of a row the words that fit."""
        fits: dict[str, Callable[[str], bool]] = {
            "torch": lambda word: word == wanted.torch,
            "package": lambda word: word == wanted.package,
            "cuda": lambda word: label_parts(word)[0] == wanted.cuda.partition(".")[0],
            "python": lambda word: python_fits(word, wanted.python),
            "platform": lambda word: (
                self._platform({"platform": word}, "runs_on") == wanted.platform
            ),
        }
        return {
            key: " ".join(filter(test, str(row[key]).split()))
            for key, test in fits.items()
            if key in row
        }

    def _file(self, source: str, row: Row, words: Words) -> WheelFile:
        filled = self._filled(row, words)
        package = filled["package"]
        name = _fill(self._pattern(source, package, "file"), filled)
        page = _fill(self._pattern(source, package, "page"), filled)
        return WheelFile(
            name=name,
            url=page + name.replace("+", "%2B"),
            source=source,
            package=package,
            version=filled["version"],
            release=filled["release"],
            torch=words["torch"],
            cuda=words["cuda"],
            label_abi={"true": True, "false": False}.get(words.get("abi", "")),
            python=words["python"],
            platform=self._platform(words, "runs_on"),
            **(self._official(words) if source == OFFICIAL else self._community(words)),
            evidence=str(row.get("evidence") or ""),
            verified=row.get("verified") != "unverified",
        )

    def _filled(self, row: Row, words: Words) -> Words:
        """Return what the placeholders of names and addresses stand for."""
        tag, _, limited = words["python"].partition("-")
        return {
            **words,
            "package": words.get("package", "flash-attn"),
            "version": str(row.get("file_version") or words["version"]),
            "release": words.get("tag", words["version"]),
            "ABI": words.get("abi", "").upper(),
            "python": python_tag(tag),
            "abi_tag": limited or tag,
            "platform": self._platform(words, "name"),
            "git": str(row.get("git") or ""),
        }

    def _official(self, words: Words) -> dict[str, Fact]:
        """Return what the matrix says of the inside of an official file."""
        keys = {name: words[name] for name in ("version", "torch", "cuda")}
        glibc = {"version": words["version"], "torch": words["torch"]}
        abi = {**glibc, "label": words["abi"]}
        return {
            "real_abi": self._cell("flash-attn-wheel-abi", "cxx11_abi", **abi),
            "sm": self._cell("flash-attn-wheel-sm", "sm", **keys),
            "sm_at_least": self._cell("flash-attn-wheel-sm", "at_least", **keys),
            "sm_at_most": self._cell("flash-attn-wheel-sm", "at_most", **keys),
            "glibc_needed": self._cell("flash-attn-wheel-glibc", "needs", **glibc),
            "glibc_enough": self._cell("flash-attn-wheel-glibc", "enough", **glibc),
            "glibc_built_on": Absent("matrix flash-attn-wheel-glibc"),
        }

    def _community(self, words: Words) -> dict[str, Fact]:
        """Return the same of a community file: by its name, and by what setup.py makes of nvcc."""
        platform = self._platform(words, "runs_on")
        abi = {"torch": words["torch"], "cuda": words["cuda"], "platform": platform}
        nvcc = ".".join(filter(None, label_parts(words["cuda"])))
        glibc, built_on = (
            self._cell("flash-attn-wheel-platforms", column, platform=words["platform"])
            for column in ("glibc", "built_on")
        )
        return {
            "real_abi": self._cell("flash-attn-community-abi", "cxx11_abi", **abi),
            "sm": self._cell("flash-attn-cubins", "sm", version=words["version"], nvcc=nvcc),
            "sm_at_least": Absent("matrix flash-attn-cubins"),
            "sm_at_most": Absent("matrix flash-attn-cubins"),
            "glibc_needed": glibc,
            "glibc_enough": glibc,
            "glibc_built_on": built_on,
        }

    def _platform(self, words: Words, column: str) -> str:
        platform = words["platform"]
        return _text(self._cell("flash-attn-wheel-platforms", column, platform=platform))

    def _pattern(self, source: str, package: str, column: str) -> str:
        return _text(self._cell("flash-attn-wheel-urls", column, source=source, package=package))

    def _cell(self, table: str, column: str, **keys: str) -> Fact:
        asked = (table, column, *keys.values())
        if asked not in self._cells:
            facts: dict[str, Fact] = {name: Known(value, "asked") for name, value in keys.items()}
            self._cells[asked] = self.matrix.find(table, facts).cell(column)
        return self._cells[asked]


def _choices(row: Row, asked: Words) -> Iterator[Words]:
    """Yield every combination of the words of a row's keys."""
    names = [name for name in _KEYS if name in row]
    for words in product(*(asked.get(name, str(row[name])).split() for name in names)):
        yield dict(zip(names, words, strict=True))


def _fits(file: WheelFile, wanted: WheelRequest) -> bool:
    asked = (wanted.package, wanted.torch, wanted.cuda.partition(".")[0], wanted.platform)
    abi = file.real_abi
    abi_fits = isinstance(abi, Known) and abi.value is wanted.cxx11_abi
    return (
        file.verified
        and (file.package, file.torch, file.cuda_major, file.platform) == asked
        and (abi_fits or isinstance(abi, Absent))
        and python_fits(file.python, wanted.python)
    )


def _is_newer(one: WheelFile, other: WheelFile) -> bool:
    """Return whether a file lies on a newer page than another."""
    mine, theirs = parse_version(one.release), parse_version(other.release)
    return mine is not None and theirs is not None and mine > theirs


def _rank(file: WheelFile, wanted: WheelRequest) -> tuple[int, bool, bool, bool, str]:
    """Return the order among files of one version: of two alike the one that promises a glibc."""
    exact = ".".join(filter(None, label_parts(file.cuda))) == version_part(wanted.cuda, "minor")
    lies = file.label_abi not in (None, wanted.cxx11_abi)
    vague = isinstance(file.glibc_enough, Unknown)
    return (_SOURCES.index(file.source), not exact, lies, vague, file.name)


def _fill(pattern: str, words: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: words.get(match[1], ""), pattern)


def _text(fact: Fact) -> str:
    return str(fact.value) if isinstance(fact, Known) else ""
