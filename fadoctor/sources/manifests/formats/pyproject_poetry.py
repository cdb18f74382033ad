"""``[tool.poetry]``: dependencies in Poetry's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.sources.manifests.draft import listed_in, only_named
from fadoctor.sources.manifests.entries import (
    address,
    all_of,
    distribution,
    index_setting,
    marker,
    repository,
)
from fadoctor.sources.manifests.formats.marker_text import python_marker
from fadoctor.sources.manifests.formats.version_ranges import poetry_range
from fadoctor.sources.manifests.planned import Requirement, Setting
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node


def read_poetry(draft: Draft, tree: ManifestTree, poetry: Node) -> None:
    """Add what ``poetry install`` brings: main dependencies, and groups that are not optional."""
    draft.is_resolved_whole = True
    is_package = draft.source.choice.is_for_package
    indexes = {} if is_package else _sources(draft, tree, poetry)
    tables = [tree.table(poetry, "dependencies")]
    if not is_package and (legacy := tree.table(poetry, "dev-dependencies")):
        draft.takes_group("dev")  # what Poetry calls that table since 1.2
        tables.append(legacy)
    for name, node in tree.table(poetry, "group").items() if not is_package else ():
        group = tree.table(node, "dependencies")
        optional = tree.find(node, "optional")
        if not draft.takes_group(name) and optional is not None and optional.value is True:
            only_named(draft, node.line, f"the group {name}", list(group))
            for package, item in group.items():
                wishes = _wishes(draft, tree, item, indexes, (package, set()))
                draft.aside += listed_in(wishes, "group", name)
        else:
            tables.append(group)
    taken = _of_extras(draft, tree, poetry)
    known = {each.name for each in draft.requirements}
    for table in tables:
        for name, node in table.items():
            if name.lower() == "python":
                draft.default_python(Setting(_range(tree, node), tree.place(node)))
                continue
            wishes = list(_wishes(draft, tree, node, indexes, (name, taken)))
            if wishes and wishes[0].name in known:
                _enrich(draft, wishes[0])
            else:
                draft.requirements += wishes


def _sources(draft: Draft, tree: ManifestTree, poetry: Node) -> dict[str, str]:
    """Add the indexes that may serve any package; return all URLs by name."""
    named = {}
    for item in tree.items(poetry, "source"):
        url = tree.find(item, "url")
        if url is None:
            continue  # PyPI may be named without one
        setting = index_setting(tree, url)
        named[tree.text(item, "name").lower()] = setting.value
        if tree.text(item, "priority") != "explicit":
            draft.indexes.append(setting)
    return named


def _range(tree: ManifestTree, node: Node) -> str:
    text = tree.as_text(node)
    found = poetry_range(text)
    if found is None:
        raise tree.error(node, f"{text[:100]!r} is not a version range")
    return found


def _of_extras(draft: Draft, tree: ManifestTree, poetry: Node) -> set[str]:
    """Return the packages that the chosen extras name."""
    taken: set[str] = set()
    for extra, node in tree.table(poetry, "extras").items():
        if draft.takes_extra(extra):
            taken.update(normalise_name(tree.as_text(item)) for item in tree.items(node))
    return taken


def _wishes(
    draft: Draft,
    tree: ManifestTree,
    node: Node,
    indexes: dict[str, str],
    named: tuple[str, set[str]],
) -> list[Requirement]:
    """Return one wish for each way to ask: a list has one for each marker.

    `named`: the package, and the names of those that chosen extras take.
    """
    name = distribution(tree, node, named[0])
    found = []
    for item in node.value if isinstance(node.value, list) else [node]:
        if isinstance(item.value, str):
            found.append(Requirement(name, tree.place(item), _range(tree, item)))
            continue
        optional = tree.find(item, "optional")
        if optional is not None and optional.value is True and name not in named[1]:
            only_named(draft, item.line, "what is optional", [name])
            continue
        found.append(Requirement(name=name, **_fields(tree, item, indexes)))
    return found


def _fields(tree: ManifestTree, item: Node, indexes: dict[str, str]) -> dict[str, Any]:
    version = tree.find(item, "version")
    source = tree.text(item, "source").lower()
    if source not in {"", "pypi", *indexes}:
        raise tree.error(item, f"there is no source named {source[:100]}")
    return {
        "place": tree.place(version or item),
        "specifier": _range(tree, version) if version is not None else "",
        "marker": _marker(tree, item),
        "extras": tuple(sorted(tree.as_text(each) for each in tree.items(item, "extras"))),
        "index": indexes.get(source, ""),
        "is_only_index": source in indexes,
        **_origin(tree, item),
    }


def _origin(tree: ManifestTree, item: Node) -> dict[str, str]:
    if git := tree.text(item, "git"):
        return repository(tree, item, git)
    place = tree.text(item, "url") or tree.text(item, "path")
    return address(place) if place else {}


def _marker(tree: ManifestTree, item: Node) -> str:
    written, python = tree.find(item, "markers"), tree.find(item, "python")
    platform = tree.text(item, "platform")
    return all_of(
        marker(tree, written) if written is not None else "",
        python_marker(_range(tree, python)) if python is not None else "",
        f"sys_platform == '{platform}'" if platform.isalnum() else "",
    )


def _enrich(draft: Draft, wish: Requirement) -> None:
    """Add to a wish of ``[project]`` what Poetry's own table says of its origin."""
    draft.requirements = [
        msgspec.structs.replace(
            each,
            index=wish.index or each.index,
            is_only_index=wish.is_only_index or each.is_only_index,
            url=wish.url or each.url,
        )
        if each.name == wish.name
        else each
        for each in draft.requirements
    ]
