"""``pyproject.toml``: what the project and its tool ask for; the standard part is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.manifests.chosen import PIP, UV_PIP
from fadoctor.sources.manifests.draft import Draft, listed_in, only_named
from fadoctor.sources.manifests.entries import all_of, pep508, specifier
from fadoctor.sources.manifests.formats.listed_beside import dynamic_lists
from fadoctor.sources.manifests.formats.pixi_toml import read_pixi
from fadoctor.sources.manifests.formats.pyproject_hatch import read_hatch
from fadoctor.sources.manifests.formats.pyproject_pdm import builds_beside, read_pdm
from fadoctor.sources.manifests.formats.pyproject_poetry import read_poetry
from fadoctor.sources.manifests.formats.pyproject_uv import built_apart, read_uv, uv_groups
from fadoctor.sources.manifests.installed.isolated import PDM, POETRY, marked
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest, Requirement
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND = "pyproject.toml"
_GROUP_DEPTH = 16


def recognises(name: str, _head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND or name.endswith("." + KIND)


def read(source: Source) -> Manifest:
    """Return what is asked for, with the extras and groups that were chosen."""
    tree = read_toml(source)
    draft = Draft(source, KIND)
    root = tree.root
    _project(draft, tree)
    choice = source.choice
    if not choice.is_for_package:
        _groups(draft, tree)
    for tool, reader in (
        ("poetry", read_poetry),
        ("uv", read_uv),
        ("pdm", read_pdm),
        ("pixi", read_pixi),
    ):
        if choice.is_for_package and tool not in _OF_PACKAGE[choice.installer]:
            continue
        node = tree.find(root, "tool", tool)
        if node is not None:
            reader(draft, tree, node)
    # pixi has settings of its own for it
    if tree.find(root, "tool", "pixi") is None and not builds_beside(source, tree):
        draft.requirements = marked(
            draft.requirements,
            built_apart(tree),
            is_always=not _TOOLS.isdisjoint(tree.table(tree.root, "tool")),
            tool=_tool(tree),
        )
    read_hatch(draft, tree)
    return draft.manifest()


_OF_PACKAGE = {PIP: ("poetry",), UV_PIP: ("poetry", "uv")}
"""Installer -> the tables that it, or the build of the project, heeds."""
_TOOLS = frozenset(("uv", "poetry", "pdm"))
"""Tables of tools that build every package in isolation, whatever is there."""


def _tool(tree: ManifestTree) -> str:
    """Return whose project it is, where that tool alone decides how packages are built."""
    tools = tree.table(tree.root, "tool")
    if "uv" in tools:
        return ""
    return POETRY if "poetry" in tools else PDM if "pdm" in tools else ""


def _project(draft: Draft, tree: ManifestTree) -> None:
    root = tree.root
    draft.requirements += [
        pep508(tree, item) for item in tree.items(root, "project", "dependencies")
    ]
    _extras(draft, tree)
    python = tree.find(root, "project", "requires-python")
    if python is not None:
        draft.python = Setting(specifier(tree, python), tree.place(python))
    dynamic = [tree.as_text(item) for item in tree.items(root, "project", "dynamic")]
    if "dependencies" in dynamic and tree.find(root, "tool", "poetry") is None:
        dynamic_lists(draft, tree)


def _extras(draft: Draft, tree: ManifestTree) -> None:
    """Take the extras that were chosen, with those that they name themselves; note the others."""
    own = normalise_name(tree.text(tree.root, "project", "name"))
    extras = {
        name: listed_in((pep508(tree, item) for item in tree.items(node)), "extra", name)
        for name, node in tree.table(tree.root, "project", "optional-dependencies").items()
    }
    by_name = {normalise_name(name): asked for name, asked in extras.items()}
    chosen = [name for name in extras if draft.takes_extra(name)]
    taken = set(map(normalise_name, chosen))
    todo = [(each, "") for name in chosen for each in extras[name]]
    while todo:
        each, condition = todo.pop(0)
        marker = all_of(condition, each.marker)
        if each.name != own:
            draft.requirements.append(msgspec.structs.replace(each, marker=marker))
            continue
        fresh = [name for name in map(normalise_name, each.extras) if name not in taken]
        taken.update(fresh)
        todo += [(wish, marker) for name in fresh for wish in by_name.get(name, ())]
    for name, node in tree.table(tree.root, "project", "optional-dependencies").items():
        if normalise_name(name) not in taken:
            draft.aside += extras[name]
            asked = [each.name for each in extras[name]]
            only_named(draft, node.line, f"the extra {name}", asked)


def _groups(draft: Draft, tree: ManifestTree) -> None:
    """Take the groups that uv installs by default and those that were chosen; note the others."""
    groups = tree.table(tree.root, "dependency-groups")
    default = uv_groups(tree)
    for name, node in groups.items():
        asked = listed_in(_group(tree, groups, node, ()), "group", name)
        if draft.takes_group(name) or name in default:
            draft.requirements += asked
        else:
            draft.aside += asked
            only_named(draft, node.line, f"the group {name}", [each.name for each in asked])


def _group(
    tree: ManifestTree, groups: dict[str, Node], node: Node, within: tuple[int, ...]
) -> list[Requirement]:
    """Return what a group asks for, with the groups that it includes."""
    if id(node) in within or len(within) > _GROUP_DEPTH:
        raise tree.error(node, "includes itself")
    found = []
    for item in tree.items(node):
        if not isinstance(item.value, dict):
            found.append(pep508(tree, item))
            continue
        included = groups.get(tree.text(item, "include-group"))
        if included is None:
            raise tree.error(item, "includes a group that is not there")
        found += _group(tree, groups, included, (*within, id(node)))
    return found
