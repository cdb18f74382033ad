"""Locks of conda: ``conda-lock.yml``, and lists of addresses that begin with ``@EXPLICIT``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.place import Place
from fadoctor.sources.manifests.draft import Draft, only_named
from fadoctor.sources.manifests.entries import distribution, exactly
from fadoctor.sources.manifests.formats.conda_files import conda_file
from fadoctor.sources.manifests.formats.conda_platforms import platform_marker
from fadoctor.sources.manifests.formats.conda_spec import CondaNames, Spec, add_spec, only_one_cuda
from fadoctor.sources.manifests.formats.merged import merged
from fadoctor.sources.manifests.formats.unread_lines import without_unread
from fadoctor.sources.manifests.planned import Requirement
from fadoctor.sources.manifests.requirement_text import file_of, read_requirement
from fadoctor.sources.manifests.yaml_tree import read_yaml
from fadoctor.sources.probes.metadata import clean_url
from fadoctor.syntax.data_tree import PACKAGE_LIMIT

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND, EXPLICIT = "conda-lock.yml", "conda explicit list"
_LINE_LIMIT = 100_000
_MARK = re.compile(r"^@EXPLICIT\s*$", re.MULTILINE)
# the line "# pip torch @ https://.../torch-2.7.1-cp312-....whl --hash=sha256:..."
_PIP = re.compile(r"#\s?pip\s+(\S.{0,4000}?)(?:\s+--hash=\S{1,200})*\s*")


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one, by its name, its mark or the fields of conda-lock."""
    if _MARK.search(head):
        return True
    is_yaml = name.endswith((".yml", ".yaml"))
    return is_yaml and ("conda-lock" in name or ("\nmetadata:" in head and "content_hash:" in head))


def read(source: Source) -> Manifest:
    """Return what is locked, with markers for what only some platforms have."""
    return _explicit(source) if _MARK.search(source.head) else _lock(source)


def _lock(source: Source) -> Manifest:
    tree = read_yaml(without_unread(source))
    draft = Draft(source, KIND)
    draft.is_complete = True
    names = CondaNames()
    optional: list[str] = []
    found: list[tuple[Requirement, str]] = []
    for item in tree.items(tree.root, "package"):
        category = tree.text(item, "category")
        is_taken = category not in {"", "main"} and (
            draft.takes_group(category) | draft.takes_extra(category)
        )
        is_other = category not in {"", "main"} or tree.text(item, "optional") == "true"
        if is_other and not is_taken:
            optional.append(tree.text(item, "name"))
            continue
        platform = tree.text(item, "platform")
        before = len(draft.requirements)
        _package(draft, tree, names, item)
        found += [(each, platform) for each in draft.requirements[before:]]
    draft.requirements = merged(found)
    only_one_cuda(draft)
    only_named(draft, 1, "what other categories need", optional)
    return draft.manifest()


def _package(draft: Draft, tree: ManifestTree, names: CondaNames, item: Node) -> None:
    name, version = tree.find(item, "name"), tree.find(item, "version")
    if name is None or version is None:
        raise tree.error(item, "a package without name or version")
    tree.count_package(item)
    url = clean_url(tree.text(item, "url"))
    if tree.text(item, "manager") == "pip":
        wheel = file_of(url)
        draft.requirements.append(
            Requirement(
                name=distribution(tree, name, tree.as_text(name)),
                place=tree.place(name),
                specifier=exactly(tree, version),
                files=(wheel,) if wheel.endswith(".whl") else (),
            )
        )
        return
    spec = conda_file(url) or Spec(tree.as_text(name), f"=={tree.as_text(version)}")
    add_spec(draft, names, spec, tree.place(name), files=(file_of(url),))


def _explicit(source: Source) -> Manifest:
    """Read a list of addresses, one a line."""
    draft = Draft(source, EXPLICIT)
    draft.is_complete = True
    names = CondaNames()
    if source.text.count("\n") > _LINE_LIMIT:
        raise source.error(f"more than {_LINE_LIMIT:,} lines")
    found: list[tuple[Requirement, str]] = []
    for number, line in enumerate(source.lines(), 1):
        text, place = line.strip(), Place(source.name, number, len(line) - len(line.lstrip()) + 1)
        if pip := _PIP.fullmatch(text):
            draft.requirements.append(read_requirement(pip[1], place, source))
        elif text and not text.startswith(("#", "@")):
            url = clean_url(text)
            spec = conda_file(url)
            if spec is None:
                raise source.error("no address of a package of conda", line=number)
            if len(found) >= PACKAGE_LIMIT:
                raise source.error(f"more than {PACKAGE_LIMIT:,} packages", line=number)
            before = len(draft.requirements)
            add_spec(draft, names, spec, place, files=(file_of(url),))
            platform = url.split("/")[-2] if url.count("/") > 1 else ""
            found += [(each, platform) for each in draft.requirements[before:]]
            del draft.requirements[before:]
    known = [platform for _, platform in found if platform_marker(platform)]
    # a list is for one platform; what is noarch in it is for no other
    draft.requirements += merged((each, known[0] if known else "noarch") for each, _ in found)
    return draft.manifest()
