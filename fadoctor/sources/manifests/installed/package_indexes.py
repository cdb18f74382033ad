"""Indexes of one package or a few: what they serve beside PyPI, and that torch is not of them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge

if TYPE_CHECKING:
    from fadoctor.sources.manifests.installed.combine import Combined

ITS_INDEX = "its own index has releases that no table counts"
_HOST = re.compile(r"https?://([\w.-]{1,200})")


@lru_cache(maxsize=3)
def _column(name: str) -> dict[str, frozenset[str]]:
    rows = load_knowledge().tables["package-indexes"].rows
    return {str(row["host"]): frozenset(str(row.get(name, "")).split()) for row in rows}


def serves_others(index: str) -> bool:
    """Return whether an index has packages of its own and no torch: those for ROCm bring one."""
    return "/rocm" not in index and _packages(index) != frozenset()


def lacks_package(index: str, name: str) -> bool:
    """Return whether an index surely has no release of a package."""
    return name in _of_host("lacks", index)


def is_without_release(index: str, name: str) -> bool:
    """Return whether an index surely has no release of a package: builds of each night may be."""
    return lacks_package(index, name) or name in _of_host("unreleased", index)


def _packages(index: str) -> frozenset[str]:
    return _of_host("serves", index)


def _of_host(column: str, index: str) -> frozenset[str]:
    found = _HOST.match(index)
    return _column(column).get(found[1].lower(), frozenset()) if found else frozenset()


def of_their_indexes(combined: Combined) -> Combined:
    """Return what files ask for; the release of what an index has for itself stays open."""
    own: frozenset[str] = frozenset()
    for each in combined.indexes:
        own |= _packages(each.value)
    packages = {
        name: msgspec.structs.replace(each, open=ITS_INDEX)
        if (name in own or name in _packages(each.index)) and not (each.version or each.url)
        else each
        for name, each in combined.packages.items()
    }
    return msgspec.structs.replace(combined, packages=packages)
