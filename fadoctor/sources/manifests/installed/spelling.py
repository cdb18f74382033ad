"""Releases that a file spells shorter than an index: ``torch==2.6`` installs 2.6.0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.packages import RELEASE_TABLES, package_of

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined

_SHORT = re.compile(r"\d{1,6}(?:\.\d{1,6})?")
OF_SEVERAL = ("helper-releases", "framework-releases")
"""Tables of several packages, which name each."""


def as_listed(combined: Combined, matrix: Matrix) -> Combined:
    """Return what files say with each pin as the tables of releases spell it.

    An index has 2.6.0, and no 2.6: zeros at the end tell no release from another.
    """
    found = dict(combined.packages)
    for name, planned in combined.packages.items():
        version, plus, local = planned.version.partition("+")
        if _SHORT.fullmatch(version) and not planned.url:
            spelled = _spelled(name, version, matrix) + plus + local
            if spelled != planned.version:
                found[name] = msgspec.structs.replace(planned, version=spelled)
    return msgspec.structs.replace(combined, packages=found)


def _spelled(name: str, version: str, matrix: Matrix) -> str:
    """Return the first of 2.6, 2.6.0 and 2.6.0.0 that a table has; as it is where none does."""
    forms = (version, f"{version}.0", f"{version}.0.0")
    return next((form for form in forms if _is_listed(name, form, matrix)), version)


def _is_listed(name: str, version: str, matrix: Matrix) -> bool:
    table = RELEASE_TABLES.get(package_of(name) or "", "")
    asked = {"version": Known(version, "a file")}
    if table:
        return bool(matrix.find(table, asked).rows)
    asked |= {"package": Known(name, "a file")}
    return any(matrix.find(other, asked).rows for other in OF_SEVERAL)
