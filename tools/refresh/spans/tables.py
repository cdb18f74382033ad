"""The tables of spans as texts: people write their heads, and the releases all of their rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from packaging.version import Version

from tools.refresh.errors import FetchError, WheelError
from tools.refresh.names.archive import WheelSources, open_sources
from tools.refresh.spans import (
    compiled_files,
    constructors,
    functions,
    header_names,
    headers,
    minimums,
    models,
    options,
    pythons,
    raised,
    requires,
    status_codes,
    thrust,
    trainers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tools.refresh.index import File, Index, Release
    from tools.refresh.wheel import Wheel

_T = TypeVar("_T")

Rows = dict[str, list[str]]
"""By the name of the table."""

_ROWS = "rows:\n"


def asked(tables: Sequence[str], *, every: bool) -> list[str]:
    """Return which of the tables of spans are asked for: they take minutes, so only by name."""
    return [name for name in MAKERS if every or name in tables]


def texts_in(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return those tables that a folder has."""
    paths = (folder / f"{name}.yaml" for name in names)
    return {path.stem: path.read_text("utf-8") for path in paths if path.is_file()}


def refreshed_spans(
    texts: Mapping[str, str], index: Index, unread: list[str], names: Iterable[str]
) -> dict[str, str]:
    """Return the tables as they become; ``unread`` gets what could not be read.

    Half a history has spans that are not true: no table is made from one.
    """
    after: dict[str, str] = {}
    for maker in dict.fromkeys(MAKERS[name] for name in names if name in texts):
        missing: list[str] = []
        try:
            rows = maker(index, missing)
        except FetchError as error:
            missing.append(str(error))
            rows = {}
        unread += missing
        for name in rows.keys() & texts.keys() if not missing else ():
            head, mark, _ = texts[name].partition(_ROWS)
            after[name] = f"{head}{mark}{''.join(rows[name])}"
    return after


def _of_servers(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    for server in options.SERVERS:
        had: dict[Version, frozenset[str]] = {}
        for version, release in _since(index, server.name, server.oldest):
            read = partial(options.options_of, server, version)
            wheels = release.wheels("x86_64") or release.wheels()
            if (found := _read(index, wheels, read, unread)) is not None:
                had[version] = found
        rows += options.option_rows(server, had) if had else []
    return {options.TABLE: rows}


def _of_models(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    for what in models.NAMES:
        had: dict[Version, frozenset[str]] = {}
        for version, release in _since(index, what.package, what.oldest):
            wheels = release.wheels("x86_64") or release.wheels()
            if found := _read(index, wheels, partial(models.names_of, what), unread):
                had[version] = found
        rows += models.name_rows(what, had) if had else []
    return {models.TABLE: rows}


def _of_torch(index: Index, unread: list[str]) -> Rows:
    releases = index.releases("torch")
    found: dict[Version, list[frozenset[str]]] = {}
    for version in headers.first_of_minors(releases):
        for wheel in headers.wheels_of(releases[version]):
            names = _read(index, [wheel], lambda each: headers.headers_in(each.names), unread)
            if names is not None:
                found.setdefault(version, []).append(names)
    had = headers.everywhere(found)
    gone, new = headers.header_rows(had) if had else ([], [])
    return {headers.GONE: gone, headers.NEW: new}


def _of_torch_names(index: Index, unread: list[str]) -> Rows:
    releases, reader = index.releases("torch"), header_names.Reader()
    had: dict[Version, list[header_names.HeaderNames]] = {}
    for version in headers.first_of_minors(releases):
        for wheel in headers.wheels_of(releases[version]):
            read = partial(_names_of, reader, index, wheel)
            if (names := _tried(read, wheel.name, unread)) is not None:
                had.setdefault(version, []).append(names)
    gone, new = header_names.name_rows(had) if had else ([], [])
    return {header_names.GONE: gone, header_names.NEW: new}


def _names_of(reader: header_names.Reader, index: Index, wheel: File) -> header_names.HeaderNames:
    return reader.names(WheelSources(index.transport, wheel))


def _of_libraries(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    gone: list[str] = []
    for library in functions.LIBRARIES:
        releases, reader = index.releases(library.name), functions.Reader(library)
        had: dict[Version, functions.Functions] = {}
        for version in functions.to_read(library, releases):
            read = partial(_functions_of, reader, index, releases[version])
            if (found := _tried(read, f"{library.name} {version}", unread)) is not None:
                had[version] = found
        came, went = functions.argument_rows(library, had) if had else ([], [])
        rows += came
        gone += went
    return {functions.TABLE: rows, functions.GONE: gone}


def _functions_of(reader: functions.Reader, index: Index, release: Release) -> functions.Functions:
    return reader.functions(open_sources(index.transport, release))


def _of_trainers(index: Index, unread: list[str]) -> Rows:
    readers = {"transformers": trainers.read_trainer, "trl": trainers.read_configs}
    held: dict[str, dict[Version, trainers.Held]] = {}
    for package, read in readers.items():
        held[package] = {}
        for version, release in _since(index, package, trainers.OLDEST[package]):
            if (found := _read(index, release.wheels(), read, unread)) is not None:
                held[package][version] = found
    if not all(held.values()):
        return {}
    return {
        trainers.METHODS: trainers.method_rows(held["transformers"]),
        trainers.NAMES: trainers.name_rows(held["transformers"]),
        trainers.FIELDS: trainers.field_rows(held["trl"], held["transformers"]),
    }


def _of_constructors(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    for library in constructors.LIBRARIES:
        had: dict[Version, constructors.Arguments] = {}
        read = partial(constructors.arguments_of, library)
        for version, release in _since(index, library.name, library.oldest):
            wheels = release.wheels() if library.has(version) else ()
            if found := _read(index, wheels, read, unread):
                had[version] = found
        rows += constructors.argument_rows(library, had) if had else []
    return {constructors.TABLE: rows}


def _of_minimums(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    for package, oldest in minimums.PACKAGES.items():
        had: dict[Version, minimums.Minimums] = {}
        for version, release in _since(index, package, oldest):
            read = partial(minimums.minimums_of, package)
            if (found := _read(index, release.wheels(), read, unread)) is not None:
                had[version] = found
        needed = {need for each in had.values() for need, _, _ in each}
        newest = {need: max(index.releases(need), default=Version("0")) for need in needed}
        rows += minimums.minimum_rows(package, had, newest) if had else []
    return {minimums.TABLE: rows}


def _of_pythons(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    for package in pythons.PACKAGES:
        if (releases := _tried(partial(index.releases, package), package, unread)) is not None:
            rows += pythons.python_rows(package, releases)
    return {pythons.TABLE: rows}


def _of_compiled_files(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    for package in compiled_files.PACKAGES:
        if (releases := _tried(partial(index.releases, package), package, unread)) is not None:
            rows += compiled_files.file_rows(package, releases)
    return {compiled_files.TABLE: rows}


def _of_requires(index: Index, unread: list[str]) -> Rows:
    rows: list[str] = []
    for package in requires.READ:
        releases = _tried(partial(index.releases, package.partition("[")[0]), package, unread)
        read = partial(_required_by, package, releases or {}, index)
        rows += _tried(read, package, unread) or [] if releases else []
    return {requires.TABLE: rows}


def _required_by(package: str, releases: Mapping[Version, Release], index: Index) -> list[str]:
    return list(requires.release_rows(package, releases, index, requires.oldest_of(package)))


def _of_thrust(index: Index, unread: list[str]) -> Rows:
    had: list[dict[str, frozenset[str]]] = []
    for package, version in thrust.PACKAGES.items():
        release = index.releases(package).get(Version(version))
        if release is None:
            unread.append(f"{package} {version}: in no index")
            continue
        read = partial(_thrust_in, index, release.wheels("x86_64")[0])
        if (found := _tried(read, f"{package} {version}", unread)) is not None:
            had.append(found)
    return {thrust.TABLE: thrust.include_rows(had)} if had else {}


def _of_status_codes(index: Index, unread: list[str]) -> Rows:
    had: dict[str, dict[str, int]] = {}
    texts: dict[str, str] = {}
    for library in status_codes.LIBRARIES:
        releases = index.releases(library.package)
        wheels = releases[max(releases)].wheels("x86_64") if releases else []
        read = partial(status_codes.read_codes, library)
        if (codes := _read(index, wheels, read, unread)) is None:
            unread.append(f"{library.package}: no codes")
            return {}
        had[library.family] = codes
        if not texts:
            texts = _read(index, wheels, status_codes.read_texts, unread) or {}
    return {status_codes.TABLE: status_codes.code_rows(had, texts)} if texts else {}


def _of_raised(index: Index, unread: list[str]) -> Rows:
    had: dict[str, frozenset[str]] = {}
    for library in raised.LIBRARIES:
        releases = index.releases(library)
        for version in raised.spread(sorted(v for v in releases if not v.is_prerelease)):
            read = partial(_raised_in, index, releases[version])
            if (names := _tried(read, f"{library} {version}", unread)) is not None:
                had[library] = had.get(library, frozenset()) | names
    return {raised.TABLE: raised.name_rows(had)}


def _raised_in(index: Index, release: Release) -> frozenset[str]:
    return raised.names_of(open_sources(index.transport, release))


def _thrust_in(index: Index, wheel: File) -> dict[str, frozenset[str]]:
    sources = WheelSources(index.transport, wheel)
    paths = {path: header for path in sources.marks if (header := thrust.header_of(path))}
    return {
        paths[path]: thrust.declared_in(raw.decode("utf-8", "replace"))
        for path, raw in sources.read_raw(paths).items()
    }


def _since(index: Index, package: str, oldest: Version) -> Iterator[tuple[Version, Release]]:
    """Yield the releases of a package from one on, oldest first; previews left out."""
    for version, release in sorted(index.releases(package).items()):
        if version >= oldest and not version.is_prerelease:
            yield version, release


def _read(
    index: Index, wheels: Iterable[File], read: Callable[[Wheel], _T], unread: list[str]
) -> _T | None:
    """Return what is read of the first wheel; None where there is none, or it cannot be read."""
    wheel = next(iter(wheels), None)
    return _tried(lambda: read(index.wheel(wheel)), wheel.name, unread) if wheel else None


def _tried(read: Callable[[], _T], what: str, unread: list[str]) -> _T | None:
    try:
        return read()
    except (FetchError, WheelError) as error:
        unread.append(f"{what}: {error}")
        return None


MAKERS: dict[str, Callable[[Index, list[str]], Rows]] = {
    options.TABLE: _of_servers,
    models.TABLE: _of_models,
    functions.TABLE: _of_libraries,
    functions.GONE: _of_libraries,
    headers.GONE: _of_torch,
    headers.NEW: _of_torch,
    header_names.GONE: _of_torch_names,
    header_names.NEW: _of_torch_names,
    constructors.TABLE: _of_constructors,
    compiled_files.TABLE: _of_compiled_files,
    minimums.TABLE: _of_minimums,
    pythons.TABLE: _of_pythons,
    raised.TABLE: _of_raised,
    requires.TABLE: _of_requires,
    status_codes.TABLE: _of_status_codes,
    thrust.TABLE: _of_thrust,
    trainers.METHODS: _of_trainers,
    trainers.NAMES: _of_trainers,
    trainers.FIELDS: _of_trainers,
}
"""Who makes a table, and others beside it."""
