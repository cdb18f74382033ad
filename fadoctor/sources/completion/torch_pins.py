"""Which libraries of NVIDIA torch pins, where a list has another version of one of them.

PyPI's torch pins each of them. A file of torch's own index pins others, and has its build as a
label, so what has none in a list of pip is PyPI's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.fitting_release import split_requirement
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Fact, Known, fact_mapping, fact_text, fact_words
from fadoctor.model.packages import TORCH, TRITON
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix

_TABLE, _RELEASES = "torch-nvidia", "torch-releases"
_LINUX = "linux_x86_64"


def torch_pins(
    facts: Mapping[str, Fact], told: Mapping[str, str], matrix: Matrix, *, is_whole: bool
) -> dict[str, Fact]:
    """Return what torch requires, where a named library of NVIDIA is not of the version it pins.

    `told`: what an installer says that torch requires; `is_whole`: the text holds a list of pip
    that nobody shortened.
    """
    version, platform = facts.get(f"{TORCH}.version"), facts.get("host.platform")
    there = fact_mapping(facts.get(NAMED))
    if not isinstance(version, Known) or fact_text(platform or version, "") != _LINUX:
        return {}
    if version_part(str(version.value), "local"):
        return {}  # a build of torch's own index
    keys: dict[str, Fact] = {"version": version, "platform": Known(_LINUX, "asked")}
    cell = matrix.find(_TABLE, keys).cell("pins")
    pins = dict(map(split_requirement, fact_words(cell)))
    off = [name for name, text in pins.items() if name in there and text != f"=={there[name]}"]
    asked = any(
        name in pins
        for fact, value in facts.items()
        if fact.endswith(".requires")
        for name in fact_mapping(value)
    )
    if not (off or asked or _is_mixed(pins, there)) or not _is_of_pypi(
        facts, told, pins, is_whole=is_whole
    ):
        return {}
    triton = matrix.find(_RELEASES, keys).cell(TRITON)
    needs = {name: text for name, text in pins.items() if name in there}
    needs |= {TRITON: str(triton.value)} if isinstance(triton, Known) else {}
    return {f"{TORCH}.requires": Known(needs, cell.source)}


def _is_mixed(pins: Mapping[str, str], there: Mapping[str, str]) -> bool:
    """Return whether a library of a pin is there for another major version of CUDA, too."""
    majors = ("-cu11", "-cu12", "-cu13")
    bases = {name[:-5] for name in pins if name.endswith(majors)}
    return any(name[:-5] in bases and name not in pins for name in there if name.endswith(majors))


def _is_of_pypi(
    facts: Mapping[str, Fact],
    told: Mapping[str, str],
    pins: Mapping[str, str],
    *,
    is_whole: bool,
) -> bool:
    """Return whether the torch of a text is PyPI's: by its build, its list, or its own pins."""
    build = facts.get(f"{TORCH}.build")
    if isinstance(build, Known):
        return build.value == "pypi"
    same = [pins[name] == text for name, text in told.items() if name in pins]
    return all(same) if same else is_whole
