"""What follows about AMD's GPUs, which programs can take for others, and about a torch for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.rocm_labels import label_of
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Rows
    from fadoctor.model.environment import Environment

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_BUILDS = "torch-rocm-builds"
# libaotriton_v2.so.0.11.1
_AOTRITON = r"libaotriton_v2\.so\.(\d{1,4}(?:\.\d{1,4}){1,3})"
_OF_HIP = re.compile(r"(?:lib)?torch_hip\.(?:so|dll)")
_OVERRIDE = r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})"
_STEPS = 16


def rocm_facts(environment: Environment, matrix: Matrix) -> dict[str, Fact]:
    """Return what programs take each GPU for, and what the torch that is here has for AMD's."""
    found = taken_for(environment)
    for gpu in (subject.text for subject in environment.subjects("gpu")):
        found[f"{gpu}.discrete"] = _discrete(environment.fact(f"{gpu}.gfx"), matrix)
    return found | _torch_facts(environment.facts, matrix)


def taken_for(environment: Environment) -> dict[str, Fact]:
    """Return which GPU programs take each one for."""
    gpus = (subject.text for subject in environment.subjects("gpu"))
    return {f"{gpu}.isa": _isa(environment, gpu) for gpu in gpus}


def gfx_of(override: str) -> str | None:
    """Return gfx90a for ``9.0.10``, as the ROCm runtime reads it; None for what is none."""
    match = re.fullmatch(_OVERRIDE, override.strip())
    if match is None:
        return None
    major, minor, step = (int(part) for part in match.groups())
    return f"gfx{major}{minor:x}{step:x}" if major and minor < _STEPS and step < _STEPS else None


def _isa(environment: Environment, gpu: str) -> Fact:
    """Return the GPU that programs see: the variable is heeded for all that are AMD's."""
    gfx = environment.fact(f"{gpu}.gfx")
    said = environment.facts.get(f"env.{OVERRIDE}")
    if isinstance(gfx, Absent) or not isinstance(said, Known):
        return gfx
    name = gfx_of(str(said.value))
    source = f"{OVERRIDE}={said.value}"
    return Known(name, source) if name else Unknown(f"{source} is not a version", source)


def _discrete(gfx: Fact, matrix: Matrix) -> Fact:
    """Return whether a GPU of AMD is on a card; Unknown of a chip that no table has."""
    if not isinstance(gfx, Known):
        return gfx
    row = matrix.find("amd-gpu-names", {"gfx": gfx})
    return (
        row.cell("discrete")
        if row.rows
        else Unknown("the tables do not list this chip", gfx.source)
    )


def _torch_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    names = ("rocm", "aotriton", "rocm_archs", "rocm_unsure")
    hip = facts.get("torch.hip", Absent("no torch was read"))
    if isinstance(hip, Absent):
        return {f"torch.{name}": hip for name in names}
    label = _label(facts)
    version = facts.get("torch.version", Absent("no torch was read"))
    rows = matrix.find(_BUILDS, {"version": version, "rocm": label})
    archs, unsure = rows.cell("gfx"), rows.cell("unsure")
    own = facts.get("torch.binary.gfx")
    if isinstance(own, Known):
        archs, unsure = own, Known((), own.source)
    found = (label, _aotriton(facts, rows), archs, unsure)
    return {f"torch.{name}": fact for name, fact in zip(names, found, strict=True)}


def _label(facts: Mapping[str, Fact]) -> Fact:
    """Return the label of the index that has this build; Unknown of AMD's own builds."""
    version = facts.get("torch.version")
    if not isinstance(version, Known):
        return version or Unknown("no torch was read", "torch.version")
    if label := label_of(str(version.value)):
        return Known(label, version.source)
    return Unknown(f"{version.value} has no label of an index of PyTorch", version.source)


def _aotriton(facts: Mapping[str, Fact], rows: Rows) -> Fact:
    """Return the release by the name of its file, else by the table."""
    libraries = facts.get("torch.libraries")
    names = fact_words(libraries) if libraries else ()
    for name in names:
        if match := re.fullmatch(_AOTRITON, name):
            return Known(match[1], f"torch/lib/{name}")
    if any(map(_OF_HIP.fullmatch, names)) and not any("aotriton" in name for name in names):
        return Absent("no libaotriton_v2 in torch/lib")
    said = rows.cell("aotriton")
    among = fact_words(said)
    if not among:
        return said if isinstance(said, Unknown) else Unknown("no table says it", said.source)
    if len(among) == 1:
        return Known(among[0], said.source)
    return Unknown(f"AOTriton {' or '.join(among)}", said.source, among, " or ".join(among))
