"""Recipes of conda-build and rattler-build: what a package requires where it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.formats.conda_spec import CondaNames, add_spec, parse_spec
from fadoctor.sources.manifests.yaml_tree import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND = "conda recipe"
_NAMES = ("meta.yaml", "meta.yml", "recipe.yaml", "recipe.yml")
_BEGINS = re.compile(r"^(?:package:|recipe:|context:|\{% *set )", re.MULTILINE)
# {% set version = "1.4.0" %}
_SET = re.compile(
    r"\{%-?\s{0,9}set\s{1,9}(\w{1,80})\s{0,9}=\s{0,9}[\"']?([\w.+*<>=,-]{1,200})[\"']?\s{0,9}-?%\}"
)
_STATEMENT = re.compile(r"\{[%#][^\n]{0,1000}?[%#]\}")
# {{ version }}, ${{ version }}
_NAME = re.compile(r"\$?\{\{\s{0,9}(\w{1,80})[^{}\n]{0,100}\}\}")
_ANY_EXPRESSION = re.compile(r"\$?\{\{[^{}\n]{0,300}\}\}")
# a selector at the end of a line, such as [linux64]
_SELECTOR = re.compile(r"#\s{0,9}\[([^\]\n]{1,200})\]")
_OPEN = "EXPRESSION"


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one, by its name and how it begins."""
    return name in _NAMES and _BEGINS.search(head) is not None


def read(source: Source) -> Manifest:
    """Return what ``run`` lists, of the recipe and of each of its outputs."""
    tree = read_yaml(msgspec.structs.replace(source, text=_plain(source.text)))
    draft, names = Draft(source, KIND), CondaNames()
    outputs = tree.items(tree.root, "outputs")
    for node in (tree.root, *outputs):
        for item in _listed(tree, tree.find(node, "requirements")):
            _take(draft, names, tree, item)
    return draft.manifest()


def _plain(text: str) -> str:
    """Return the recipe as YAML: variables in their places, statements left out."""
    values = dict(_SET.findall(text))
    values |= _context(text)
    rows = []
    for row in text.split("\n"):
        plain = _NAME.sub(lambda found: values.get(found[1], found[0]), row)
        plain = _ANY_EXPRESSION.sub(_OPEN, _STATEMENT.sub("", plain))
        selector = _SELECTOR.search(row)
        rows.append("" if selector and _is_elsewhere(selector[1]) else plain)
    return "\n".join(rows)


_CONTEXT = re.compile(r"^context:[^\n]*\n((?:[ \t]+[^\n]*\n|\n){1,200})", re.MULTILINE)
_ENTRY = re.compile(r"[ \t]+(\w{1,80}):[ \t]+[\"']?([\w.+*<>=,-]{1,200})[\"']?[ \t]*(?:#.*)?")


def _context(text: str) -> dict[str, str]:
    found = _CONTEXT.search(text)
    rows = found[1].split("\n") if found else []
    return {pair[1]: pair[2] for row in rows if (pair := _ENTRY.fullmatch(row))}


def _is_elsewhere(selector: str) -> bool:
    """Return whether a line is for Windows or macOS alone."""
    return re.fullmatch(r"\s*(?:win\w*|osx\w*|not linux\w*)\s*", selector) is not None


def _listed(tree: ManifestTree, requirements: Node | None) -> Iterator[Node]:
    """Yield what is required at run time; a recipe of old has one list for all."""
    if requirements is None or isinstance(requirements.value, list):
        yield from requirements.items if requirements is not None else ()
    elif requirements.value is not None:
        yield from tree.items(requirements, "run")


def _take(draft: Draft, names: CondaNames, tree: ManifestTree, item: Node) -> None:
    text = item.scalar
    if not isinstance(text, str) or _OPEN in text:
        draft.note(item.line, "depends on a condition or an expression, so it is not read")
        return
    tree.count_package(item)
    spec = parse_spec(text)
    problem = add_spec(draft, names, spec, tree.place(item)) if spec is not None else ""
    if spec is None or problem:
        draft.note(item.line, f"{text[:100]!r} is not the name of a conda package")
