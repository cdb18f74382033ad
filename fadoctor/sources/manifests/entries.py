"""Requirements as the shared shapes have them, from what formats write in PEP 508 or beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.markers import InvalidMarker, Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.manifests.requirement_text import (
    LENGTH_LIMIT,
    read_requirement,
    version_of_url,
)
from fadoctor.sources.probes.metadata import clean_url, normalise_name

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Requirement
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

# 2.7.1, as most are: a tenth of the time of a parser
_PLAIN = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,5}")
# mbridge @ git+https://host/name.git@310e8fb; sys_platform == "linux": a blank is missing
_GLUED = re.compile(r"( @ [^\s;]{1,2000});(?=\s)")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")


def setting(tree: ManifestTree, node: Node) -> Setting:
    """Return a text of a file with its place."""
    return Setting(tree.as_text(node), tree.place(node))


def index_setting(tree: ManifestTree, node: Node) -> Setting:
    """Return an index with its place, without credentials."""
    return Setting(clean_url(tree.as_text(node)), tree.place(node))


def pep508(tree: ManifestTree, node: Node) -> Requirement:
    """Return what ``torch>=2.4; sys_platform == 'linux'`` asks for.

    InputError with line and key where it is malformed.
    """
    text = _GLUED.sub(r"\1 ;", tree.as_text(node)[: LENGTH_LIMIT + 1])
    tree.count_package(node)
    try:
        return read_requirement(text, tree.place(node), tree.source)
    except InputError as error:
        raise tree.error(node, error.problem) from error


def address(text: str) -> dict[str, str]:
    """Return the fields for a package that comes from an address or a path: itself, its version."""
    url = clean_url(text) if "://" in text else text.partition("#")[0][:LENGTH_LIMIT]
    return {"url": url, "specifier": version_of_url(url)}


def repository(tree: ManifestTree, node: Node, url: str) -> dict[str, str]:
    """Return the fields for a package that is built from a repository."""
    at = next(
        (text for key in ("rev", "tag", "branch", "ref") if (text := tree.text(node, key))), ""
    )
    url = clean_url(url if url.startswith("git+") else f"git+{url}")
    return {"url": f"{url}@{at}" if at else url, "specifier": ""}


def distribution(tree: ManifestTree, node: Node, name: str) -> str:
    """Return a normalised name; InputError at the node where it can be none."""
    tree.count_package(node)
    if not _NAME.fullmatch(name):
        raise tree.error(node, f"{name[:100]!r} is not the name of a package")
    return normalise_name(name)


def exactly(tree: ManifestTree, node: Node) -> str:
    """Return ``==2.7.1`` for a lock's version; InputError where it is none."""
    text = tree.as_text(node)
    if not is_version(text):
        raise tree.error(node, f"{text[:100]!r} is not a version")
    return f"=={text}"


def is_version(text: str) -> bool:
    """Say whether a text is a version by PEP 440."""
    if _PLAIN.fullmatch(text):
        return True
    try:
        Version(text[:200])
    except InvalidVersion:
        return False
    return len(text) <= 200


def is_specifier(text: str) -> bool:
    """Say whether a text is a specifier by PEP 440."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def specifier(tree: ManifestTree, node: Node) -> str:
    """Return a PEP 440 specifier as it is written; InputError where it is none."""
    text = tree.as_text(node).strip()
    if text == "*":
        return ""
    if not is_specifier(text):
        raise tree.error(node, f"{text[:100]!r} is not a version range")
    return text


def marker(tree: ManifestTree, node: Node) -> str:
    """Return a marker as it is written; InputError where it is none."""
    text = tree.as_text(node)
    try:
        Marker(text[:LENGTH_LIMIT])
    except (InvalidMarker, RecursionError) as error:
        raise tree.error(node, f"{text[:200]!r} is not a marker") from error
    return text


def all_of(*markers: str) -> str:
    """Return the marker that holds where all of these do."""
    given = [each for each in markers if each]
    if len(given) == 1:
        return given[0]
    return " and ".join(f"({each})" if " or " in each else each for each in given)
