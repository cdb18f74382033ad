"""Requirements that a project keeps in a file beside it: ``requirements.txt``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.formats import requirements_txt
from fadoctor.sources.manifests.planned import UNSEEN_REST

if TYPE_CHECKING:
    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.planned import Requirement
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree


def listed_beside(source: Source, draft: Draft, line: int, path: str) -> list[Requirement]:
    """Return what a list beside a file asks for; a note says why it is not read."""
    try:
        found = requirements_txt.read(source.read_beside(path))
    except InputError as error:
        draft.note(line, f"{path} is not read: {error.problem}")
        return []
    draft.indexes += found.indexes
    draft.constraints += found.constraints
    return list(found.requirements)


def dynamic_lists(draft: Draft, tree: ManifestTree) -> None:
    """Take the lists that setuptools reads for a project; a note where something else computes."""
    node = tree.find(tree.root, "tool", "setuptools", "dynamic", "dependencies", "file")
    nodes = node.value if node is not None and isinstance(node.value, list) else [node]
    named = [each for each in nodes if each is not None and isinstance(each.value, str)]
    for each in named:
        line = tree.place(each).line
        draft.requirements += listed_beside(tree.source, draft, line, str(each.value))
    if not named:
        draft.note(1, "the dependencies are dynamic: a build computes them")
        draft.notes.append(UNSEEN_REST)
