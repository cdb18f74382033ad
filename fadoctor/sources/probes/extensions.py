"""Where the compiled extensions of the stack lie: files that the interpreter would import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.model.packages import EXTENSIONS
from fadoctor.sources.probes.import_path import editable_folders, read_import_path
from fadoctor.sources.probes.metadata import normalise_name, record_size
from fadoctor.sources.probes.world import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.import_path import Folder, ImportPath
    from fadoctor.sources.probes.world import World


RECORD_LIMIT = 8 << 20
"""Bytes of a RECORD; that of torch has 1.5 MB."""


class Extension(msgspec.Struct, frozen=True):
    """One compiled extension of a package."""

    key: str
    """The fact prefix of its package."""
    name: str
    """``binary``, or which of several it is."""
    path: str
    """The file; empty where there is none."""
    recorded_size: int | None = None
    """Bytes that the RECORD of its package gives."""

    @property
    def prefix(self) -> str:
        """What its facts begin with: ``vllm.fa2``."""
        return f"{self.key}.{self.name}"


def find_extensions(world: World, facts: Mapping[str, Fact]) -> Iterator[Extension | Unknown]:
    """Yield the extensions of the packages that are there, or why they cannot be looked for."""
    present = [key for key in EXTENSIONS if isinstance(facts.get(f"{key}.version"), Known)]
    extra = [folder for key in present for folder in editable_folders(world, facts, key)]
    path = read_import_path(world, *extra)
    if path.problem:
        yield Unknown(path.problem, "import path")
        return
    suffixes = _suffixes(facts)
    for key in present:
        for name, stems in EXTENSIONS[key].items():
            chosen = [_of_cuda(stem, facts) for stem in stems]
            found = _first(path, chosen, suffixes)
            if found is None:
                yield Extension(key, name, "")
            else:
                folder, file = found
                size = _recorded_size(folder, file, facts.get(f"{key}.distribution"))
                yield Extension(key, name, str(Path(folder.path, file)), size)


def _suffixes(facts: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return the endings that the interpreter imports, in its order, and those of plain libraries.

    A file for another Python is none that it would load.
    """
    own = facts.get("python.ext_suffix")
    first = (str(own.value),) if isinstance(own, Known) else ()
    return (*first, ".abi3.so", ".so", ".pyd", ".dll")


def _of_cuda(stem: str, facts: Mapping[str, Fact]) -> str:
    """Fill in the CUDA version by which bitsandbytes picks its library: 12.8 -> 128."""
    if not stem.endswith("*"):
        return stem
    chosen, cuda = facts.get("env.BNB_CUDA_VERSION"), facts.get("torch.cuda")
    if isinstance(chosen, Known):
        return stem[:-1] + str(chosen.value)
    if isinstance(cuda, Known):
        return stem[:-1] + "".join(str(cuda.value).split(".")[:2])
    return ""


def _first(
    path: ImportPath, stems: Iterable[str], suffixes: tuple[str, ...]
) -> tuple[Folder, str] | None:
    """Return the first of some files that is there: its folder of the import path, and the rest."""
    for stem in filter(None, stems):
        package = stem.partition("/")[0] if "/" in stem else ""
        for folder in path.folders:
            if package and package not in folder.names:
                continue
            for file in (stem + suffix for suffix in suffixes):
                if (package or file in folder.names) and Path(folder.path, file).is_file():
                    return folder, file
    return None


def _recorded_size(folder: Folder, file: str, distribution: Fact | None) -> int | None:
    if not isinstance(distribution, Known):
        return None
    for name in folder.names:
        stem, dot, ending = name.rpartition(".")
        if f"{dot}{ending}" == ".dist-info":
            owner = normalise_name(stem.rpartition("-")[0])
            if owner == distribution.value:
                text = read_text(Path(folder.path, name, "RECORD"), RECORD_LIMIT)
                return record_size(text, file) if text else None
    return None


def absent_extension(extension: Extension) -> Absent:
    """Return the fact that an extension is not there."""
    stems = EXTENSIONS[extension.key][extension.name]
    return Absent(f"import path: no {' or '.join(stems)}")
