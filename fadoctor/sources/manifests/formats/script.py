"""Python scripts: requirements in a comment, ``# /// script`` by PEP 723, or what they install."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.manifests.commands.command_files import read_machines
from fadoctor.sources.manifests.commands.python_installs import read_script_units
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.entries import pep508, specifier
from fadoctor.sources.manifests.formats.pyproject_uv import built_apart, read_uv
from fadoctor.sources.manifests.installed.isolated import marked
from fadoctor.sources.manifests.planned import Setting
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND = "script"
LINE_LIMIT = 100_000
_BEGIN, _END = "# /// script", "# ///"
# # dependencies = ["torch"], or a lone #
_CONTENT = re.compile(r"#(?: [^\n]{0,10000})?")


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one: by its name, or by how scripts without one begin."""
    return name.endswith(".py") or (
        head.startswith("#!") and any(row.rstrip() == _BEGIN for row in head.split("\n"))
    )


def read(source: Source) -> Manifest:
    """Return what the block asks for, or what the script installs where it has none.

    InputError where there is neither, or more than one block.
    """
    if not has_block(source):
        nothing = f"has no block {_BEGIN} that says what it requires, and installs nothing"
        return read_machines(source, read_script_units(source), KIND, nothing)
    tree = read_toml(msgspec.structs.replace(source, text=block_of(source)))
    draft = Draft(source, KIND)
    draft.requirements = [pep508(tree, item) for item in tree.items(tree.root, "dependencies")]
    python = tree.find(tree.root, "requires-python")
    if python is not None:
        draft.python = Setting(specifier(tree, python), tree.place(python))
    uv = tree.find(tree.root, "tool", "uv")
    if uv is not None:
        read_uv(draft, tree, uv)
    draft.requirements = marked(draft.requirements, built_apart(tree))
    return draft.manifest()


def has_block(source: Source) -> bool:
    """Say whether a text has a block that says what it requires."""
    return any(row.rstrip() == _BEGIN for row in source.lines())


def block_of(source: Source) -> str:
    """Return the text of the block, with each character where it stands in the file."""
    lines = source.lines()
    if len(lines) > LINE_LIMIT:
        raise source.error(f"more than {LINE_LIMIT:,} lines")
    kept = [""] * len(lines)
    found = 0
    at = 0
    while at < len(lines):
        end = _end(lines, at) if lines[at].rstrip() == _BEGIN else 0
        if not end:
            at += 1
            continue
        if found:
            problem = f"a second block {_BEGIN}, after that of line {found}"
            raise source.error(problem, line=at + 1)
        found = at + 1
        kept[at + 1 : end] = [f"  {line[2:]}" for line in lines[at + 1 : end]]
        at = end + 1
    if not found:
        raise source.error(f"has no block {_BEGIN} that says what it requires")
    return "\n".join(kept)


def _end(lines: list[str], begin: int) -> int:
    """Return the line that ends a block: the last one that can; 0 where none does."""
    end, at = 0, begin + 1
    while at < len(lines) and _CONTENT.fullmatch(lines[at].rstrip()):
        if lines[at].rstrip() == _END:
            end = at
        elif lines[at].rstrip() == _BEGIN and end:
            break
        at += 1
    return end
