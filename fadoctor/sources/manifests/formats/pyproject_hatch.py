"""``[tool.hatch.envs]``: environments of Hatch, each a machine of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.manifests.draft import only_named
from fadoctor.sources.manifests.entries import pep508
from fadoctor.sources.manifests.formats.environments import chosen_machine
from fadoctor.sources.manifests.installed.isolated import marked
from fadoctor.sources.manifests.planned import Setting

if TYPE_CHECKING:
    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.planned import Requirement
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

_DEFAULT = "default"
_LISTS = ("dependencies", "extra-dependencies")
_DEPTH = 8


def read_hatch(draft: Draft, tree: ManifestTree) -> None:
    """Add what one environment installs: the one that was chosen, or that installs most.

    It installs beside the project's own packages, unless it says ``skip-install``.
    """
    environments = tree.table(tree.root, "tool", "hatch", "envs")
    asked = {name: _packages(tree, environments, name) for name in environments}
    chosen = chosen_machine(draft, asked, _DEFAULT)
    for name, node in environments.items():
        if name == chosen:
            _take(draft, tree, environments, name, asked[name])
        else:
            only_named(draft, node.line, f"the group {name}", [each.name for each in asked[name]])


def _take(
    draft: Draft,
    tree: ManifestTree,
    environments: dict[str, Node],
    name: str,
    asked: list[Requirement],
) -> None:
    if _is_true(tree, environments[name], "skip-install") or _is_true(
        tree, environments[name], "detached"
    ):
        draft.requirements.clear()
    draft.requirements += marked(asked)
    python = tree.find(environments[name], "python")
    if python is not None and tree.as_text(python).replace(".", "").isdecimal():
        draft.python = Setting(f"=={tree.as_text(python)}.*", tree.place(python))


def _packages(
    tree: ManifestTree, environments: dict[str, Node], name: str, depth: int = _DEPTH
) -> list[Requirement]:
    """Return what an environment installs, with what it takes from its template."""
    node = environments.get(name)
    if node is None or not depth:
        return []
    own = [pep508(tree, item) for item in tree.items(node, _LISTS[0])]
    more = [pep508(tree, item) for item in tree.items(node, _LISTS[1])]
    template = tree.text(node, "template") or _DEFAULT
    is_detached = _is_true(tree, node, "detached") or template == name
    before = [] if is_detached else _packages(tree, environments, template, depth - 1)
    return [*(own or before), *more]


def _is_true(tree: ManifestTree, node: Node, key: str) -> bool:
    found = tree.find(node, key)
    return found is not None and found.value is True
