"""The data of a manifest, with the place of every value."""

from __future__ import annotations

from fadoctor.sources.manifests.source import Source
from fadoctor.syntax.data_tree import DataTree

ManifestTree = DataTree[Source]
