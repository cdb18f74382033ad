"""Which requirements, declared by an installed package, are not met here."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.matrix.versions import parse_specifier, parse_version
from fadoctor.model.catalogue import PACKAGES
from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fadoctor.matrix.query import Matrix

_SOURCE = "its requirements, and the list of installed packages"
_TABLE = "requirement-rules"
_ALIASES = {name: names for names in PACKAGES.values() if len(names) > 1 for name in names}
"""A distribution -> those that can stand in for it: triton is pytorch-triton elsewhere."""


def unmet_requirements(
    facts: Mapping[str, Fact], matrix: Matrix, packages: Collection[str]
) -> dict[str, Fact]:
    """Return what of the packages' requirements does not hold.

    ``unmet`` has all of it, ``unmet_alone`` what no rule of its own speaks of, ready to be
    installed, ``missing`` the names that are not installed at all. Requirements of what conda
    installs are not looked at: it calls some distributions by other names.
    """
    installed = facts.get("packages.installed")
    if installed is None:
        return {}
    found: dict[str, Fact] = {}
    for package in packages:
        if isinstance(facts.get(f"{package}.version"), (Known, Unknown)):
            found |= _of_package(package, installed, facts, matrix)
    return found


def _of_package(
    package: str, installed: Fact, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, Fact]:
    names = [f"{package}.{name}" for name in ("unmet", "unmet_alone", "missing")]
    requires = facts.get(f"{package}.requires", Unknown("no probe has looked", package))
    installer = facts.get(f"{package}.installer")
    if isinstance(installer, Known) and installer.value == "conda":
        return dict.fromkeys(names, Absent("conda has names of its own"))
    if not isinstance(requires, Known) or not isinstance(requires.value, dict):
        return dict.fromkeys(names, requires)
    if not isinstance(installed, Known) or not isinstance(installed.value, dict):
        return dict.fromkeys(names, installed)
    build = facts.get("torch.build")
    own_torch = not isinstance(build, Known) or build.value == "other"
    unmet: dict[str, str] = {}
    alone: list[str] = []
    missing: list[str] = []
    for name, specifier in requires.value.items():
        version = _version(name, installed.value)
        if _is_met(version, "" if name == "torch" and own_torch else specifier):
            continue
        state = f"{version} is installed" if version else "not installed"
        unmet[name] = f"({specifier}, {state})" if specifier else f"({state})"
        if not version:
            missing.append(name)
        if not _has_rule(name, matrix, is_missing=not version):
            alone.append(f"{name}{specifier}")
    values: tuple[dict[str, str] | tuple[str, ...], ...] = (unmet, tuple(alone), tuple(missing))
    return {
        name: Known(value, _SOURCE) if value else Absent(f"{_SOURCE}: none")
        for name, value in zip(names, values, strict=True)
    }


def _version(name: str, installed: Mapping[str, str]) -> str | None:
    """Return the version that is installed, "" where another distribution stands in for it."""
    found = installed.get(name)
    if found is None and any(other in installed for other in _ALIASES.get(name, ())):
        return ""
    return found


@lru_cache(maxsize=8192)
def _is_met(version: str | None, specifier: str) -> bool:
    """Return whether a version is in a specifier; what cannot be read is taken to be."""
    if version is None:
        return False
    allowed, parsed = parse_specifier(specifier) if specifier else None, parse_version(version)
    return allowed is None or parsed is None or allowed.contains(parsed, prereleases=True)


def _has_rule(name: str, matrix: Matrix, *, is_missing: bool) -> bool:
    """Return whether a rule of its own speaks of a requirement that is not met."""
    row = matrix.find(_TABLE, {"requirement": Known(name, "asked")})
    return isinstance(row.cell("missing" if is_missing else "outside"), Known)
