"""``uv.lock``: every package with its version, its files and what it requires.

https://docs.astral.sh/uv/concepts/projects/layout/#the-lockfile describes it; it is TOML in one
form that uv alone writes, so lines of files that nobody asks about are left out before parsing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fadoctor.manifests.planned import Manifest, Requirement, Setting
from fadoctor.manifests.requirement_text import file_of
from fadoctor.manifests.toml_text import Places, parse_toml
from fadoctor.model.catalogue import BYSTANDERS, PACKAGES
from fadoctor.model.fact import printable
from fadoctor.probes.metadata import clean_url, is_version, normalise_name

if TYPE_CHECKING:
    from fadoctor.manifests.source import Source

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
_STACK = frozenset(
    name for key, names in PACKAGES.items() if key not in BYSTANDERS for name in names
)
_BY_DEFAULT = "dev"
"""The group that uv installs without being asked."""

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
        elif name not in _STACK and line[:1] in " s" and _FILE.fullmatch(line.rstrip()):
            lines[index] = ""
    return "\n".join(lines)


class _Reading:
    """One lock, read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.data = parse_toml(source, _without_files(source.text))
        self.places = Places(source)
        self.roots: list[str] = []
        self.extras: dict[str, None] = {}
        self.groups: dict[str, None] = {}

    def manifest(self) -> Manifest:
        version = self.data.get("version")
        if version not in FORMATS:
            raise self._error(f"a format that is not known: {version!r}"[:80], "version")
        packages = self.data.get("package", [])
        if not isinstance(packages, list):
            raise self._error("is no array of tables", "package")
        found = [self._package(index, each) for index, each in enumerate(packages)]
        python = self.data.get("requires-python")
        at = self.places.of("requires-python")
        return Manifest(
            self.source.name,
            KIND,
            tuple(each for each in found if each is not None),
            is_complete=True,
            python=Setting(python, at) if isinstance(python, str) else None,
            roots=tuple(dict.fromkeys(self.roots)),
            notes=self._notes(),
            extras=tuple(self.extras),
            groups=tuple(self.groups),
            choice=self.source.choice,
        )

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

    def _error(self, problem: str, key: str) -> Exception:
        return self.source.error(problem, line=self.places.of(key).line, key=key)

    def _package(self, index: int, table: Any) -> Requirement | None:
        key = f"package[{index}]"
        if not isinstance(table, dict):
            raise self._error("is no table", key)
        name, version, origin = (table.get(part) for part in ("name", "version", "source"))
        if not isinstance(name, str) or not _NAME.fullmatch(f'name = "{name}"'):
            raise self._error("has no name that is one", f"{key}.name")
        if not isinstance(origin, dict):
            raise self._error("says not where it comes from", f"{key}.source")
        needs = self._dependencies(table.get("dependencies"), f"{key}.dependencies")
        if any(part in origin for part in _ROOTS):
            self._root(table, needs, key)
            if "directory" not in origin or _is_workspace(table):
                return None
        needs += self._extras(table, key)
        if version is not None and not (isinstance(version, str) and is_version(version)):
            raise self._error("is no version", f"{key}.version")
        wheels = table.get("wheels", [])
        files = [
            _text(file, "url", "path", "filename") for file in wheels if isinstance(file, dict)
        ]
        markers = [m for m in table.get("resolution-markers", []) if isinstance(m, str)]
        return Requirement(
            normalise_name(name),
            self.places.of(f"{key}.version" if version else f"{key}.name"),
            f"=={version}" if version else "",
            url=clean_url(_text(origin, "url", "git", "path")),
            marker=" or ".join(f"({marker})" for marker in markers),
            index=clean_url(_text(origin, "registry")),
            files=tuple(dict.fromkeys(file_of(file) for file in files if file)),
            requires=needs,
        )

    def _root(self, table: dict[str, Any], needs: tuple[str, ...], key: str) -> None:
        """Take what a project itself requires, with the extras and groups that count."""
        self.roots += needs
        for part, kind, names in (
            ("optional-dependencies", "extra", self.extras),
            ("dev-dependencies", "group", self.groups),
        ):
            groups = table.get(part, {})
            for group, items in groups.items() if isinstance(groups, dict) else ():
                names[group] = None
                found = self._dependencies(items, f"{key}.{part}.{group}")
                self.roots += found if self._is_chosen(kind, group) else ()

    def _extras(self, table: dict[str, Any], key: str) -> tuple[str, ...]:
        """Return what the extras of a package require, with the marker that says so."""
        groups = table.get("optional-dependencies", {})
        found: list[str] = []
        for extra, items in groups.items() if isinstance(groups, dict) else ():
            only = f"extra == '{normalise_name(extra)}'"
            for text in self._dependencies(items, f"{key}.optional-dependencies.{extra}"):
                name, _, marker = text.partition(" ; ")
                found.append(f"{name} ; ({marker}) and {only}" if marker else f"{name} ; {only}")
        return tuple(found)

    def _dependencies(self, items: Any, key: str) -> tuple[str, ...]:
        """Return dependencies as PEP 508 strings, in the version that the lock names for them."""
        if items is None:
            return ()
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            raise self._error("is no list of packages", key)
        return tuple(text for each in items if (text := _as_text(each)))


def _is_workspace(table: dict[str, Any]) -> bool:
    return "metadata" in table


def _as_text(item: dict[str, Any]) -> str:
    name, version, marker = (item.get(part) for part in ("name", "version", "marker"))
    if not isinstance(name, str):
        return ""
    extras = [each for each in item.get("extra", []) if isinstance(each, str)]
    text = normalise_name(name) + (f"[{','.join(extras)}]" if extras else "")
    text += f"=={version}" if isinstance(version, str) else ""
    return f"{text} ; {marker}" if isinstance(marker, str) else text


def _text(table: dict[str, Any], *keys: str) -> str:
    return next((value for key in keys if isinstance(value := table.get(key), str)), "")
