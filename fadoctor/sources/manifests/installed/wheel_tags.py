"""Wheels that files name by their address, and that are for another platform or Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.wheel_words import python_fits
from fadoctor.model.fact import Fact, Known, printable
from fadoctor.model.packages import OWN_PYTHON_RULE
from fadoctor.sources.manifests.installed.planned_torch import is_conda
from fadoctor.sources.manifests.requirement_text import file_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.sources.manifests.installed.combine import Combined

UNFIT = "packages.unfit_wheels"
_SOURCE = "the names of the files"
# linux_x86_64, manylinux_2_28_aarch64, macosx_11_0_arm64, win_amd64
_PLATFORM = re.compile(
    r"(?:many|musl)?(?P<system>linux|macosx|win)\d{0,4}(?:_\d{1,4}){0,3}_(?P<machine>[a-z]\w{1,20})"
)


def unfit_wheels(combined: Combined, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return which wheels an installer refuses here, by the tags of their names."""
    platform, python = (_text(facts, name) for name in ("host.platform", "python.abi_tag"))
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        parts = file_of(planned.url).removesuffix(".whl").split("-")
        if planned.open or is_conda(planned) or not planned.url.endswith(".whl") or len(parts) < 5:
            continue
        pythons, abis, platforms = (part.split(".") for part in parts[-3:])
        if platform and not any(_runs_on(each, platform) for each in platforms[:20]):
            found[name] = f"(for {printable('.'.join(platforms), 60)}, and this is {platform})"
        elif python and name not in OWN_PYTHON_RULE and not _is_for(python, pythons, abis):
            found[name] = f"(for {printable('.'.join(pythons), 60)}, and this is {python})"
    return {UNFIT: Known(found, _SOURCE)}


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
