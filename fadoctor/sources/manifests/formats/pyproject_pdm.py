"""``[tool.pdm]``: sources, overrides and groups of PDM."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.entries import address, index_setting, pep508
from fadoctor.sources.manifests.formats.version_ranges import poetry_range
from fadoctor.sources.manifests.planned import Requirement
from fadoctor.sources.probes.metadata import clean_url, normalise_name

if TYPE_CHECKING:
    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node


def read_pdm(draft: Draft, tree: ManifestTree, pdm: Node) -> None:
    """Add indexes, overrides and the groups for development, which ``pdm install`` brings too."""
    for item in tree.items(pdm, "source"):
        url = tree.find(item, "url")
        if url is None:
            raise tree.error(item, "a source without a url")
        draft.indexes.append(index_setting(tree, url))
        _bind(draft, tree, item, clean_url(tree.as_text(url)))
    for group, node in tree.table(pdm, "dev-dependencies").items():
        draft.takes_group(group)
        draft.requirements += [
            pep508(tree, item) for item in tree.items(node) if not _is_local(tree, item)
        ]
    for name, node in tree.table(pdm, "resolution", "overrides").items():
        _override(draft, tree, normalise_name(name), node)


def builds_beside(source: Source, tree: ManifestTree) -> bool:
    """Return whether a project is PDM's, and PDM is told to build without isolation."""
    return tree.find(tree.root, "tool", "pdm") is not None and builds_apart(source)


def builds_apart(source: Source) -> bool:
    """Return whether PDM is told so: in a file, in the project beside, or in ``pdm.toml``."""
    text = source.text
    for name in ("pyproject.toml", "pdm.toml"):
        with suppress(InputError):
            text += source.read_beside(name).text
    return _NOT_ISOLATED.search(text) is not None


_NOT_ISOLATED = re.compile(r"no-isolation|build[_-]isolation", re.IGNORECASE)


def _is_local(tree: ManifestTree, item: Node) -> bool:
    return tree.as_text(item).startswith(("-e", "file:"))


def _bind(draft: Draft, tree: ManifestTree, item: Node, url: str) -> None:
    """Give the index to the packages that only this source may bring."""
    for pattern in tree.items(item, "include_packages"):
        name = normalise_name(tree.as_text(pattern))
        draft.requirements = [
            msgspec.structs.replace(each, index=url, is_only_index=True)
            if each.name == name
            else each
            for each in draft.requirements
        ]


def _override(draft: Draft, tree: ManifestTree, name: str, node: Node) -> None:
    text = tree.as_text(node)
    is_url = "://" in text
    specifier = "" if is_url else poetry_range(text)
    if specifier is None:
        raise tree.error(node, f"{text[:100]!r} is not a version range")
    fields: dict[str, Any] = address(text) if is_url else {"specifier": specifier}
    found = Requirement(name=name, place=tree.place(node), **fields)
    draft.overridden[name] = None
    if any(each.name == name for each in draft.requirements):
        draft.requirements = [
            msgspec.structs.replace(found, marker=each.marker) if each.name == name else each
            for each in draft.requirements
        ]
    else:
        draft.constraints.append(found)
