"""Where build tools lie, and what files beside them say about their versions. Starts no process."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.packages import TRITON
from fadoctor.model.typed import decode
from fadoctor.sources.probes.interpreter_files import is_file, is_folder, list_folder
from fadoctor.sources.probes.world import known, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import World

MAX_TOOLKITS = 16

_MAX_PATH = 200
_MAX_SITE = 20
_MAX_ENTRIES = 5_000
_JSON_LIMIT = 65_536
_SYSTEM = ("/", "/usr", "/usr/local")


class Tool(msgspec.Struct, frozen=True):
    """A program and how it was found; without a path, why there is none."""

    path: str
    """Absolute, as the system itself names it, links not followed."""
    origin: str


def find_on_path(world: World, program: str) -> str:
    """Return the first program of that name on PATH, or the path itself where it is absolute.

    Empty where there is none. Relative folders are passed over: the current one may be hostile.
    """
    if "/" in program or "\\" in program:
        return program if Path(program).is_absolute() and _is_program(world, program) else ""
    return next(_all_on_path(world, program), "")


def _all_on_path(world: World, program: str) -> Iterator[str]:
    separator, suffix = (";", ".exe") if world.os == "windows" else (":", "")
    folders = world.environ.get("PATH", "").split(separator)[:_MAX_PATH]
    for folder in folders:
        path = str(Path(folder) / f"{program}{suffix}")
        if Path(folder).is_absolute() and _is_program(world, path):
            yield path


def _is_program(world: World, path: str) -> bool:
    file = _place(world, path)
    return is_file(file) and os.access(file, os.X_OK)


def _place(world: World, path: str) -> Path:
    """Return where a path is to be read: the target's own as they are, others below the root."""
    target = world.target
    folders = (target.roots.get("prefix", ""), *target.site)
    inside = any(f and path.startswith(f.rstrip(os.sep) + os.sep) for f in folders)
    return Path(path) if inside else world.path(path)


def find_nvccs(world: World) -> list[Tool]:
    """Return every nvcc, each real file once, at most 16 of them."""
    found: dict[str, Tool] = {}
    for tool in _candidates(world):
        if _is_program(world, tool.path):
            found.setdefault(os.path.realpath(_place(world, tool.path)), tool)
        if len(found) >= MAX_TOOLKITS:
            break
    return list(found.values())


def _candidates(world: World) -> Iterator[Tool]:
    name = "nvcc.exe" if world.os == "windows" else "nvcc"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = world.environ.get(variable, "")
        if home and Path(home).is_absolute():
            yield Tool(str(Path(home) / "bin" / name), variable)
    for path in _all_on_path(world, "nvcc"):
        yield Tool(path, "PATH")
    entries = list_folder(world.path("/usr/local"), _MAX_ENTRIES)
    for entry in sorted(e.name for e in entries if e.name.startswith("cuda")):
        yield Tool(f"/usr/local/{entry}/bin/{name}", "/usr/local")
    prefix = world.target.roots.get("prefix", "")
    if prefix and is_folder(Path(prefix) / "conda-meta"):
        yield Tool(str(Path(prefix) / "bin" / name), "conda")
    for site in world.target.site[:_MAX_SITE]:
        for folder in list_folder(Path(site) / "nvidia", _MAX_ENTRIES):
            yield Tool(str(Path(folder.path) / "bin" / name), "wheel")


def nvcc_of_build(world: World) -> Tool:
    """Return the nvcc that a source build would use: CUDA_HOME's, else PATH's, else /usr/local's.

    Where CUDA_HOME is set, nothing else counts: the build looks nowhere else.
    """
    name = "nvcc.exe" if world.os == "windows" else "nvcc"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = world.environ.get(variable)
        if home:
            path = str(Path(home) / "bin" / name)
            there = Path(home).is_absolute() and _is_program(world, path)
            return Tool(path, variable) if there else Tool("", f"${variable}: no {path}")
    path = find_on_path(world, "nvcc")
    if path:
        return Tool(path, "PATH")
    path = f"/usr/local/cuda/bin/{name}"
    if _is_program(world, path):
        return Tool(path, "/usr/local")
    return Tool("", "no nvcc in CUDA_HOME, on PATH or in /usr/local/cuda")


def find_target_ninja(world: World) -> str:
    """Return the ninja in the target's own folder of programs, or nothing."""
    prefix = world.target.roots.get("prefix", "")
    if not prefix or prefix in _SYSTEM:
        return ""
    names = (Path(prefix) / "bin" / "ninja", Path(prefix) / "Scripts" / "ninja.exe")
    return next((str(path) for path in names if _is_program(world, str(path))), "")


def find_ptxas(world: World) -> Tool:
    """Return Triton's ptxas: TRITON_PTXAS_PATH where it leads to a file, else the bundled one."""
    stated = world.environ.get("TRITON_PTXAS_PATH", "")
    if stated and Path(stated).is_absolute() and is_file(_place(world, stated)):
        return Tool(stated, "$TRITON_PTXAS_PATH")
    for site in world.target.site[:_MAX_SITE]:
        for inside in ("backends/nvidia/bin", "third_party/cuda/bin"):
            path = Path(site) / TRITON / inside / "ptxas"
            if is_file(path):
                return Tool(str(path), "bundled with triton")
    return Tool("", "no TRITON_PTXAS_PATH, and no triton that bundles ptxas")


def nvcc_version(world: World, tool: Tool, facts: Mapping[str, Fact]) -> Fact | None:
    """Return the X.Y version of a toolkit's program from the files beside it, or None."""
    home = Path(tool.path).parent.parent
    if tool.origin == "wheel":
        return version_from_packages(facts, "packages.nvidia", "nvidia-cuda-nvcc")
    return (
        _version_from_json(world, f"{home}/version.json")
        or _version_from_text(world, f"{home}/version.txt")
        or _version_from_conda(_place(world, f"{home}/conda-meta"))
    )


def _version_from_json(world: World, file: str) -> Fact | None:
    """Read ``{"cuda": {"version": "12.4.1"}, "cuda_nvcc": {"version": "12.4.131"}, ...}``."""
    text = read_text(_place(world, file), _JSON_LIMIT)
    try:
        parts = decode(text or "null", dict[str, dict[str, object]] | None)
    except (msgspec.DecodeError, RecursionError):
        return None
    for name in ("cuda_nvcc", "cuda"):
        version = str((parts or {}).get(name, {}).get("version", ""))
        if match := re.match(r"\d{1,3}\.\d{1,3}", version):
            return known(match[0], f"{world.name(file)}: {name} {version}")
    return None


def _version_from_text(world: World, file: str) -> Fact | None:
    # CUDA Version 10.2.89
    text = read_text(_place(world, file), _JSON_LIMIT)
    match = re.match(r"CUDA Version (\d{1,3}\.\d{1,3})", text or "")
    return known(match[1], world.name(file)) if match else None


def version_in_conda(world: World, name: str) -> Fact | None:
    """Return what conda's records of the target say of a build tool; None where they do not."""
    prefix = world.target.roots.get("prefix", "")
    return _version_from_conda(Path(prefix) / "conda-meta", _IN_CONDA[name]) if prefix else None


# conda-meta/cuda-nvcc-12.4.131-0.json, cuda-nvcc-tools-12.6.85-he02047a_1.json
_NVCC_IN_CONDA = r"cuda-nvcc(?:-tools|-impl)?-(\d{1,3}\.\d{1,3})[\d.]*-"
_IN_CONDA = {
    # gcc_impl_linux-64-12.4.0-hb2e57f8_1.json, ninja-1.12.1-h297d8ca_0.json
    "gcc": r"gcc_impl_[a-z]{3,5}-[a-z0-9]{2,10}-(\d{1,3}(?:\.\d{1,3}){0,2})-",
    "gxx": r"gxx_impl_[a-z]{3,5}-[a-z0-9]{2,10}-(\d{1,3}(?:\.\d{1,3}){0,2})-",
    "ninja": r"ninja-(\d{1,3}(?:\.\d{1,3}){1,2})-",
}


def _version_from_conda(folder: Path, pattern: str = _NVCC_IN_CONDA) -> Fact | None:
    for entry in list_folder(folder, _MAX_ENTRIES):
        match = re.match(pattern, entry.name)
        if match:
            return known(match[1], f"conda-meta/{entry.name}")
    return None


def version_from_packages(facts: Mapping[str, Fact], fact: str, name: str) -> Fact | None:
    """Return a distribution's version; of several whose names start like it, only where one is."""
    packages = facts.get(fact)
    if not isinstance(packages, Known) or not isinstance(packages.value, dict):
        return None
    exact = name in packages.value
    names = [name] if exact else [n for n in packages.value if n.startswith(f"{name}-cu")]
    if len(names) != 1:
        return None
    version = packages.value[names[0]]
    if name.startswith("nvidia-"):  # the toolkit's version is X.Y
        version = ".".join(version.split(".")[:2])
    return known(version, f"{fact}: {names[0]} {packages.value[names[0]]}")


def real_name(world: World, path: str) -> str:
    """Return the name of the file that a path leads to."""
    return Path(os.path.realpath(_place(world, path))).name


def is_foreign(world: World, path: str) -> bool:
    """Whether a program lies in the environment that is examined: of that only Python is asked."""
    target = world.target
    folders = {target.roots.get("prefix", ""), *target.site} - {"", *_SYSTEM}
    places = {str(Path(path)), os.path.realpath(_place(world, path))}
    real = {os.path.realpath(folder) for folder in folders}
    return any(place.startswith(f"{f}{os.sep}") for place in places for f in folders | real)
