"""Wheels that files name by their address, and that are for another platform, glibc or Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.wheel_words import python_fits, tags_of
from fadoctor.model.fact import Fact, Known, printable
from fadoctor.model.packages import OWN_PYTHON_RULE
from fadoctor.sources.manifests.installed.fact_names import UNFIT
from fadoctor.sources.manifests.installed.planned_torch import is_conda
from fadoctor.sources.manifests.requirement_text import file_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.sources.manifests.installed.combine import Combined

_SOURCE = "the names of the files"
# linux_x86_64, manylinux_2_28_aarch64, macosx_11_0_arm64, win_amd64
_PLATFORM = re.compile(
    r"(?:many|musl)?(?P<system>linux|macosx|win)\d{0,4}(?:_\d{1,4}){0,3}_(?P<machine>[a-z]\w{1,20})"
)


# manylinux_2_28_x86_64 | manylinux2014_x86_64, which names a year
_GLIBC = re.compile(r"manylinux(?:_(?P<major>\d{1,2})_(?P<minor>\d{1,3})|(?P<year>1|2010|2014))_")
_OF_YEAR = {"1": (2, 5), "2010": (2, 12), "2014": (2, 17)}
"""The glibc of the names before PEP 600, which gives them."""

_VERSION = re.compile(r"(\d{1,2})\.(\d{1,3})")


def unfit_wheels(combined: Combined, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return which wheels an installer refuses here, by the tags of their names."""
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        if not planned.open and not is_conda(planned) and planned.url.endswith(".whl"):
            asks = name not in OWN_PYTHON_RULE
            if problem := unfit(file_of(planned.url), facts, asks_python=asks):
                found[name] = f"({problem})"
    return {UNFIT: Known(found, _SOURCE)}


def unfit(file: str, facts: Mapping[str, Fact], *, asks_python: bool = True) -> str:
    """Return why an installer refuses a wheel of this name here; empty where it is not known to.

    `for manylinux_2_39_x86_64, and this is glibc 2.35`. `asks_python`: its tags of Python count.
    """
    if (tags := tags_of(file)) is None:
        return ""
    pythons, abis, platforms = tags
    platform, python, glibc = (
        _text(facts, name) for name in ("host.platform", "python.abi_tag", "host.glibc")
    )
    named = printable(".".join(platforms), 60)
    if platform and not any(_runs_on(each, platform) for each in platforms[:20]):
        return f"for {named}, and this is {platform}"
    if glibc and not any(_has_glibc(each, glibc) for each in platforms[:20]):
        return f"for {named}, and this is glibc {glibc}"
    if python and asks_python and not _is_for(python, pythons, abis):
        return f"for {printable('.'.join(pythons), 60)}, and this is {python}"
    return ""


def _has_glibc(tag: str, glibc: str) -> bool:
    """Return whether a tag is for a glibc; True of one that names none."""
    asked, here = _GLIBC.match(tag), _VERSION.match(glibc)
    if asked is None or here is None:
        return True
    least = _OF_YEAR.get(asked["year"]) or (int(asked["major"]), int(asked["minor"]))
    return (int(here[1]), int(here[2])) >= least


def _runs_on(tag: str, platform: str) -> bool:
    """Return whether a tag is for a platform; True of what is none that is known."""
    mine, theirs = _PLATFORM.fullmatch(tag), _PLATFORM.fullmatch(platform)
    if tag == "any" or mine is None or theirs is None:
        return True
    machines = {mine["machine"], "universal2" if mine["system"] == "macosx" else mine["machine"]}
    is_same = theirs["machine"] in machines or mine["machine"] == "universal2"
    return mine["system"] == theirs["system"] and is_same


def _is_for(python: str, pythons: list[str], abis: list[str]) -> bool:
    """Return whether tags of a name are for a Python, by its ABI tag; True where nobody knows."""
    tags = [tag for tag in pythons[:20] if re.fullmatch(r"cp\d{2,3}", tag)]
    if len(tags) != len(pythons) or "none" in abis:
        return True
    limited = "-abi3" if "abi3" in abis else ""
    if limited:
        return any(python_fits(f"{tag}{limited}", python) for tag in tags) or python.endswith("t")
    return any(python_fits(abi, python) for abi in abis[:20])


def _text(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""
