"""Requirements as the shared shapes have them, from what formats write in PEP 508 or beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from fadoctor.manifests.planned import Requirement, Setting
from fadoctor.probes.metadata import normalise_name
from fadoctor.probes.redaction import hide_tokens

if TYPE_CHECKING:
    from fadoctor.manifests.tree import Node, Tree

LENGTH_LIMIT = 2000
"""Longest requirement or URL that is read, in characters."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")
_USER_INFO = re.compile(r"(?<=://)[^/@\s]{1,300}@")


def clean_url(url: str) -> str:
    """Return a URL or a path without credentials."""
    return hide_tokens(_USER_INFO.sub("", url[:LENGTH_LIMIT]))


def setting(tree: Tree, node: Node) -> Setting:
    """Return a text of a file with its place."""
    return Setting(tree.as_text(node), tree.place(node))


def index_setting(tree: Tree, node: Node) -> Setting:
    """Return an index with its place, without credentials."""
    return Setting(clean_url(tree.as_text(node)), tree.place(node))


def pep508(tree: Tree, node: Node, **more: Any) -> Requirement:
    """Return ``torch>=2.4; sys_platform == 'linux'`` as a requirement, with more fields of it.

    InputError where it is malformed.
    """
    text = tree.as_text(node)
    try:
        if len(text) > LENGTH_LIMIT:
            raise InvalidRequirement("too long")
        parsed = Pep508(text)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        raise tree.error(node, f"{text[:200]!r} is no requirement: {reason}") from error
    fields: dict[str, Any] = {
        "specifier": str(parsed.specifier),
        "url": clean_url(parsed.url or ""),
        "marker": str(parsed.marker or ""),
        "extras": tuple(sorted(parsed.extras)),
    }
    return Requirement(name=normalise_name(parsed.name), place=tree.place(node), **fields | more)


def distribution(tree: Tree, node: Node, name: str) -> str:
    """Return a normalised name; InputError at the node where it can be none."""
    if not _NAME.fullmatch(name):
        raise tree.error(node, f"{name[:100]!r} is no name of a package")
    return normalise_name(name)


def exactly(tree: Tree, node: Node) -> str:
    """Return ``==2.7.1`` for a lock's version; InputError where it is none."""
    text = tree.as_text(node)
    if not is_version(text):
        raise tree.error(node, f"{text[:100]!r} is no version")
    return f"=={text}"


def is_version(text: str) -> bool:
    """Say whether a text is a version by PEP 440."""
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


def specifier(tree: Tree, node: Node) -> str:
    """Return a PEP 440 specifier as it is written; InputError where it is none."""
    text = tree.as_text(node).strip()
    if text == "*":
        return ""
    if not is_specifier(text):
        raise tree.error(node, f"{text[:100]!r} is no range of versions")
    return text


def marker(tree: Tree, node: Node) -> str:
    """Return a marker as it is written; InputError where it is none."""
    text = tree.as_text(node)
    try:
        if len(text) > LENGTH_LIMIT:
            raise InvalidMarker("too long")
        Marker(text)
    except InvalidMarker as error:
        raise tree.error(node, f"{text[:200]!r} is no marker") from error
    return text


def all_of(*markers: str) -> str:
    """Return the marker that holds where all of these do."""
    given = [each for each in markers if each]
    if len(given) == 1:
        return given[0]
    return " and ".join(f"({each})" if " or " in each else each for each in given)


def file_name(url: str) -> str:
    """Return the name of the file that a URL or a path ends in."""
    path = url.partition("#")[0].partition("?")[0]
    return path.replace("\\", "/").rpartition("/")[2].replace("%2B", "+")
