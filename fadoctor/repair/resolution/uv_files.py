"""A file that uv is told of for a package: it counts, whatever the list of dependencies says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.repair.resolution.requirement_line import GONE
from fadoctor.repair.resolution.toml_edits import Edits
from fadoctor.repair.resolution.torch_sources import UV

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.repair.resolution.torch_sources import TorchSources
    from fadoctor.syntax.tree import Node

# flash-attn = { url = "https://..." }
_ALONE = re.compile(
    r"\s{0,20}[\"']?[\w.-]{1,80}[\"']?\s{0,8}=\s{0,8}\{[^{}]{1,2000}\}\s{0,8}(?:#.*)?"
)


def take_file(sources: TorchSources, lines: list[str], package: str, url: str) -> bool:
    """Let a package come from another file, where uv is told of one; say whether it is told."""
    node = next(_files_of(sources, package), None)
    if node is None:
        return False
    edits = Edits()
    edits.text(node, url)
    return edits.put(lines)


def drop_file(sources: TorchSources, lines: list[str], package: str) -> None:
    """Tell uv of no file any more, where one is named on a line of its own."""
    for node in _files_of(sources, package):
        if _ALONE.fullmatch(lines[node.line - 1]):
            lines[node.line - 1] = GONE


def _files_of(sources: TorchSources, package: str) -> Iterator[Node]:
    """Yield the addresses of files from which uv takes a package here."""
    if sources.form.tool != UV.tool:
        return
    for each in sources.entries:
        if each.holds and each.package == package:
            node = sources.tree.find(each.node, "url")
            if node is not None:
                yield node
