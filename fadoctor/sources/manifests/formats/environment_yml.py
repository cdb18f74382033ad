"""``environment.yml``: what conda and pip install."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.packages import TORCH
from fadoctor.sources.manifests.commands.one_step import later_of_pip
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.formats import requirements_txt
from fadoctor.sources.manifests.formats.conda_spec import (
    CondaNames,
    add_spec,
    only_of_pytorch,
    parse_spec,
)
from fadoctor.sources.manifests.formats.conda_torch import settle_torch
from fadoctor.sources.manifests.installed.isolated import marked_by_new
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.manifests.yaml_tree import read_yaml
from fadoctor.sources.probes.metadata import clean_url

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest, Requirement
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND = "environment.yml"
_NAME = re.compile(
    r"(?:.{0,100}[._-])?(?:conda|environment|env)(?:[._-].{0,100})?\.ya?ml", re.IGNORECASE
)
# dependencies: | dependencies: [python=3.11, pytorch]
_DEPENDENCIES = re.compile(r"^dependencies:[ \t]{0,9}(?:[#\[].*)?\r?$", re.MULTILINE)
_CHANNELS = re.compile(r"^channels:[ \t]{0,9}(?:[#\[].*)?\r?$", re.MULTILINE)
_NO_MARKS = re.compile(r"[^\n]")


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one: YAML with ``dependencies``, by name or beside ``channels``."""
    if not name.lower().endswith((".yml", ".yaml")) or "\npackage:" in head:
        return False
    return bool(_DEPENDENCIES.search(head) and (_NAME.fullmatch(name) or _CHANNELS.search(head)))


def read(source: Source) -> Manifest:
    """Return what conda and pip are asked for."""
    tree = read_yaml(source)
    draft = Draft(source, KIND)
    names = CondaNames()
    channels = [clean_url(tree.as_text(each)) for each in tree.items(tree.root, "channels")]
    channel = next((each for each in channels if each != "nodefaults"), "")
    for item in tree.items(tree.root, "dependencies"):
        if isinstance(item.value, dict):
            _pip(draft, tree, item)
            continue
        text = tree.as_text(item)
        tree.count_package(item)
        spec = parse_spec(text)
        if spec is None:
            raise tree.error(item, f"{text[:200]!r} is not a package name that conda accepts")
        spec = msgspec.structs.replace(spec, channel=clean_url(spec.channel) or channel)
        problem = add_spec(draft, names, spec, tree.place(item))
        if problem:
            raise tree.error(item, problem)
    for name, node in tree.table(tree.root, "variables").items():
        draft.variables[name] = Setting(tree.text(node), tree.place(node))
    for line, text in settle_torch(draft, channels):
        draft.note(line, text)
    only_of_pytorch(draft, channels)
    draft.requirements = _on_top(draft)
    draft.later = [] if draft.indexes else later_of_pip(draft.requirements, draft.constraints)
    return draft.manifest()


def _on_top(draft: Draft) -> list[Requirement]:
    """Return what is asked for; pip builds what it has no wheel of beside the torch of conda."""
    torch = [each for each in draft.requirements if each.name == TORCH]
    if not any(each.manager == "conda" for each in torch) or _NOT_ISOLATED.search(
        draft.source.text
    ):
        return draft.requirements
    return [
        each if each.manager == "conda" else marked_by_new([each])[0] for each in draft.requirements
    ]


_NOT_ISOLATED = re.compile(r"no[-_]build[-_]isolation", re.IGNORECASE)


def _pip(draft: Draft, tree: ManifestTree, item: Node) -> None:
    """Read the lines below ``pip:`` as a requirements file in which they stand where they do."""
    for key, node in tree.as_table(item).items():
        if key != "pip":
            draft.note(tree.place(node).line, f"what {key} installs is not looked at")
            continue
        text = tree.source.text
        kept = []
        end = 0
        for line in tree.items(node):
            said = tree.as_text(line)
            at = text.find(said, tree.offset(line))
            if at < 0 or "\n" in said:
                raise tree.error(line, "a requirement that is folded or has escapes in it")
            kept.append(_NO_MARKS.sub(" ", text[end:at]) + said)
            end = at + len(said)
        masked = msgspec.structs.replace(tree.source, text="".join(kept))
        found = requirements_txt.read(masked)
        draft.requirements += found.requirements
        draft.constraints += found.constraints
        draft.indexes += found.indexes
        draft.notes += found.notes
