"""``[tool.uv]``: where packages come from, and what bounds or replaces them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.packages import ASKING_SETUPS, SETUPS, TORCH
from fadoctor.sources.manifests.entries import (
    address,
    all_of,
    index_setting,
    marker,
    pep508,
    repository,
)
from fadoctor.sources.manifests.formats.marker_text import opposite
from fadoctor.sources.manifests.installed.index_releases import (
    build_of_index,
    companions,
    index_of_backend,
)
from fadoctor.sources.manifests.planned import unseen_files
from fadoctor.sources.probes.metadata import clean_url, normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.planned import Requirement, Setting
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node


def uv_groups(tree: ManifestTree) -> set[str]:
    """Return the groups that uv installs without being asked, none where uv is not used."""
    uv = tree.find(tree.root, "tool", "uv")
    if uv is None:
        return set()
    default = tree.find(uv, "default-groups")
    if default is None:
        return {"dev"}
    if default.value == "all":
        return set(tree.table(tree.root, "dependency-groups"))
    return {tree.as_text(item) for item in tree.items(default)}


def built_apart(tree: ManifestTree) -> set[str]:
    """Return the packages that uv builds without isolation, or with torch in it."""
    uv = tree.find(tree.root, "tool", "uv")
    if uv is None:
        return set()
    pip = tree.find(uv, "pip")
    if _is_set(tree, uv, "no-build-isolation") or (
        pip and _is_set(tree, pip, "no-build-isolation")
    ):
        return {*SETUPS, *ASKING_SETUPS}
    found = {
        normalise_name(tree.as_text(item))
        for keys in (("no-build-isolation-package",), ("pip", "no-build-isolation-package"))
        for item in tree.items(uv, *keys)
    }
    for keys in (("extra-build-dependencies",), ("pip", "extra-build-dependencies")):
        found |= {normalise_name(name) for name in tree.table(uv, *keys)}
    return found


def read_uv(draft: Draft, tree: ManifestTree, uv: Node) -> None:
    """Add what uv knows beside the project's own wishes."""
    if "dev" in uv_groups(tree) and not draft.source.choice.is_for_package:
        draft.requirements += [pep508(tree, item) for item in tree.items(uv, "dev-dependencies")]
    indexes = _indexes(draft, tree, uv)
    backend = _backend(tree, uv)
    draft.constraints += [pep508(tree, item) for item in tree.items(uv, "constraint-dependencies")]
    _overrides(draft, tree, uv)
    draft.apart += _conflicts(tree, uv)
    draft.is_resolved_whole = True
    sources = {normalise_name(name): node for name, node in tree.table(uv, "sources").items()}
    found = []
    for each in draft.requirements:
        source = sources.get(each.name)
        found += (
            _sourced(draft, tree, each, source, indexes)
            if source is not None
            else [_of_backend(each, backend) or _of_the_first(each, draft)]
        )
    draft.requirements = found


def _indexes(draft: Draft, tree: ManifestTree, uv: Node) -> dict[str, str]:
    """Add the indexes in the order in which uv asks them; return URLs by name."""
    named: dict[str, str] = {}
    default: list[Setting] = []
    for item in tree.items(uv, "index"):
        url = tree.find(item, "url")
        if url is None:
            raise tree.error(item, "an index without a url")
        setting = index_setting(tree, url)
        named[tree.text(item, "name")] = setting.value
        if _is_set(tree, item, "default"):
            default.append(setting)
        elif not _is_set(tree, item, "explicit"):
            draft.indexes.append(setting)
    pip = tree.find(uv, "pip")
    for table in (uv, pip) if pip else (uv,):
        more = tree.items(table, "extra-index-url")
        draft.indexes += [index_setting(tree, item) for item in more]
        _find_links(draft, tree, table)
    draft.indexes += default
    for table in (uv, pip) if pip else (uv,):
        plain = tree.find(table, "index-url")
        if plain is not None:
            draft.indexes.append(index_setting(tree, plain))
    return named


def _backend(tree: ManifestTree, uv: Node) -> str:
    """Return the index of the build of torch that commands of ``uv pip`` take, "" for none."""
    pip = tree.find(uv, "pip")
    return index_of_backend().get(tree.text(pip, "torch-backend"), "") if pip else ""


def _of_backend(wish: Requirement, index: str) -> Requirement | None:
    """Return a wish for torch with the index of the build that is named for all projects."""
    is_torch = wish.name in (TORCH, *companions()) and not (wish.url or wish.index)
    if not (index and is_torch):
        return None
    return msgspec.structs.replace(wish, index=index, is_only_index=True)


def _of_the_first(wish: Requirement, draft: Draft) -> Requirement:
    """Return a wish for torch with the index that uv takes: the first one that has the package."""
    first = draft.indexes[0].value if draft.indexes else ""
    is_torch = wish.name in (TORCH, *companions()) and not (wish.url or wish.index)
    if not is_torch or "index-strategy" in draft.source.text or build_of_index(first) == "":
        return wish
    return msgspec.structs.replace(wish, index=first, is_only_index=True)


def _find_links(draft: Draft, tree: ManifestTree, table: Node) -> None:
    """Note the pages of files that nobody looks at here."""
    for item in tree.items(table, "find-links"):
        said = clean_url(tree.as_text(item))
        draft.note(tree.place(item).line, unseen_files(said))


def _is_set(tree: ManifestTree, node: Node, key: str) -> bool:
    found = tree.find(node, key)
    if found is not None and not isinstance(found.value, bool):
        raise tree.error(found, "should be true or false")
    return found is not None and found.value is True


def _conflicts(tree: ManifestTree, uv: Node) -> Iterator[frozenset[str]]:
    """Yield the extras and groups of which uv installs only one: it resolves each by itself."""
    for apart in tree.items(uv, "conflicts"):
        yield frozenset(
            f"{kind} {normalise_name(name)}"
            for item in tree.items(apart)
            for kind in ("extra", "group")
            if isinstance(item.value, dict) and (name := tree.text(item, kind))
        )


def _overrides(draft: Draft, tree: ManifestTree, uv: Node) -> None:
    """Put overrides in the place of what they override: uv heeds nothing else about a name."""
    overrides = [pep508(tree, item) for item in tree.items(uv, "override-dependencies")]
    if not overrides:
        return
    names = {each.name for each in overrides}
    draft.overridden |= dict.fromkeys(names)
    asked = {each.name for each in draft.requirements} & names
    kept = [each for each in draft.requirements if each.name not in names]
    draft.requirements = [*kept, *(each for each in overrides if each.name in asked)]
    draft.constraints += [each for each in overrides if each.name not in asked]


def _sourced(
    draft: Draft, tree: ManifestTree, wish: Requirement, source: Node, indexes: dict[str, str]
) -> list[Requirement]:
    """Return a wish with where it comes from: one for each marker, and one for where none holds."""
    found, elsewhere = [], wish.marker
    for item in source.value if isinstance(source.value, list) else [source]:
        if not _is_chosen(draft, tree, item):
            draft.note(tree.place(item).line, f"a source of {wish.name} that only an extra or a "
                       "group takes is left out")  # fmt: skip
            continue
        node = tree.find(item, "marker")
        condition = marker(tree, node) if node is not None else ""
        fields = _origin(tree, item, indexes)
        found.append(msgspec.structs.replace(wish, marker=all_of(wish.marker, condition), **fields))
        other = opposite(condition) if condition else None
        if other is None and condition:
            line = tree.place(item).line
            draft.note(line, f"the source of {wish.name} otherwise is not given")
        if other is None:
            return found
        elsewhere = all_of(elsewhere, other)
    return [*found, msgspec.structs.replace(wish, marker=elsewhere)]


def _is_chosen(draft: Draft, tree: ManifestTree, item: Node) -> bool:
    """Say whether a source counts: one of an extra or a group does where that was chosen."""
    choice = draft.source.choice
    extra, group = (normalise_name(tree.text(item, key)) for key in ("extra", "group"))
    return (not extra or extra in choice.extras) and (not group or group in choice.groups)


def _origin(tree: ManifestTree, item: Node, indexes: dict[str, str]) -> dict[str, Any]:
    """Return the fields that one source decides."""
    name = tree.text(item, "index")
    if name:
        if name not in indexes:
            raise tree.error(item, f"there is no index named {name[:100]}")
        return {"index": indexes[name], "is_only_index": True}
    if git := tree.text(item, "git"):
        return repository(tree, item, git)
    place = tree.text(item, "url") or tree.text(item, "path")
    return address(place) if place else {}
