"""``Pipfile`` and ``Pipfile.lock``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.sources.manifests.draft import Draft, only_named
from fadoctor.sources.manifests.entries import (
    address,
    all_of,
    distribution,
    index_setting,
    marker,
    repository,
    specifier,
)
from fadoctor.sources.manifests.installed.isolated import PIPENV, marked, marked_by_new
from fadoctor.sources.manifests.planned import Requirement, Setting
from fadoctor.sources.manifests.yaml_tree import read_yaml
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND, LOCK = "Pipfile", "Pipfile.lock"
_DEFAULT = frozenset(("packages", "default"))
_GROUPS = {"dev-packages": "dev", "develop": "dev"}
_NO_CATEGORY = frozenset(("_meta", "requires", "scripts", "pipenv", "source"))
_CONDITIONS = (
    "sys_platform",
    "platform_system",
    "platform_machine",
    "python_version",
    "python_full_version",
    "os_name",
    "implementation_name",
    "platform_python_implementation",
)


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one of both, by its name or by what pipenv writes first."""
    return name in {KIND, LOCK} or (
        head.lstrip().startswith("{") and '"_meta"' in head and '"pipfile-spec"' in head
    )


def read(source: Source) -> Manifest:
    """Return the packages of the default category and of those that were chosen."""
    is_lock = source.head.lstrip().startswith("{") or source.name.endswith(LOCK)
    draft = Draft(source, LOCK if is_lock else KIND)
    draft.is_complete = is_lock
    # pipenv writes JSON, which is YAML
    tree = read_yaml(source) if is_lock else read_toml(source)
    meta = tree.find(tree.root, "_meta") if is_lock else tree.root
    indexes = _indexes(draft, tree, meta, "sources" if is_lock else "source")
    for category, node in tree.as_table(tree.root).items():
        if category in _NO_CATEGORY:
            continue
        group, asked = _GROUPS.get(category, category), tree.table(node)
        if category in _DEFAULT or draft.takes_group(group):
            for name, wish in asked.items():
                draft.requirements.append(_package(tree, name, wish, indexes))
        else:
            only_named(draft, node.line, f"the group {group}", list(asked))
    _python(draft, tree, meta)
    if is_lock:
        draft.requirements = marked_by_new(draft.requirements)
    else:
        draft.requirements = marked(draft.requirements, is_always=True, tool=PIPENV)
    return draft.manifest()


def _indexes(draft: Draft, tree: ManifestTree, meta: Node | None, key: str) -> dict[str, str]:
    named = {}
    for item in tree.items(meta, key):
        url = tree.find(item, "url")
        if url is None:
            raise tree.error(item, "a source without a url")
        found = index_setting(tree, url)
        named[tree.text(item, "name")] = found.value
        draft.indexes.append(found)
    return named


def _python(draft: Draft, tree: ManifestTree, meta: Node | None) -> None:
    full = tree.find(meta, "requires", "python_full_version")
    short = tree.find(meta, "requires", "python_version")
    if full is not None:
        draft.python = Setting(f"=={tree.as_text(full)}", tree.place(full))
    elif short is not None:
        draft.python = Setting(f"=={tree.as_text(short)}.*", tree.place(short))


def _package(tree: ManifestTree, name: str, node: Node, indexes: dict[str, str]) -> Requirement:
    name, place = distribution(tree, node, name), tree.place(node)
    if not isinstance(node.value, dict):
        return Requirement(name, place, specifier(tree, node))
    version, index = tree.find(node, "version"), tree.text(node, "index")
    fields: dict[str, Any] = {}
    if git := tree.text(node, "git"):
        fields = repository(tree, node, git)
    elif at := tree.text(node, "file") or tree.text(node, "path"):
        fields = address(at)
    if version is not None:
        fields["specifier"] = specifier(tree, version)
        place = tree.place(version)
    return Requirement(
        name=name,
        place=place,
        marker=_marker(tree, node),
        extras=tuple(sorted(tree.as_text(each) for each in tree.items(node, "extras"))),
        index=indexes.get(index, ""),
        is_only_index=index in indexes,
        **fields,
    )


def _marker(tree: ManifestTree, node: Node) -> str:
    """Return all conditions: ``markers``, and keys such as ``sys_platform = "== 'win32'"``."""
    written = tree.find(node, "markers")
    parts = [marker(tree, written)] if written is not None else []
    parts += [f"{key} {said}" for key in _CONDITIONS if (said := tree.text(node, key))]
    return all_of(*parts)
