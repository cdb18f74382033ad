"""The C and the C++ library that a process of the target gets: their versions, from the files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.files import read_bytes
from fadoctor.sources.probes.interpreter_files import is_file, is_folder, list_folder, read_pyvenv
from fadoctor.sources.probes.world import absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import Facts, World

_LIBRARY_LIMIT = 8 << 20
_MAX_FOLDERS = 32
_MAX_ENTRIES = 5_000


def libc_facts(world: World, machine: str) -> Facts:
    """Return host.libc and host.glibc of a Linux system."""
    version, source = _glibc_of_process(world) or _glibc_of_files(world, machine)
    if version:
        return {"host.libc": known("glibc", source), "host.glibc": known(version, source)}
    loader = _musl_loader(world)
    if loader:
        return {"host.libc": known("musl", loader), "host.glibc": absent(f"{loader}: musl")}
    if source:
        reason = "its version is not in it"
        return {"host.libc": known("glibc", source), "host.glibc": unknown(reason, source)}
    return {
        f"host.{name}": unknown("no C library was found in the usual folders", "libc.so.6")
        for name in ("libc", "glibc")
    }


def _glibc_of_process(world: World) -> tuple[str, str] | None:
    if world.root != Path("/"):
        return None
    try:
        # "glibc 2.36"; musl has no such name
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        return None
    name, _, version = text.partition(" ")
    return (version, f"confstr: {text}") if name == "glibc" and version else None


def _glibc_of_files(world: World, machine: str) -> tuple[str, str]:
    """Return the version and the file of glibc; no version where the file does not tell it."""
    for folder in _system_folders(world, machine):
        file = f"{folder}/libc.so.6"
        if not is_file(world.path(file)):
            continue
        # libc.so.6 -> libc-2.31.so, until links went out of use
        match = re.fullmatch(r"libc-(\d+\.\d+)\.so", _target_name(world.path(file)))
        if match:
            return match[1], file
        # GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.
        data = _read_bytes(world.path(file))
        found = re.search(rb"GNU C Library[^\n]{0,200}? version (\d{1,3}\.\d{1,3})", data)
        if found:
            return found[1].decode(), file
        if b"musl" not in data:
            return "", file
    return "", ""


def _musl_loader(world: World) -> str:
    for folder in ("/lib", "/usr/lib"):
        for entry in list_folder(world.path(folder), _MAX_ENTRIES):
            if entry.name.startswith("ld-musl-"):
                return f"{folder}/{entry.name}"
    return ""


def libstdcxx_fact(world: World, machine: str) -> Fact:
    """Return host.glibcxx: the highest symbol version of the libstdc++ that is found first."""
    for file in _libstdcxx_files(world, machine):
        data = _read_bytes(file)
        # Only names that end there: GLIBCXX_3.4.30, not GLIBCXX_FORCE_NEW
        found = {m[1] for m in re.finditer(rb"GLIBCXX_(\d{1,3}(?:\.\d{1,3}){1,2})\0", data)}
        shown = world.name(_below_root(world, file))
        if found:
            best = max(found, key=lambda text: [int(part) for part in text.split(b".")])
            return known(best.decode(), shown)
        return unknown("no GLIBCXX versions are in it", shown)
    return absent("libstdc++.so.6 was not found in the usual folders")


def _libstdcxx_files(world: World, machine: str) -> Iterator[Path]:
    """Yield the candidates that are there, in the loader's order."""
    # conda's interpreter has its own folder in its RPATH, which holds for all that it loads.
    places = [Path(prefix) / "lib" for prefix in _conda_prefixes(world)]
    search = world.environ.get("LD_LIBRARY_PATH", "").split(":")[:_MAX_FOLDERS]
    places += [world.path(folder) for folder in search if folder.startswith("/")]
    places += [world.path(folder) for folder in _system_folders(world, machine)]
    return (file for place in places if is_file(file := place / "libstdc++.so.6"))


def _conda_prefixes(world: World) -> list[str]:
    """Return the target's prefix and its base's, where they are conda's."""
    prefix = world.target.roots.get("prefix", "")
    home = Path((read_pyvenv(prefix) or {}).get("home", "") if prefix else "")
    return [p for p in (prefix, str(home.parent)) if p and is_folder(Path(p) / "conda-meta")]


def _system_folders(world: World, machine: str) -> list[str]:
    """Return the system's library folders, the machine's own first: others may stand beside it."""
    multiarch = []
    for base in ("/usr/lib", "/lib"):
        entries = list_folder(world.path(base), _MAX_ENTRIES)
        names = sorted(e.name for e in entries if re.fullmatch(r"\w+-linux-gnu\w*", e.name))
        names.sort(key=lambda name: not name.startswith(f"{machine}-"))
        multiarch += [f"{base}/{name}" for name in names[:_MAX_FOLDERS]]
    return [*multiarch, "/lib64", "/usr/lib64", "/lib", "/usr/lib"]


def _below_root(world: World, file: Path) -> str:
    """Return a path as the system itself would name it."""
    root = str(world.root).rstrip("/")
    return str(file).removeprefix(root) if root and str(file).startswith(root + "/") else str(file)


def _target_name(path: Path) -> str:
    try:
        return path.readlink().name
    except OSError:
        return ""


def _read_bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, _LIBRARY_LIMIT)
    except (OSError, ValueError):
        return b""
