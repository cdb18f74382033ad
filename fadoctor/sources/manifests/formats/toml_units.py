"""``cerebrium.toml``: an image, its Python, its packages by installer, its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.manifests.commands.command_files import read_machines
from fadoctor.sources.manifests.formats.yaml_units import Unit
from fadoctor.sources.manifests.planned import Setting
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND = "cerebrium.toml"
_NOTHING = "lists no packages below cerebrium.dependencies, and runs no command that installs"
_COMMANDS = ("pre_build_commands", "shell_commands")
_ANY = frozenset(("", "*", "latest"))


def recognises(name: str, _head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND


def read(source: Source) -> Manifest:
    """Return what its machine holds in the end."""
    tree = read_toml(source)
    root = tree.find(tree.root, "cerebrium")
    unit = Unit("this file", 1)
    unit.is_bare = True
    deployment = tree.find(root, "deployment")
    image = tree.find(deployment, "docker_base_image_url")
    if image is not None:
        unit.image = Setting(tree.as_text(image), tree.place(image))
    python = tree.find(deployment, "python_version")
    if python is not None:
        unit.python = Setting(f"=={tree.as_text(python)}.*", tree.place(python))
    for key in _COMMANDS:
        for item in tree.items(deployment, key):
            unit.rows[item.line] = tree.as_text(item)
    for name, node in tree.table(root, "dependencies", "pip").items():
        _ask(tree, unit, name, node)
    return read_machines(source, [unit], KIND, _NOTHING)


def _ask(tree: ManifestTree, unit: Unit, name: str, node: Node) -> None:
    """Add a package; ``_file_relative_path`` names a list beside it."""
    said = tree.as_text(node).strip()
    if name == "_file_relative_path":
        unit.rows[node.line] = f"pip install -r '{said}'" if "'" not in said else ""
        return
    version = "" if said in _ANY else said
    if version[:1].isdigit():
        version = f"=={version}"
    unit.wishes.append((f"{name}{version}", tree.place(node)))
