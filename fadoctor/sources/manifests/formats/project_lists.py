"""Which lists of a project have a package: its dependencies, groups and extras.

A tool that adds a release to the dependencies leaves the line of the group as it is, and the two
rule each other out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.sources.probes.interpreter_files import is_file
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fadoctor.sources.manifests.source import Source
    from fadoctor.syntax.data_tree import DataTree
    from fadoctor.syntax.tree import Node

_GROUP, _EXTRA, _OLD = "group", "extra", "old"
_OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "uv-project": {_GROUP: ("--group",), _EXTRA: ("--optional",), _OLD: ()},
    "poetry": {_GROUP: ("--group",), _EXTRA: ("--optional",)},
    "pdm": {_GROUP: ("--dev", "--group"), _EXTRA: ("--group",)},
}
"""Tool -> kind of list -> the options before its name."""
# peft[diffusers]==0.17.0; sys_platform == "linux"
_NAME = re.compile(
    r"\s*([A-Za-z0-9][\w.-]{0,99})\s*(?:\[[^\]]{0,200}\])?\s*\(?([<>=!~][^;)]{0,200})?", re.ASCII
)
# of what goes into a command
_PLAIN = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)


class Listed(msgspec.Struct, frozen=True):
    """One list that has a package."""

    options: tuple[str, ...] = ()
    """A tool's options that name it; none for the dependencies."""
    specifier: str = ""


Lists = dict[str, tuple[Listed, ...]]


def project_lists(folder: Path, tool: str) -> Lists:
    """Return the lists of a project that have each package, its dependencies first.

    Where the file cannot be read, none: the tool says what is wrong with it.
    """
    path = folder / "pyproject.toml"
    if tool not in _OPTIONS or not is_file(path):
        return {}
    # Late: where no tool manages a project, no file of one is read.
    from fadoctor.sources.manifests.source import open_source  # noqa: PLC0415
    from fadoctor.syntax.toml_tree import read_toml  # noqa: PLC0415

    found: Lists = {}
    try:
        tree = read_toml(open_source(str(path)))
        for name, specifier in _dependencies(tree, tool):
            found.setdefault(name, (Listed((), specifier),))
        for kind, group, name, specifier in _listed(tree, tool):
            if kind in _OPTIONS[tool] and (kind == _OLD or _PLAIN.fullmatch(group)):
                here = Listed((*_OPTIONS[tool][kind], group), specifier)
                found[name] = (*found.get(name, ()), here)
    except (InputError, OSError):
        return {}
    return found


def _dependencies(tree: DataTree[Source], tool: str) -> Iterator[tuple[str, str]]:
    yield from _names(tree.items(tree.root, "project", "dependencies"))
    if tool == "poetry":
        for name in tree.table(tree.root, "tool", tool, "dependencies"):
            yield normalise_name(name), ""


def _listed(tree: DataTree[Source], tool: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind and name of a list, and a package in it; tables of other tools say nothing."""
    root = tree.root
    old = tree.table(root, "tool", tool, "dev-dependencies") if tool == "pdm" else {}
    lists = (
        (_GROUP, tree.table(root, "dependency-groups")),
        (_GROUP, old),
        (_EXTRA, tree.table(root, "project", "optional-dependencies")),
    )
    for kind, groups in lists:
        for group, node in groups.items():
            for name, specifier in _names(tree.items(node)):
                yield kind, group, name, specifier
    if tool == "uv-project":
        for name, specifier in _names(tree.items(root, "tool", "uv", "dev-dependencies")):
            yield _OLD, "--dev", name, specifier
    if tool == "poetry":
        for group, node in tree.table(root, "tool", tool, "group").items():
            for name in tree.table(node, "dependencies"):
                yield _GROUP, group, normalise_name(name), ""


def _names(items: list[Node]) -> Iterator[tuple[str, str]]:
    """Yield name and specifier of requirements."""
    for item in items:
        if isinstance(item.value, str) and (found := _NAME.match(item.value)):
            yield normalise_name(found[1]), (found[2] or "").strip()
