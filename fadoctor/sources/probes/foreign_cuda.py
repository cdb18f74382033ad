"""CUDA libraries of LD_LIBRARY_PATH that stand in the place of those that torch brings.

Which file the loader takes was foreseen by reading the files. cuDNN opens its parts when it is
first used: by the loader's rules LD_LIBRARY_PATH comes before the DT_RUNPATH of NVIDIA's wheels.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from fadoctor.binary.elf import read_elf
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.files import Tree
from fadoctor.binary.search import FoundBy
from fadoctor.model.fact import Known
from fadoctor.sources.probes.import_path import list_names
from fadoctor.sources.probes.world import absent, known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fadoctor.binary.prediction import Library
    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.binary_facts import Naming
    from fadoctor.sources.probes.world import Facts

CUDA = ("libcu", "libnv", "libnccl")
"""How the names of libraries begin that torch brings and that others bring too."""

_FOLDERS = 50
_WHEELS = 100
"""Folders of NVIDIA's wheels that are looked at."""
_NAMES = 5_000
# libcudnn_graph.so.9.1.0, the parts that each major opens by their names
_PART = re.compile(r"libcudnn_(?:graph|ops|ops_infer)\.so\.(\d{1,2}(?:\.\d{1,3}){2})")


def foreign_facts(naming: Naming, site: Path, facts: Mapping[str, Fact]) -> Facts:
    """Return what LD_LIBRARY_PATH puts before torch's own, where torch loads."""
    libraries = naming.predictor.libraries()
    source = "LD_LIBRARY_PATH, as the loader reads it"
    nothing = absent(source)
    taken = {
        each.soname: naming.name(each.path)
        for each in libraries
        if each.origin is FoundBy.LD_LIBRARY_PATH
        and each.soname.startswith(CUDA)
        and _brings(site, each.soname)
    }
    version, folder = _other_cudnn(naming, libraries, facts)
    return {
        "torch.foreign_cuda": known(taken, source) if taken else nothing,
        "torch.foreign_cudnn": known(version, source) if version else nothing,
        "torch.foreign_cudnn_in": known(folder, source) if folder else nothing,
    }


def _brings(site: Path, name: str) -> bool:
    """Return whether torch's wheel, or one of NVIDIA's beside it, has a library of this name."""
    folders, _ = list_names(str(site / "nvidia"), _WHEELS)
    places = [site / "torch" / "lib", *(site / "nvidia" / each / "lib" for each in folders)]
    return any((place / name).is_file() for place in places)


def _other_cudnn(
    naming: Naming, libraries: tuple[Library, ...], facts: Mapping[str, Fact]
) -> tuple[str, str]:
    """Return version and folder of the cuDNN whose parts torch's own would open; "" for none."""
    own = next((each for each in libraries if each.soname.startswith("libcudnn.so.")), None)
    mine = _own_version(facts)
    variable = naming.world.environ.get("LD_LIBRARY_PATH", "")
    if own is None or own.origin is FoundBy.LD_LIBRARY_PATH or not mine or not variable:
        return "", ""
    if not _looks_elsewhere(naming, own.path):
        return "", ""
    major = own.soname.rpartition(".")[2]
    for folder in re.split("[:;]", variable)[:_FOLDERS]:
        for version in _parts(naming, folder, major) if os.path.isabs(folder) else ():  # noqa: PTH117
            same = mine.split(".")[:3] == version.split(".")
            return ("", "") if same else (version, naming.name(os.path.normpath(folder)))
    return "", ""


def _own_version(facts: Mapping[str, Fact]) -> str:
    wheels = facts.get("packages.nvidia")
    named = wheels.value if isinstance(wheels, Known) and isinstance(wheels.value, dict) else {}
    found = {v for name, v in named.items() if name.startswith("nvidia-cudnn-cu")}
    return found.pop() if len(found) == 1 else ""


def _looks_elsewhere(naming: Naming, path: str) -> bool:
    """Return whether a library's own folder comes after LD_LIBRARY_PATH: it has a DT_RUNPATH."""
    try:
        with Tree(str(naming.world.root)) as tree:
            return bool(read_elf(tree.open(path)).runpath)
    except (BadBinaryError, OSError):
        return False


def _parts(naming: Naming, folder: str, major: str) -> Iterator[str]:
    """Yield the version of the cuDNN parts that the loader would find in a folder."""
    names, _ = list_names(str(naming.world.path(folder)), _NAMES)
    parts = {f"libcudnn_{part}.so.{major}" for part in ("graph", "ops", "ops_infer")}
    if parts.isdisjoint(names):
        return
    versions = {found[1] for found in map(_PART.fullmatch, names) if found}
    fitting = {version for version in versions if version.partition(".")[0] == major}
    if len(fitting) == 1:
        yield fitting.pop()
