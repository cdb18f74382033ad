"""``pixi.lock``, formats 4 to 6."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.entries import distribution, index_setting, is_version
from fadoctor.sources.manifests.formats.conda_files import conda_file
from fadoctor.sources.manifests.formats.conda_spec import CondaNames, Spec, add_spec, only_one_cuda
from fadoctor.sources.manifests.formats.merged import merged
from fadoctor.sources.manifests.formats.pixi_toml import chosen_environment
from fadoctor.sources.manifests.formats.unread_lines import without_unread
from fadoctor.sources.manifests.planned import UNASKED, Requirement
from fadoctor.sources.manifests.requirement_text import file_of
from fadoctor.sources.manifests.yaml_tree import read_yaml
from fadoctor.sources.probes.metadata import clean_url

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

KIND = "pixi.lock"
_FORMATS = frozenset(("4", "5", "6"))


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND or (head.startswith("version:") and "\nenvironments:\n" in head)


def read(source: Source) -> Manifest:
    """Return the packages of the default environment, with markers for platforms."""
    tree = read_yaml(without_unread(source))
    draft = Draft(source, KIND)
    draft.is_complete = True
    version = tree.find(tree.root, "version")
    if version is None or tree.as_text(version) not in _FORMATS:
        raise tree.error(version or tree.root, "a lock of an unknown format: 4 to 6 are known")
    environments = tree.table(tree.root, "environments")
    default = environments.get(chosen_environment(draft, tree, environments))
    for name, node in environments.items():
        if node is not default:
            option = "" if name == "default" else f"; --group {name} takes it"
            line = tree.place(node).line
            draft.note(line, f"the environment {name}{UNASKED}{option}")
    records = _records(tree)
    names = CondaNames()
    draft.indexes += [index_setting(tree, each) for each in tree.items(default, "indexes")]
    found: list[tuple[Requirement, str]] = []
    for platform, node in tree.table(default, "packages").items():
        for item in tree.items(node):
            before = len(draft.requirements)
            _package(draft, tree, names, item, records)
            found += [(each, platform) for each in draft.requirements[before:]]
    draft.requirements = merged(found)
    only_one_cuda(draft)
    return draft.manifest()


def _records(tree: ManifestTree) -> dict[str, Node]:
    """Return the records of packages by their address."""
    found = {}
    for item in tree.items(tree.root, "packages"):
        for key in ("conda", "pypi", "url", "path"):
            if url := tree.text(item, key):
                found[url] = item
                break
    return found


def _package(
    draft: Draft, tree: ManifestTree, names: CondaNames, item: Node, records: dict[str, Node]
) -> None:
    conda, pypi = tree.find(item, "conda"), tree.find(item, "pypi")
    said = conda or pypi
    if said is None:
        raise tree.error(item, "neither a package of conda nor one of PyPI")
    tree.count_package(said)
    record = records.get(tree.as_text(said))
    if record is None:
        raise tree.error(said, "there is no record of this package")
    url = clean_url(tree.as_text(said))
    if conda is None:
        draft.requirements.append(_pypi(tree, record, url))
        return
    spec = conda_file(url)
    if spec is None and (name := tree.text(record, "name")):
        spec = Spec(name, f"=={tree.text(record, 'version')}", tree.text(record, "build"))
    if spec is None:
        draft.note(tree.place(said).line, f"a package at {url} is built from source")
        return
    add_spec(draft, names, spec, tree.place(record), files=(file_of(url),))


def _pypi(tree: ManifestTree, record: Node, url: str) -> Requirement:
    name = tree.find(record, "name")
    if name is None:
        raise tree.error(record, "a package without a name")
    version = tree.text(record, "version")
    if version and not is_version(version):
        raise tree.error(record, f"{version[:100]!r} is not a version")
    wheel = file_of(url)
    is_wheel = wheel.endswith(".whl")
    requires = tuple(tree.as_text(each) for each in tree.items(record, "requires_dist"))
    return Requirement(
        name=distribution(tree, name, tree.as_text(name)),
        place=tree.place(record),
        specifier=f"=={version}" if version else "",
        url="" if is_wheel else url,
        files=(wheel,) if is_wheel else (),
        requires=requires,
    )
