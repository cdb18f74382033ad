"""Which list of a project has a package: its dependencies, a group or an extra.

A tool that adds a release to the dependencies leaves the line of the group as it is, and the two
rule each other out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.source import open_source
from fadoctor.sources.probes.interpreter_files import is_file
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.syntax.toml_tree import read_toml

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
_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]{0,99})", re.ASCII)
# of what goes into a command
_PLAIN = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)

Lists = dict[str, tuple[str, ...]]


def project_lists(folder: Path, tool: str) -> Lists:
    """Return a tool's options for each package that only a group or an extra of a project has.

    Where the file cannot be read, none: the tool says what is wrong with it.
    """
    path = folder / "pyproject.toml"
    if tool not in _OPTIONS or not is_file(path):
        return {}
    found: Lists = {}
    try:
        tree = read_toml(open_source(str(path)))
        main = set(_dependencies(tree, tool))
        for kind, group, name in _listed(tree, tool):
            is_known = kind in _OPTIONS[tool] and (kind == _OLD or _PLAIN.fullmatch(group))
            if name not in main and is_known:
                found.setdefault(name, (*_OPTIONS[tool][kind], group))
    except (InputError, OSError):
        return {}
    return found


def _dependencies(tree: DataTree[Source], tool: str) -> Iterator[str]:
    yield from _names(tree.items(tree.root, "project", "dependencies"))
    if tool == "poetry":
        yield from map(normalise_name, tree.table(tree.root, "tool", tool, "dependencies"))


def _listed(tree: DataTree[Source], tool: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind and name of a list, and a package of it; tables of other tools say nothing."""
    root = tree.root
    old = tree.table(root, "tool", tool, "dev-dependencies") if tool == "pdm" else {}
    lists = (
        (_GROUP, tree.table(root, "dependency-groups")),
        (_GROUP, old),
        (_EXTRA, tree.table(root, "project", "optional-dependencies")),
    )
    for kind, groups in lists:
        for group, node in groups.items():
            for name in _names(tree.items(node)):
                yield kind, group, name
    if tool == "uv-project":
        for name in _names(tree.items(root, "tool", "uv", "dev-dependencies")):
            yield _OLD, "--dev", name
    if tool == "poetry":
        for group, node in tree.table(root, "tool", tool, "group").items():
            for name in tree.table(node, "dependencies"):
                yield _GROUP, group, normalise_name(name)


def _names(items: list[Node]) -> Iterator[str]:
    for item in items:
        if isinstance(item.value, str) and (found := _NAME.match(item.value)):
            yield normalise_name(found[1])
