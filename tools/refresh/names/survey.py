"""Read the releases of the stack: what each asks of the others, and what each gives."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from packaging.version import Version

from tools.refresh.errors import FetchError, WheelError
from tools.refresh.names.archive import Sources, open_sources
from tools.refresh.names.arguments import closed
from tools.refresh.names.asked import Asked, asked_names
from tools.refresh.names.attributes import History, Reader
from tools.refresh.names.bounds import STARTS, Fits, Given, bound_rows, fits
from tools.refresh.names.families import Classes, by_name, simple_names
from tools.refresh.names.given import Giver, Module
from tools.refresh.names.history import first_of_minors, follow
from tools.refresh.names.loaded import TRUSTED, Loader
from tools.refresh.names.packages import PACKAGES, Package, argument_files, remote_names
from tools.refresh.names.rows import MODULE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tools.refresh.index import Index
    from tools.refresh.names.told import Others
    from tools.refresh.transport import Transport

_T = TypeVar("_T")

Seen = tuple[frozenset[Asked], frozenset[Asked]]
"""What a release asks for: for sure, and under a condition."""
States = dict[Asked, bool | None]

_ASIDE = ("/tests/", "/test/", "/testing/", "/examples/", "/benchmarks/", "/docs/")


@dataclass
class Survey:
    """What was read, by distribution and release."""

    asks: dict[str, dict[Version, Seen]] = field(default_factory=dict)
    gives: dict[str, dict[Version, States]] = field(default_factory=dict)
    versions: dict[str, list[Version]] = field(default_factory=dict)
    """All releases that count, oldest first."""
    withdrawn: dict[str, list[Version]] = field(default_factory=dict)
    """Those that are not read: they lie between others."""
    unread: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """Those of them that another run may read: the index or the network did not answer."""
    exports: dict[str, set[Asked]] = field(default_factory=dict)
    """Names at the top that came or went, by distribution."""
    loads: frozenset[Asked] = frozenset()
    """What imports of packages ask for, those of older releases, too."""
    _loaders: dict[str, Loader] = field(default_factory=dict)
    _texts: dict[str, Seen] = field(default_factory=dict)
    _makers: dict[str, dict[Version, Classes]] = field(default_factory=dict)
    """What classes take, by distribution and release."""

    def add_asker(self, package: Package, index: Index, transport: Transport) -> None:
        """Read what the releases of a package ask of the others."""
        modules = frozenset(each.module for each in PACKAGES if each.gives) - {package.module}

        def look(version: Version) -> Seen | None:
            sources = self._sources(package, version, index, transport)
            return self._asked(sources, package, modules) if sources else None

        self.asks[package.distribution] = follow(self.count(package, index), look)

    def wanted(self, package: Package) -> list[Asked]:
        """Return the names that others ask of a package."""
        found = {
            asked
            for seen in self.asks.values()
            for both in seen.values()
            for asked in (*both[0], *both[1])
        } | self.loads
        mine = {asked for asked in found if asked.module.partition(".")[0] == package.module}
        return sorted(mine | remote(package) | self.exports.get(package.distribution, set()))

    def add_exports(self, package: Package, index: Index, transport: Transport) -> None:
        """Read the names at the top of a package that some of its releases have and others lack."""
        known: dict[str, Module] = {}
        lists: dict[str, set[str]] = {}

        def look(version: Version) -> set[str] | None:
            sources = self._sources(package, version, index, transport)
            if sources is None:
                return None
            giver = Giver(sources, known, lists)
            what = f"{package.distribution} {version}"
            return self._tried(what, lambda: giver.exported(package.module))

        seen = list(follow(self.count(package, index), look).values())
        common = seen[0].intersection(*seen[1:]) if seen else set()
        every = set().union(*seen) - common
        self.exports[package.distribution] = {Asked(package.module, name) for name in every}

    def add_giver(
        self, package: Package, wanted: Sequence[Asked], index: Index, transport: Transport
    ) -> None:
        """Read which of some names the releases of a package have."""
        known: dict[str, Module] = {}
        lists: dict[str, set[str]] = {}

        def look(version: Version) -> States | None:
            sources = self._sources(package, version, index, transport)
            if sources is None:
                return None
            giver = Giver(sources, known, lists)
            giver.prepare({asked.module for asked in wanted})
            return self._tried(
                f"{package.distribution} {version}",
                lambda: {asked: giver.has(asked) for asked in wanted},
            )

        self.gives[package.distribution] = follow(self.count(package, index), look)

    def classes(
        self,
        distribution: str,
        files: Collection[str],
        others: Others,
        index: Index,
        transport: Transport,
    ) -> History:
        """Return what came to the classes of a package and went, release by release."""
        sys.stderr.write(f"classes of {distribution}\n")
        [package] = (each for each in PACKAGES if each.distribution == distribution)
        versions = self.count(package, index)
        reader, of_arguments = Reader(files), argument_files().get(distribution, ())
        foreign = {each for makers in self._makers.values() for each in simple_names(makers)}

        def look(version: Version) -> tuple[Classes, Classes] | None:
            sources = self._sources(package, version, index, transport)
            if sources is None:
                return None
            return self._tried(
                f"{distribution} {version}",
                lambda: (
                    reader.classes(sources),
                    reader.arguments(sources, of_arguments, foreign),
                ),
            )

        seen = follow(versions, look)
        self._makers[distribution] = {version: taken for version, (_, taken) in seen.items()}
        classes = {version: classes for version, (classes, _) in seen.items()}
        return History(by_name(classes), versions, others)

    def arguments(
        self, distribution: str, others: Others, lineage: Mapping[str, Sequence[str]]
    ) -> History:
        """Return what the classes of a package, once they are read, took as arguments."""
        seen = by_name(closed(self._makers[distribution]))
        return History(seen, self.versions[distribution], others, lineage)

    def add_imports(self, index: Index, transport: Transport, only: Collection[str] = ()) -> None:
        """Read what imports of packages ask the others for, in the first of each minor."""
        for distribution in only or STARTS:
            sys.stderr.write(f"what the import of {distribution} asks\n")
            package, loader = self._loader(distribution)
            versions = self.count(package, index, package.loads)
            for place in first_of_minors(versions):
                asks = self._loaded(loader, package, versions[place], index, transport)
                tops = ((each, each.module.partition(".")[0]) for each in asks or ())
                self.loads |= {each for each, top in tops if top not in TRUSTED}

    def bounds(
        self, distribution: str, given: Given, index: Index, transport: Transport
    ) -> list[str]:
        """Return the rows that say beside which releases of others those of a package import."""
        package, loader = self._loader(distribution)
        releases = {each.distribution: self.count(each, index) for each in PACKAGES}
        own = self.count(package, index, package.loads)

        def look(version: Version) -> Fits | None:
            asks = self._loaded(loader, package, version, index, transport)
            return None if asks is None else fits(asks, given, releases)

        return bound_rows(distribution, follow(own, look), own)

    def _loader(self, distribution: str) -> tuple[Package, Loader]:
        [package] = (each for each in PACKAGES if each.distribution == distribution)
        if distribution not in self._loaders:
            others = frozenset(each.module for each in PACKAGES if each.gives) - {package.module}
            self._loaders[distribution] = Loader(package.module, others, STARTS[distribution])
        return package, self._loaders[distribution]

    def _loaded(
        self, loader: Loader, package: Package, version: Version, index: Index, transport: Transport
    ) -> frozenset[Asked] | None:
        sources = self._sources(package, version, index, transport)
        what = f"{package.distribution} {version}"
        return self._tried(what, partial(loader.asks, sources)) if sources else None

    def count(self, package: Package, index: Index, loads: str = "") -> list[Version]:
        """Return the releases that are read, oldest first: no pre-releases, none withdrawn.

        `loads`: an older release to begin with.
        """
        first = Version(loads or package.first)
        yanked = {
            version: all(file.yanked for file in release.files)
            for version, release in index.releases(package.distribution).items()
            if version >= first and not version.is_prerelease
        }
        found = [version for version, is_gone in yanked.items() if not is_gone]
        if not loads:
            gone = [version for version, is_gone in yanked.items() if is_gone]
            self.versions[package.distribution] = found
            self.withdrawn[package.distribution] = gone
        return found

    def _sources(
        self, package: Package, version: Version, index: Index, transport: Transport
    ) -> Sources | None:
        release = index.releases(package.distribution)[version]
        opened = partial(open_sources, transport, release)
        return self._tried(f"{package.distribution} {version}", opened)

    def _tried(self, what: str, work: Callable[[], _T]) -> _T | None:
        try:
            return work()
        except (FetchError, WheelError) as error:
            self.unread.append(f"{what}: {error}")
            if isinstance(error, FetchError):
                self.failed.append(self.unread[-1])
            return None

    def _asked(self, sources: Sources, package: Package, modules: frozenset[str]) -> Seen | None:
        paths = list(_own(sources.digests, package))
        digests = sources.digests
        new = [path for path in paths if digests[path] not in self._texts]
        texts = self._tried(package.distribution, lambda: sources.read(new))
        if texts is None:
            return None
        for path, text in texts.items():
            self._texts[digests[path]] = asked_names(text, modules)
        every = [self._texts[digests[path]] for path in paths]
        sure = frozenset().union(*(each for each, _ in every))
        return sure, frozenset().union(*(each for _, each in every)) - sure


def _own(paths: Iterable[str], package: Package) -> Iterable[str]:
    """Yield the files of the package itself that its users run."""
    for path in paths:
        if path.startswith(f"{package.module}/") and not any(each in path for each in _ASIDE):
            yield path


def remote(package: Package) -> set[Asked]:
    """Return the names that code asks of a package which lies in no release that is read."""
    return {
        Asked(module, "" if name == MODULE else name)
        for module, names in remote_names().items()
        if module.partition(".")[0] == package.module
        for name in names
    }
