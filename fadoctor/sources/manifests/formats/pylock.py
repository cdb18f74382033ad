"""``pylock.toml``: the lock of PEP 751, as pip and uv write it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.entries import distribution, exactly, marker, specifier
from fadoctor.sources.manifests.formats.poetry_lock import wheels
from fadoctor.sources.manifests.planned import UNASKED, Requirement, Setting
from fadoctor.sources.probes.metadata import clean_url
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND = "pylock.toml"
_NAME = re.compile(r"pylock(?:\.[^.]{1,200})?\.toml")
# 'dev' in dependency_groups, "cuda" not in extras
_MEMBER = re.compile(
    r"""(?P<quote>["'])(?P<name>[^"']{1,100})(?P=quote)\s{1,20}(?P<not>not\s{1,20})?in\s{1,20}(?P<set>extras|dependency_groups)\b"""
)
_ALWAYS, _NEVER = "python_version > '0'", "python_version < '0'"


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one, by its name, as the standard has it."""
    return _NAME.fullmatch(name) is not None or (
        name.endswith(".toml") and "\nlock-version =" in f"\n{head}" and "created-by" in head
    )


def read(source: Source) -> Manifest:
    """Return every package, with markers for no extra and the default groups."""
    tree = read_toml(source)
    draft = Draft(source, KIND)
    draft.is_complete = True
    members = _members(draft, tree)
    for item in tree.items(tree.root, "packages"):
        draft.requirements.append(_package(tree, item, members))
    python = tree.find(tree.root, "requires-python")
    if python is not None:
        draft.python = Setting(specifier(tree, python), tree.place(python))
    for extra in tree.items(tree.root, "extras"):
        if (said := tree.as_text(extra)) not in members["extras"]:
            line = tree.place(extra).line
            draft.note(line, f"the extra {said}{UNASKED}; --extra {said} takes it")
    return draft.manifest()


def _members(draft: Draft, tree: ManifestTree) -> dict[str, set[str]]:
    """Return the extras and the groups that markers ask for: chosen ones, and default groups."""
    extras, groups, default = (
        [tree.as_text(each) for each in tree.items(tree.root, key)]
        for key in ("extras", "dependency-groups", "default-groups")
    )
    return {
        "extras": {name for name in extras if draft.takes_extra(name)},
        "dependency_groups": {*default, *(name for name in groups if draft.takes_group(name))},
    }


def _package(tree: ManifestTree, item: Node, members: dict[str, set[str]]) -> Requirement:
    name = tree.find(item, "name")
    if name is None:
        raise tree.error(item, "a package without a name")
    version = tree.find(item, "version")
    return Requirement(
        name=distribution(tree, name, tree.as_text(name)),
        place=tree.place(name),
        specifier=exactly(tree, version) if version is not None else "",
        marker=_marker(tree, item, members),
        index=clean_url(tree.text(item, "index")),
        files=wheels(tree, tree.items(item, "wheels"), "name", "url", "path"),
        **_origin(tree, item),
    )


def _marker(tree: ManifestTree, item: Node, members: dict[str, set[str]]) -> str:
    """Return a marker in which extras and groups are settled: older readers do not know them."""
    found = tree.find(item, "marker")
    if found is None:
        return ""

    def settled(member: re.Match[str]) -> str:
        is_in = member["name"] in members[member["set"]]
        return _ALWAYS if is_in is not bool(member["not"]) else _NEVER

    text = _MEMBER.sub(settled, tree.as_text(found))
    return marker(tree, found) if text == found.value else text


def _origin(tree: ManifestTree, item: Node) -> dict[str, Any]:
    vcs, folder = tree.find(item, "vcs"), tree.find(item, "directory")
    if vcs is not None:
        url, kind = tree.text(vcs, "url") or tree.text(vcs, "path"), tree.text(vcs, "type")
        return {"url": f"{kind}+{clean_url(url)}@{tree.text(vcs, 'commit-id')}"}
    archive = tree.find(item, "archive")
    url = tree.text(archive, "url") or tree.text(archive, "path") or tree.text(folder, "path")
    return {"url": clean_url(url) if "://" in url else url}
