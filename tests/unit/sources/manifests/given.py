"""Sources without files, for tests of readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.sources.manifests.source import Source

if TYPE_CHECKING:
    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.planned import Manifest, Requirement
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

SAMPLES = Path(__file__).parent / "samples"


def given(text: str, name: str = "given", choice: ManifestRequest | None = None) -> Source:
    """Return a source that was not read from anywhere."""
    return Source(name, text, Path("/nowhere") / name, choice=choice or ManifestRequest())


def sample(name: str) -> Source:
    """Return a file of the samples."""
    path = SAMPLES / name
    return Source(name, path.read_text(), path)


def by_name(manifest: Manifest) -> dict[str, Requirement]:
    """Return the requirements by name, the last one of a name."""
    return {each.name: each for each in manifest.requirements}


def wanted(manifest: Manifest) -> dict[str, str]:
    """Return what is asked for: name -> specifier."""
    return {each.name: each.specifier for each in manifest.requirements}


def place(tree: ManifestTree, node: Node, *keys: str) -> Place:
    """Return the place of what stands at a path of keys."""
    found = tree.find(node, *keys)
    assert found is not None
    return tree.place(found)
