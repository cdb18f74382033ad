"""Hold calls and watched entry points against the sources of releases of the package index.

Usage: python -m tools.signatures [--offline] [--cache DIR] [--index-url URL] [--git DIR]
       [PACKAGE]...

calls.yaml says which call of which script is meant, and which releases are read: of wheels a few
ranges, of small source distributions the whole. What the index does not have is read at tags of
repositories, cloned below the folder that --git names: DIR/owner+name. Nothing of them is run.
Prints a line for each function and release that came out otherwise than it should, then the
counts; ends with 1 where a call does not fit a release, or an entry point names a parameter that no
release has.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import yaml
from packaging.version import Version

from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.processes.command import Command
from fadoctor.processes.run import run
from fadoctor.proof import smoke
from tools.refresh.cli import _cache_folder
from tools.refresh.errors import FetchError, RefreshError, WheelError
from tools.refresh.index import Index
from tools.refresh.names.anew import REQUESTS
from tools.refresh.names.archive import open_sources
from tools.refresh.settings import read_settings, settings_for
from tools.refresh.transport import Transport
from tools.signatures.held import Call, Entry, Held

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools.refresh.names.archive import Sources

CHILD = Path(smoke.__file__).parent / "child"

GIT_S = 30.0
"""Longest time for one file of a repository."""

CALLS = Path(__file__).with_name("calls.yaml")


class Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a package is developed that the index does not have."""

    repository: str
    tags: tuple[str, ...]
    """Tags, or VERSION@COMMIT where a release, or a day, has none."""
    folder: str = ""
    """What its modules are below."""


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What calls.yaml holds."""

    releases: dict[str, tuple[str, ...]]
    repositories: dict[str, Repository]
    calls: tuple[Call, ...]


def read_calls() -> Document:
    """Return what is to be held against which releases."""
    found: Document = msgspec.convert(
        yaml.load(CALLS.read_text("utf-8"), yaml.BaseLoader),  # noqa: S506 -- texts alone
        Document,
        strict=False,
    )
    return found


def watched_entries() -> tuple[Entry, ...]:
    """Return the entry points that trace watches, out of the table of them."""
    return tuple(Entry.of(row) for row in load_apart()["attention-entry-points"].rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return 0, 1 where something does not fit, 2 for wrong usage or no index."""
    options = _parser().parse_args(argv)
    try:
        settings = settings_for(tuple(options.index_url)) if options.index_url else read_settings()
        transport = Transport(settings, options.cache, offline=options.offline, requests=REQUESTS)
        index = Index(transport, settings.indexes)
        document = read_calls()
        held = Held(document.calls, watched_entries(), CHILD)
        for package, versions in document.releases.items():
            if not options.packages or package in options.packages:
                for version in versions:
                    _hold(held, index, transport, package, version)
        for package, repository in document.repositories.items():
            if not options.packages or package in options.packages:
                _hold_tags(held, options.git, package, repository)
    except (RefreshError, OSError) as error:
        sys.stderr.write(f"signatures: {error}\n")
        return 2
    lines = held.report()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stderr.write(f"{transport.requests} requests, {transport.received >> 20} MiB\n")
    return 1 if held.wrong() else 0


def _hold(held: Held, index: Index, transport: Transport, package: str, version: str) -> None:
    release = index.releases(package).get(Version(version))
    if release is None:
        held.unread.append(f"{package} {version}: not in the index")
        return
    try:
        sources = open_sources(transport, release)
        held.release(package, version, _reader(sources))
    except (FetchError, WheelError) as error:
        held.unread.append(f"{package} {version}: {error}")


def _hold_tags(held: Held, folder: Path | None, package: str, repository: Repository) -> None:
    if folder is None:
        held.unread.append(f"{package}: not in the index; --git names the folder of its repository")
        return
    clone = _clone(folder, repository.repository)
    for tag in repository.tags:
        version, _, commit = tag.partition("@")
        reader = _tag_reader(clone, commit or tag, repository.folder)
        held.release(package, version.removeprefix("v"), reader)


def _clone(folder: Path, name: str) -> Path:
    """Return the git directory of a repository: DIR/owner+name, or what lies in it."""
    clone = folder / name.replace("/", "+")
    inner = clone / "repo"
    return inner if inner.is_dir() else clone


def _tag_reader(clone: Path, tag: str, folder: str) -> Callable[[str], str | None]:
    """Return what gives the text of a file at a tag, None where there is none."""

    def read(path: str) -> str | None:
        place = f"{tag}:{folder}/{path}" if folder else f"{tag}:{path}"
        shown = run(Command(("git", "-C", str(clone), "show", place), GIT_S))
        return shown.stdout if shown.ok else None

    return read


def _reader(sources: Sources) -> Callable[[str], str | None]:
    """Return what gives the text of a file of a release, None where there is none."""
    texts: dict[str, str] = {}

    def read(path: str) -> str | None:
        if path not in sources.digests and path not in sources.stubs:
            return None
        if path not in texts:
            texts.update(sources.read([path]))
        return texts[path]

    return read


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.signatures", description=__doc__)
    add = parser.add_argument
    add("packages", nargs="*", metavar="PACKAGE", help="only these")
    add("--offline", action="store_true", help="use the folder only, however old it is")
    add("--cache", type=Path, default=_cache_folder(), metavar="DIR", help="the folder")
    add("--git", type=Path, metavar="DIR", help="the folder of cloned repositories")
    add("--index-url", action="append", metavar="URL", help="instead of what pip is configured for")
    return parser
