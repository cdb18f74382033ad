"""Which releases would accept what is installed, where a requirement is not met."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.fitting_release import (
    FittingSetting,
    accepting_releases,
    bounds_on,
    built_for,
    fitting_release,
    fitting_torch,
    is_listed,
)
from fadoctor.knowledge.matrix.versions import admits
from fadoctor.model.catalogue import REQUIRER
from fadoctor.model.fact import Known, fact_mapping, fact_text
from fadoctor.model.packages import PACKAGES, TORCH, TRITON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fact import Fact, Value

_LISTS = ("packages.installed", "packages.named")
_MOST_APART = 3
"""Packages that a text names as those that require another version."""


def accepted(
    distribution: str, unmet: Mapping[str, str], facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, Value]:
    """Return what can be installed where requirements of a package are not met.

    `unmet`: what is installed in another version -> the specifier. What is not known is empty.
    """
    found: dict[str, Value] = {
        "unmet_fits": "", "unmet_torch": (), "unmet_torch_from": "",
        "unmet_refused": False, "unmet_apart": "",
    }  # fmt: skip
    if not unmet:
        return found
    setting = setting_of(facts, unmet)
    apart = _apart(distribution, unmet, setting, matrix)
    if is_listed(distribution, matrix):
        found["unmet_refused"] = not accepting_releases(distribution, setting, matrix)
        if fits := fitting_release(distribution, setting, matrix):
            found["unmet_fits"] = f"{distribution}=={fits}"
    if {TORCH, TRITON} & unmet.keys() and (torch := fitting_torch(distribution, setting, matrix)):
        index = _index_of(torch[0], matrix)
        found |= (
            {"unmet_torch_from": f"{' '.join(torch)} --index-url {index}"}
            if index
            else {"unmet_torch": torch}
        )
    if apart:
        found["unmet_apart"] = ", ".join(apart[:_MOST_APART])
    return found


def compiled_release(distribution: str, facts: Mapping[str, Fact], matrix: Matrix) -> str:
    """Return the release of a package that was compiled for this torch, "" where none is known."""
    found = built_for(distribution, setting_of(facts), matrix)
    return f"{distribution}=={found}" if found else ""


def release_instead(distribution: str, facts: Mapping[str, Fact], matrix: Matrix) -> str:
    """Return what takes the place of a package that has ended: the release that fits, if known."""
    keys: dict[str, Fact] = {"distribution": Known(distribution, "asked")}
    other = fact_text(matrix.find("packages-ended", keys).cell("install"), "")
    release = fitting_release(other, setting_of(facts), matrix) if other else ""
    return f"{other}=={release}" if release else other


def setting_of(facts: Mapping[str, Fact], kept: Mapping[str, str] | None = None) -> FittingSetting:
    """Return what is there: of all that is installed, or of what a text names."""
    there: dict[str, str] = {}
    for name in _LISTS:
        there |= {k: v for k, v in fact_mapping(facts.get(name)).items() if v}
    for package, names in PACKAGES.items():
        if version := _text(facts, f"{package}.version"):
            there[_text(facts, f"{package}.distribution") or names[0]] = version
    return FittingSetting(
        there,
        _text(facts, "python.version"),
        _text(facts, "host.os"),
        _requirements(facts),
        kept or {},
    )


def _requirements(facts: Mapping[str, Fact]) -> dict[str, Mapping[str, str]]:
    """Return what metadata say, of the packages whose metadata were read."""
    count = facts.get(f"{REQUIRER}.count")
    number = int(str(count.value)) if isinstance(count, Known) else 0
    found: dict[str, Mapping[str, str]] = {}
    for key in (*PACKAGES, *(f"{REQUIRER}[{place}]" for place in range(number))):
        requires = facts.get(f"{key}.requires")
        name = _text(facts, f"{key}.distribution") or (PACKAGES[key][0] if key in PACKAGES else "")
        if name and isinstance(requires, Known):
            found[name] = fact_mapping(requires)
    return found


def _apart(
    distribution: str, unmet: Mapping[str, str], setting: FittingSetting, matrix: Matrix
) -> list[str]:
    """Return which packages require of these the version that is there, and refuse the other."""
    found: dict[str, None] = {}
    for name, specifier in unmet.items():
        pin = specifier.removeprefix("==")
        if pin == specifier or not pin[:1].isdigit():
            continue
        for other, text in bounds_on(name, setting, matrix).items():
            if other != distribution and not admits(text, pin):
                found[f"{other} {setting.there.get(other, '')}".rstrip()] = None
    return list(found)


def _index_of(requirement: str, matrix: Matrix) -> str:
    """Return the index that has the build which a requirement names, "" where it names none."""
    build = requirement.partition("+")[2]
    cell = matrix.find("torch-indexes", {"build": Known(build, "asked")}).cell("index")
    return fact_text(cell, "") if build else ""


def _text(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return fact_text(fact, "") if isinstance(fact, Known) else ""
