"""Go through tables and releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.refresh import installable
from tools.refresh.compare import Comparison, Report
from tools.refresh.derive import pins
from tools.refresh.errors import FetchError, WheelError
from tools.refresh.sources import PACKAGES, SOURCES, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from packaging.version import Version

    from tools.refresh.document import Document
    from tools.refresh.index import Index, Release

_NEW_LIMIT = 1000
"""Releases that a table lacks and that are read in one run."""


@dataclass(frozen=True)
class Choice:
    """What a run is limited to."""

    tables: frozenset[str] = frozenset()
    """Empty for all."""
    package: str = ""
    version: Version | None = None
    newest: int = 3
    """Releases of each package, beside those that a table of releases lacks."""
    overrule: bool = False
    resolves: Callable[[str, Version], bool | None] | None = None
    """A resolver that is asked whether a release can be installed."""

    def takes_table(self, table: str) -> bool:
        """Return whether a table that is written as a whole is asked for."""
        return not self.package and (not self.tables or table in self.tables)

    def takes(self, source: Source) -> bool:
        """Return whether a source is asked for."""
        asked = not self.tables or source.table in self.tables
        return asked and self.package in {"", source.package}


def refreshed(
    before: Mapping[str, Document], index: Index, choice: Choice, report: Report
) -> dict[str, Document]:
    """Return the tables as they should become; what cannot be read is reported and left alone."""
    after = dict(before)
    for source in filter(choice.takes, SOURCES):
        if source.table not in after:
            continue
        comparison = Comparison(source.table, after[source.table], report, grows=source.grows)
        for release in _wanted(index, source.package, choice, report, comparison):
            try:
                for row in source.derive(release, index, after):
                    comparison.merge(source.package, row, overrule=choice.overrule)
            except (FetchError, WheelError) as error:  # noqa: PERF203 -- one release is not all
                report.unread.append(f"{source.table}: {source.package} {release.version}: {error}")
        after[source.table] = comparison.document
    if installable.TABLE in after and choice.takes_table(installable.TABLE):
        after[installable.TABLE] = installable.rewritten(
            after[installable.TABLE], index, report, newest=choice.newest, resolves=choice.resolves
        )
    return after


def pin_lines(index: Index, choice: Choice, report: Report) -> Iterator[str]:
    """Yield what releases require of each other, for tables that hold pins."""
    for package in PACKAGES:
        if choice.package not in {"", package}:
            continue
        for release in _wanted(index, package, choice, report):
            try:
                found = pins(release, index)
            except (FetchError, WheelError) as error:
                report.unread.append(f"pins: {package} {release.version}: {error}")
                continue
            yield f"{package} {release.version}:"
            for name, texts in found.items():
                yield from (f"  {name}: {text}" for text in texts)


def _wanted(
    index: Index, package: str, choice: Choice, report: Report, table: Comparison | None = None
) -> list[Release]:
    """Return the releases to look at, oldest first: the chosen one, or the newest and the missing.

    What is older than a table is left out: nobody asks for it.
    """
    try:
        releases = index.releases(package)
    except FetchError as error:
        report.unread.append(str(error))
        return []
    if choice.version is not None:
        if choice.version not in releases:
            report.unread.append(f"{package} {choice.version}: not in the index")
        return [release for version, release in releases.items() if version == choice.version]
    offered = [r for r in releases.values() if not all(file.yanked for file in r.files)]
    # A package that has only pre-releases is used by them.
    usable = [r for r in offered if not r.version.is_prerelease] or offered
    if table is None:
        return usable[-choice.newest :]
    usable = [release for release in usable if release.version >= table.begins(package)]
    newest, named = usable[-choice.newest :], table.named(package)
    missing = [
        r
        for r in usable
        if r not in newest
        and (r.version not in named if named is not None else table.lacks(package, r.version))
    ]
    return [*missing[-_NEW_LIMIT:], *newest]
