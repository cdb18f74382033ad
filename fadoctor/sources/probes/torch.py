"""What the target's torch says of itself in its files; torch is neither imported nor run."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.import_path import (
    Package,
    editable_folders,
    find_package,
    list_names,
    read_import_path,
    real_path,
)
from fadoctor.sources.probes.metadata import read_member
from fadoctor.sources.probes.torch_build import BuildClues, classify_build
from fadoctor.sources.probes.world import Facts, World, absent, known, unknown

VERSION_FILE_LIMIT = 1 << 16
"""Bytes of version.py: the real one has 500."""
CMAKE_LIMIT = 1 << 18
MAX_LIBRARY_NAMES = 2_000

# the line `cuda: Optional[str] = '12.8'`
_ASSIGNMENT = re.compile(
    r"(__version__|cuda|hip|rocm|xpu|git_version)\s{0,9}(?::[^=]{1,80})?="
    r"\s{0,9}(?:None|(['\"])([^'\"\\]{0,200})\2)\s{0,9}(?:#.*)?"
)
_NUMBERS = r"[0-9]{1,4}(?:\.[0-9]{1,6}){1,3}"
_LIBRARY = re.compile(r"[\w.+-]{1,120}\.(?:so(?:\.[0-9]+)*|dll|dylib|pyd)")
# set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")
_ABI_FLAG = re.compile(r"-D_GLIBCXX_USE_CXX11_ABI=([01])\b")


class VersionFile(msgspec.Struct, frozen=True):
    """The assignments of torch/version.py."""

    values: dict[str, str | None]
    """Name -> value; None where the file says None. Names that it assigns twice are left out."""


def probe(world: World, facts: dict[str, Fact]) -> Facts:
    """Return torch's facts; ``torch.version`` too where only version.py knows it."""
    path = read_import_path(world, *editable_folders(world, facts, "torch"))
    package = find_package(path, "torch")
    recorded = facts.get("torch.version", absent("no metadata"))
    if package is None or _is_leftover(package, recorded):
        return _without_folder(recorded, path.problem)
    folder = package.folders[0]
    out = _from_version_file(world, folder, facts)
    out["torch.cxx11_abi"] = _cxx11_abi(world, folder)
    out["torch.libraries"] = _libraries(world, folder)
    return out


def _is_leftover(package: Package, recorded: Fact) -> bool:
    """Say whether a folder torch is no torch: no metadata, no version.py."""
    version_file = Path(package.folders[0], "version.py")
    return not isinstance(recorded, Known) and not version_file.exists()


def _without_folder(recorded: Fact, problem: str) -> Facts:
    names = ("cuda", "hip", "git", "build", "cxx11_abi", "libraries")
    source = "import path: no folder torch with a version.py"
    fact = recorded
    if problem:
        fact = unknown(problem, source)
    elif isinstance(recorded, Known):
        fact = unknown("its metadata is there, but the folder torch is not", source)
    return {f"torch.{name}": fact for name in names}


def parse_version_file(text: str) -> VersionFile:
    """Return the assignments of a version.py, line by line; code has no effect and no value."""
    found: dict[str, set[str | None]] = {}
    for line in re.split(r"\r\n?|\n", text):
        match = _ASSIGNMENT.fullmatch(line.rstrip()) if len(line) <= 400 else None
        if match:
            found.setdefault(match[1], set()).add(match[3])
    return VersionFile({name: values.pop() for name, values in found.items() if len(values) == 1})


def _from_version_file(world: World, folder: str, facts: dict[str, Fact]) -> Facts:
    file = Path(folder, "version.py")
    source = world.name(file)
    text = read_member(file, source, VERSION_FILE_LIMIT)
    recorded = facts.get("torch.version")
    if not isinstance(text, str):
        if isinstance(text, Absent) and isinstance(recorded, Known):
            text = unknown("version.py is not there", source)
        return {f"torch.{name}": text for name in ("cuda", "hip", "git", "build")}
    said = parse_version_file(text)
    metadata = _metadata_version(world, folder, facts)
    out: Facts = {
        "torch.cuda": _numbers(said, "cuda", source),
        "torch.hip": _numbers(said, "hip", source),
        "torch.git": _text(said, "git_version", source),
    }
    version = said.values.get("__version__") or ""
    if isinstance(metadata, Absent | Unknown) and version:
        out["torch.version"] = known(version, f"{source}: __version__ = {version!r}")
    out["torch.build"] = classify_build(_clues(said, metadata, facts, out["torch.cuda"]), source)
    return out


def _metadata_version(world: World, folder: str, facts: dict[str, Fact]) -> Fact:
    """Return torch.version if its record belongs to this folder: a checkout can shadow it."""
    version = facts.get("torch.version", absent("no metadata"))
    location, editable = facts.get("torch.location"), facts.get("torch.editable")
    if not isinstance(version, Known) or not isinstance(location, Known):
        return version
    here = Path(real_path(world, str(location.value))) == Path(folder).parent
    if here or (isinstance(editable, Known) and editable.value is True):
        return version
    return absent(f"{world.name(folder)} shadows what is installed")


def _clues(said: VersionFile, metadata: Fact, facts: dict[str, Fact], cuda: Fact) -> BuildClues:
    return BuildClues(
        metadata=metadata,
        file=said.values.get("__version__") or "",
        cuda=cuda,
        hip=bool(said.values.get("hip") or said.values.get("rocm")),
        xpu=bool(said.values.get("xpu")),
        installer=facts.get("torch.installer", absent("no metadata")),
    )


def _numbers(said: VersionFile, name: str, source: str) -> Fact:
    """Return a version: of ``6.2.41134-65d174c3e`` the numbers."""
    fact = _text(said, name, source)
    if not isinstance(fact, Known):
        return fact
    match = re.match(_NUMBERS, str(fact.value))
    if match is None:
        return unknown(f"{name} is not a version: {fact.value!r}", source)
    return known(match[0], fact.source)


def _text(said: VersionFile, name: str, source: str) -> Fact:
    if name not in said.values:
        return unknown(f"version.py does not say what {name} is in a way that can be read", source)
    value = said.values[name]
    if value is None:
        return absent(f"{source}: {name} = None")
    return known(value, f"{source}: {name} = {value!r}")


def _libraries(world: World, folder: str) -> Fact:
    source = f"{world.name(folder)}/lib"
    if not Path(folder, "lib").is_dir():
        return absent(f"{source} is not there")
    names, problem = list_names(f"{folder}/lib", MAX_LIBRARY_NAMES)
    if problem:
        return unknown(problem, source)
    return known(tuple(name for name in names if _LIBRARY.fullmatch(name)), source)


def _cxx11_abi(world: World, folder: str) -> Fact:
    library = Path(folder, "lib", "libc10.so")
    if not library.is_file() and any(
        Path(folder, "lib", name).is_file() for name in ("c10.dll", "libc10.dylib")
    ):
        return absent(f"{world.name(folder)}/lib: only Linux builds have a choice of C++ ABI")
    file = Path(folder, "share", "cmake", "Torch", "TorchConfig.cmake")
    text = read_member(file, world.name(file), CMAKE_LIMIT)
    flags = set(_ABI_FLAG.findall(text)) if isinstance(text, str) else set()
    if len(flags) == 1:
        flag = flags.pop()
        return known(flag == "1", f"{world.name(file)}: _GLIBCXX_USE_CXX11_ABI={flag}")
    return _exported_abi(library, world.name(library))


def _exported_abi(library: Path, source: str) -> Fact:
    if not library.is_file():
        return unknown("neither TorchConfig.cmake nor libc10.so says it", source)
    # Late: hardly any torch comes without its cmake files.
    from fadoctor.binary.abi import StringAbi  # noqa: PLC0415
    from fadoctor.binary.errors import BadBinaryError  # noqa: PLC0415
    from fadoctor.binary.predict import string_abi_of_torch  # noqa: PLC0415

    try:
        abi = string_abi_of_torch(str(library))
    except BadBinaryError as error:
        return unknown(str(error), source)
    if abi is None:
        return unknown("its c10::Error shows none, or both", source)
    return known(abi is StringAbi.NEW, f"{source} exports c10::Error with the {abi.value} string")
