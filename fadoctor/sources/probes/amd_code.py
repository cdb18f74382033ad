"""Which of AMD's GPUs a compiled extension holds code for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.offload import read_offload
from fadoctor.knowledge.matrix.rocm_labels import label_of
from fadoctor.model.fact import Absent, Fact, Known, printable
from fadoctor.model.packages import TORCH
from fadoctor.sources.probes.world import World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.sources.probes.extensions import Extension

_LIBRARY = "libtorch_hip.so"
_GENERIC = "-generic"


def amd_code(extension: Extension, world: World, facts: Mapping[str, Fact]) -> Fact:
    """Return the GPUs: of torch, those that every part of its library has code for.

    Nothing is read beside a torch that is not for AMD's GPUs, nor of a torch that the index of
    PyTorch has, which the matrix knows.
    """
    hip = facts.get("torch.hip")
    if not isinstance(hip, Known):
        return hip or absent("no torch for AMD's GPUs was read")
    path = Path(extension.path)
    if world.os == "windows":
        return unknown("libraries of Windows are not read for it", world.name(path))
    if extension.key == TORCH:
        version = facts.get("torch.version")
        published = isinstance(version, Known) and label_of(str(version.value))
        if published and not world.thorough:
            return absent(f"{_LIBRARY}: the matrix may list this build; --thorough reads the file")
        path = path.parent / "lib" / _LIBRARY
    source = world.name(path)
    if not path.is_file():
        return absent(source)
    try:
        found = read_offload(path)
    except BadBinaryError as error:
        return unknown(printable(str(error)), source)
    return gfx_fact(found.common, f"{source}: {found.count} bundles", source)


def gfx_fact(targets: tuple[str, ...], said: str, source: str) -> Fact:
    """Return targets as a fact; code for a whole generation runs on GPUs that it does not name."""
    if any(target.endswith(_GENERIC) for target in targets):
        return unknown(f"it has code for {', '.join(targets)}", source)
    return known(targets, said) if targets else Absent(f"{source}: no code for AMD's GPUs")
