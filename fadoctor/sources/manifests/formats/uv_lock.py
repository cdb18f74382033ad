"""``uv.lock``: every package with its version, its files and what it requires.

https://docs.astral.sh/uv/concepts/projects/layout/#the-lockfile describes it; it is TOML in one
form that uv alone writes, so lines of files that nobody asks about are left out before parsing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable
from fadoctor.model.packages import STACK
from fadoctor.sources.manifests.entries import exactly, setting
from fadoctor.sources.manifests.formats.pyproject_uv import built_apart
from fadoctor.sources.manifests.installed.isolated import marked
from fadoctor.sources.manifests.planned import Manifest, Requirement
from fadoctor.sources.manifests.requirement_text import file_of
from fadoctor.sources.probes.metadata import clean_url, normalise_name
from fadoctor.sources.probes.requires import holds_nowhere
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.source import Source
    from fadoctor.syntax.tree import Node

KIND = "uv.lock"
PACKAGE_LIMIT = 3_000
"""Packages of one lock: of one environment there are hundreds."""

FORMATS = (1,)
"""Versions of the format that are known."""

_NAME = re.compile(r'name = "([A-Za-z0-9][A-Za-z0-9._-]{0,99})"')
# `    { url = "https://.../x.whl", hash = "sha256:...", size = 1 },` and `sdist = { url = ...}`
_FILE = re.compile(
    r'(?:    |sdist = )\{ (?:url|path|filename) = "[^"\\]{1,2000}"[^{}\[\]\\]{0,1000}\},?'
)
_BY_DEFAULT = "dev"
"""The group that uv installs without being asked."""

_KEPT_OUT = "the lock leaves it to what is there before"
"""Why nobody knows what will be there of a package that the project keeps out of its lock."""

_ADDRESSES = ("url", "path", "filename")
_ROOTS = ("virtual", "editable", "directory")
"""Sources of projects: what the lock was made for, and its workspace."""


def recognises(name: str, head: str) -> bool:
    """Whether a file is uv's lock, or a copy of one with another name."""
    return name == KIND or (
        name.endswith(".lock") and "[[package]]" in head and "revision = " in head
    )


def read(source: Source) -> Manifest:
    """Return what a lock holds; InputError with line and key where it is none."""
    count = source.text.count("[[package]]")
    if count > PACKAGE_LIMIT:
        raise source.error(f"more than {PACKAGE_LIMIT:,} packages: {count:,}")
    reading = _Reading(source)
    return reading.manifest()


def _without_files(text: str) -> str:
    """Return the text with the same lines, without those of files of packages outside the stack."""
    lines, name = text.split("\n"), ""
    for index, line in enumerate(lines):
        if line.startswith("name = ") and (found := _NAME.fullmatch(line.rstrip())):
            name = found[1]
        elif name not in STACK and line[:1] in " s" and _FILE.fullmatch(line.rstrip()):
            lines[index] = ""
    return "\n".join(lines)


def _built_apart(source: Source) -> set[str] | None:
    """Return what the project beside builds with torch in it; None where nobody knows."""
    with suppress(InputError):
        if _TOLD.search(source.read_beside("uv.toml").text):
            return None
    try:
        return built_apart(read_toml(source.read_beside("pyproject.toml")))
    except InputError:
        return None


_TOLD = re.compile(r"no-build-isolation|extra-build-dependencies")


class _Reading:
    """One lock, read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        text = _without_files(source.text)
        self.tree = read_toml(msgspec.structs.replace(source, text=text))
        self.roots: list[str] = []
        self.extras: dict[str, None] = {}
        self.groups: dict[str, None] = {}

    def manifest(self) -> Manifest:
        tree = self.tree
        version, python = (tree.find(tree.root, key) for key in ("version", "requires-python"))
        if version is None or version.value not in FORMATS:
            said = version.value if version is not None else None
            raise self._error(version, f"a format that is not known: {said!r}"[:80], "version")
        found = [self._package(each) for each in tree.items(tree.root, "package")]
        packages = [each for each in found if each is not None]
        packages += self._left_out()
        apart = _built_apart(self.source)
        return Manifest(
            self.source.name,
            KIND,
            tuple(packages if apart is None else marked(packages, apart)),
            is_complete=True,
            python=setting(tree, python) if python is not None else None,
            roots=tuple(dict.fromkeys(self.roots)),
            notes=self._notes(),
            extras=tuple(self.extras),
            groups=tuple(self.groups),
            choice=self.source.choice,
        )

    def _left_out(self) -> Iterator[Requirement]:
        """Yield what the project keeps out of its lock, though packages in it require it.

        An override with a marker that never holds does so, and a list of exclusions: an image has
        its own torch, and nothing may replace that.
        """
        tree = self.tree
        kept_out: dict[str, Node] = {}
        held = tree.find(tree.root, "manifest")
        if held is None:
            return
        for each in tree.items(held, "overrides"):
            if holds_nowhere(tree.text(each, "marker")):
                kept_out.setdefault(normalise_name(tree.text(each, "name")), each)
        for each in tree.items(held, "excludes"):
            kept_out.setdefault(normalise_name(tree.as_text(each)), each)
        for name, node in kept_out.items():
            if name in STACK:
                self.roots += [name] if self.roots else []
                yield Requirement(name, tree.place(node), doubt=_KEPT_OUT)

    def _notes(self) -> tuple[str, ...]:
        """Say what of extras and groups counts: by itself a lock does not say which are wanted."""
        offered = [f"--extra {name}" for name in self.extras]
        offered += [f"--group {name}" for name in self.groups if name != _BY_DEFAULT]
        said = f"{self.source.name}: counts with all its extras and groups; to choose"
        if self.source.choice.is_made:
            offered = [name for name in self.extras if not self._is_chosen("extra", name)]
            offered += [name for name in self.groups if not self._is_chosen("group", name)]
            said = f"{self.source.name}: not chosen"
        shown = ", ".join(offered[:12]) + (" and more" if len(offered) > 12 else "")
        return (printable(f"{said}: {shown}", 500),) if offered else ()

    def _is_chosen(self, kind: str, name: str) -> bool:
        """Say whether an extra or a group counts; uv takes `dev` where nothing says otherwise."""
        choice = self.source.choice
        if not choice.is_made or (kind == "group" and name == _BY_DEFAULT):
            return True
        return normalise_name(name) in (choice.extras if kind == "extra" else choice.groups)

    def _error(self, node: Node | None, problem: str, key: str = "") -> Exception:
        if node is None:
            return self.source.error(problem, line=1, key=key)
        return self.tree.error(node, problem)

    def _package(self, item: Node) -> Requirement | None:
        tree = self.tree
        name, version, origin = (tree.find(item, key) for key in ("name", "version", "source"))
        if name is None or not _NAME.fullmatch(f'name = "{tree.as_text(name)}"'):
            raise self._error(name or item, "has no name that is one")
        if origin is None or not isinstance(origin.value, dict):
            raise self._error(origin or item, "does not say its source")
        needs = self._dependencies(tree.items(item, "dependencies"))
        if any(part in origin.value for part in _ROOTS):
            self._root(item, needs)
            if "directory" not in origin.value or tree.find(item, "metadata") is not None:
                return None
        needs += self._extras(item)
        markers = [tree.as_text(each) for each in tree.items(item, "resolution-markers")]
        url = tree.text(origin, "url") or tree.text(origin, "git") or tree.text(origin, "path")
        return Requirement(
            normalise_name(tree.as_text(name)),
            tree.place(version or name),
            exactly(tree, version) if version is not None else "",
            url=clean_url(url),
            marker=" or ".join(f"({marker})" for marker in markers),
            index=clean_url(tree.text(origin, "registry")),
            files=tuple(dict.fromkeys(self._files(item))),
            requires=needs,
        )

    def _files(self, item: Node) -> Iterator[str]:
        """Yield the names of the wheels: by address, path, or as they are."""
        for file in self.tree.items(item, "wheels"):
            text = next(filter(None, (self.tree.text(file, key) for key in _ADDRESSES)), "")
            if text:
                yield file_of(text)

    def _root(self, item: Node, needs: tuple[str, ...]) -> None:
        """Take what a project itself requires, with the extras and groups that count."""
        self.roots += needs
        for part, kind, names in (
            ("optional-dependencies", "extra", self.extras),
            ("dev-dependencies", "group", self.groups),
        ):
            for group, items in self.tree.table(item, part).items():
                names[group] = None
                found = self._dependencies(self.tree.items(items))
                self.roots += found if self._is_chosen(kind, group) else ()

    def _extras(self, item: Node) -> tuple[str, ...]:
        """Return what the extras of a package require, with the marker that says so."""
        found: list[str] = []
        for extra, items in self.tree.table(item, "optional-dependencies").items():
            only = f"extra == '{normalise_name(extra)}'"
            for text in self._dependencies(self.tree.items(items)):
                name, _, marker = text.partition(" ; ")
                found.append(f"{name} ; ({marker}) and {only}" if marker else f"{name} ; {only}")
        return tuple(found)

    def _dependencies(self, items: list[Node]) -> tuple[str, ...]:
        """Return dependencies as PEP 508 strings, in the version that the lock names for them."""
        return tuple(text for each in items if (text := self._dependency(each)))

    def _dependency(self, item: Node) -> str:
        tree = self.tree
        name, version, marker = (tree.text(item, key) for key in ("name", "version", "marker"))
        if not name:
            return ""
        extras = [tree.as_text(each) for each in tree.items(item, "extra")]
        text = normalise_name(name) + (f"[{','.join(extras)}]" if extras else "")
        text += f"=={version}" if version else ""
        return f"{text} ; {marker}" if marker else text
