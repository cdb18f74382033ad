"""``pixi.toml`` and ``[tool.pixi]``: packages of conda and of PyPI, by feature and platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.packages import SETUPS
from fadoctor.sources.manifests.draft import Draft, only_named
from fadoctor.sources.manifests.entries import (
    address,
    distribution,
    index_setting,
    repository,
)
from fadoctor.sources.manifests.formats.conda_platforms import platform_marker
from fadoctor.sources.manifests.formats.conda_spec import CondaNames, Spec, add_spec, only_one_cuda
from fadoctor.sources.manifests.formats.version_ranges import poetry_range
from fadoctor.sources.manifests.installed.isolated import PIXI, marked
from fadoctor.sources.manifests.planned import Requirement
from fadoctor.sources.probes.metadata import clean_url, normalise_name
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND = "pixi.toml"
_TABLES = ("dependencies", "pypi-dependencies")


def recognises(name: str, _head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND


def read(source: Source) -> Manifest:
    """Return what the default environment asks for."""
    tree = read_toml(source)
    draft = Draft(source, KIND)
    read_pixi(draft, tree, tree.root)
    return draft.manifest()


def read_pixi(draft: Draft, tree: ManifestTree, pixi: Node) -> None:
    """Add what the default environment asks for, or the one that was chosen; note the rest."""
    packages = _Packages(draft, tree, pixi)
    before = len(draft.requirements)
    features = tree.table(pixi, "feature")
    environments = tree.table(pixi, "environments")
    name = chosen_environment(draft, tree, environments)
    default = _features(tree, environments.get(name))
    _options(draft, tree, pixi)
    shared = [] if _is_alone(tree, environments.get(name)) else [pixi]
    tables = (*shared, *(features[each] for each in default if each in features))
    for table in tables:
        packages.feature(table)
    only_one_cuda(draft)
    apart = {name for table in (pixi, *tables) for name in _built_apart(tree, table)}
    draft.requirements[before:] = marked(draft.requirements[before:], apart, tool=PIXI)
    for name, node in features.items():
        if name not in default:
            asked = [each for table in _TABLES for each in tree.table(node, table)]
            only_named(draft, node.line, f"the feature {name}", asked)


def chosen_environment(draft: Draft, tree: ManifestTree, environments: dict[str, Node]) -> str:
    """Return the environment that counts; InputError where several were chosen: one is active."""
    named = [name for name in environments if name != "default" and draft.takes_group(name)]
    if len(named) > 1:
        raise tree.error(environments[named[1]], f"{named[0]} is chosen, too: one environment")
    return named[0] if named else "default"


def _channels(tree: ManifestTree, pixi: Node) -> list[str]:
    found = []
    for table in ("workspace", "project"):
        for item in tree.items(pixi, table, "channels"):
            is_table = isinstance(item.value, dict)
            found.append(tree.text(item, "channel") if is_table else tree.as_text(item))
    return [clean_url(each) for each in found]


def _is_alone(tree: ManifestTree, environment: Node | None) -> bool:
    """Say whether an environment goes without what all others have."""
    if environment is None or not isinstance(environment.value, dict):
        return False
    found = tree.find(environment, "no-default-feature")
    return found is not None and found.value is True


def _features(tree: ManifestTree, environment: Node | None) -> list[str]:
    if environment is None:
        return []
    is_table = isinstance(environment.value, dict)
    items = tree.items(environment, "features") if is_table else tree.items(environment)
    return [tree.as_text(item) for item in items]


def _options(draft: Draft, tree: ManifestTree, pixi: Node) -> None:
    options = tree.find(pixi, "pypi-options")
    index = tree.find(options, "index-url")
    if index is not None:
        draft.indexes.append(index_setting(tree, index))
    draft.indexes += [index_setting(tree, item) for item in tree.items(options, "extra-index-urls")]
    cuda = tree.find(pixi, "system-requirements", "cuda")
    if cuda is not None:
        said = cuda.value if isinstance(cuda.value, str) else ""
        draft.note(tree.place(cuda).line, f"asks for a machine whose driver has CUDA {said}")


def _built_apart(tree: ManifestTree, table: Node) -> set[str]:
    """Return the packages that a table builds without isolation: all of them, or a list."""
    said = tree.find(table, "pypi-options", "no-build-isolation")
    if said is None or said.value is False:
        return set()
    if said.value is True:
        return set(SETUPS)
    return {normalise_name(tree.as_text(item)) for item in tree.items(said)}


class _Packages:
    """Adds the packages of tables to a draft."""

    def __init__(self, draft: Draft, tree: ManifestTree, pixi: Node) -> None:
        self.draft, self.tree, self.names = draft, tree, CondaNames()
        self.channel = next(iter(_channels(tree, pixi)), "")

    def feature(self, table: Node) -> None:
        """Add a feature, with what only some platforms have."""
        draft, tree = self.draft, self.tree
        self.add(table)
        for platform, node in tree.table(table, "target").items():
            before = len(draft.requirements)
            self.add(node)
            marker = platform_marker(platform)
            added = draft.requirements[before:]
            if marker is None:
                draft.note(tree.place(node).line, f"the platform {platform} is not known")
                added = []
            draft.requirements[before:] = [
                msgspec.structs.replace(each, marker=marker) for each in added
            ]

    def add(self, table: Node) -> None:
        """Add the packages of one table, conda's and PyPI's."""
        for name, node in self.tree.table(table, "dependencies").items():
            self.conda(name, node)
        for name, node in self.tree.table(table, "pypi-dependencies").items():
            self.draft.requirements.append(_pypi(self.tree, name, node))

    def conda(self, name: str, node: Node) -> None:
        """Add a package of conda's."""
        tree, place = self.tree, self.tree.place(node)
        tree.count_package(node)
        if isinstance(node.value, dict):
            if any(key in node.value for key in ("path", "git", "url")):
                self.draft.note(place.line, f"{name} is built from source or a file")
                return
            channel = clean_url(tree.text(node, "channel")) or self.channel
            build = tree.text(node, "build")
            spec = Spec(name.lower(), tree.text(node, "version"), build, channel)
        else:
            version, _, build = tree.as_text(node).strip().partition(" ")
            if build and version[-1:] in "<>=!~,|":
                version, build = version + build, ""
            spec = Spec(name.lower(), version, build, self.channel)
        problem = add_spec(self.draft, self.names, spec, place)
        if problem:
            raise tree.error(node, problem)


def _pypi(tree: ManifestTree, name: str, node: Node) -> Requirement:
    name, place = distribution(tree, node, name), tree.place(node)
    if not isinstance(node.value, dict):
        return Requirement(name, place, _range(tree, node))
    version = tree.find(node, "version")
    fields: dict[str, Any] = {"specifier": _range(tree, version) if version is not None else ""}
    if git := tree.text(node, "git"):
        fields = repository(tree, node, git)
    elif at := tree.text(node, "url") or tree.text(node, "path"):
        fields = address(at)
    return Requirement(
        name=name,
        place=place,
        extras=tuple(sorted(tree.as_text(each) for each in tree.items(node, "extras"))),
        index=clean_url(tree.text(node, "index")),
        is_only_index=bool(tree.text(node, "index")),
        **fields,
    )


def _range(tree: ManifestTree, node: Node) -> str:
    text = tree.as_text(node)
    found = poetry_range(text)
    if found is None:
        raise tree.error(node, f"{text[:100]!r} is not a version range")
    return found
