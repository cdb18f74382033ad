"""How environments lie on disk: what is one, its interpreter and its folders with packages.

Reads files only; nothing of the environment is run.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.errors import TargetError
from fadoctor.model.fact import printable
from fadoctor.sources.probes.interpreter_files import is_file, is_folder, list_folder, read_pyvenv
from fadoctor.sources.probes.windows_python import is_embedded

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOOL_FILES = ("uv-receipt.toml", "pipx_metadata.json")
_TOOL_CACHE = re.compile(r"(archive|builds)-v\d+")
_PYTHONS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_VERSIONED = r"(?:python|pypy)(\d)\.(\d{1,3})t?"

_MAX_ENTRIES = 5_000


def is_environment(prefix: Path) -> bool:
    """Whether a folder is an environment: virtual, conda's, or a whole installation of Python."""
    if is_file(prefix / "pyvenv.cfg") or is_folder(prefix / "conda-meta"):
        return True
    if is_embedded(prefix):
        return True
    return any(is_file(folder / "os.py") for folder in (*_versioned(prefix), prefix / "Lib"))


def is_tool_environment(prefix: str | Path) -> bool:
    """Whether an isolated tool lives there: installed by uv or pipx, or in uv's caches."""
    path = Path(prefix)
    cached = any(_TOOL_CACHE.fullmatch(part) for part in path.parts)
    return cached or any(is_file(path / name) for name in _TOOL_FILES)


def is_conda_base(prefix: Path) -> bool:
    """Whether that is conda's base, the one that holds the other environments."""
    if not is_file(prefix / "conda-meta" / "history"):
        return False
    return any(is_folder(prefix / name) for name in ("condabin", "envs"))


def find_python(prefix: Path) -> Path | None:
    """Return the environment's interpreter, symbolic links not followed; None where it is gone."""
    return next((prefix / name for name in _PYTHONS if is_file(prefix / name)), None)


def prefix_of_python(python: Path) -> Path | None:
    """Return the environment's folder where an interpreter lies in one; None for other programs."""
    if re.fullmatch(r"(python|pypy)[\w.]*", python.name):
        for folder in (python.parent, python.parent.parent):
            if is_file(folder / "pyvenv.cfg") or is_folder(folder / "conda-meta"):
                return folder
    return None


def site_folders(prefix: Path, home: str = "") -> tuple[str, ...]:
    """Return the folders that an environment imports packages from, in order, by its files alone.

    `home` is the user's home, for the user site of an environment that sees the system's packages.
    PYTHONPATH and what ``.pth`` files add are not in it: the packages probe follows the latter.
    """
    config = read_pyvenv(prefix) or {}
    version = _version(config)
    folders = _package_folders(prefix, version)
    if config.get("include-system-site-packages", "").lower() == "true":
        if home and version:
            folders.append(Path(home) / ".local" / "lib" / f"python{version}" / "site-packages")
        folders += _package_folders(_base(config.get("home", "")), version)
    return unique_folders(folders)


def stated_version(prefix: Path) -> str:
    """Return X.Y of an environment by its pyvenv.cfg; empty where it has none."""
    return _version(read_pyvenv(prefix) or {})


def _version(config: dict[str, str]) -> str:
    for key in ("version_info", "version"):
        match = re.match(r"\d{1,3}\.\d{1,3}", config.get(key, ""))
        if match:
            return match[0]
    return ""


def _base(home: str) -> Path:
    """Return the prefix for pyvenv.cfg's ``home``, the folder that holds the base's interpreter."""
    path = Path(home or "/nonexistent")
    return path.parent if path.name in {"bin", "Scripts"} else path


def _versioned(prefix: Path) -> list[Path]:
    """Return ``lib/pythonX.Y`` and ``lib64/pythonX.Y`` of a prefix, the newest first."""
    found = []
    for lib in ("lib", "lib64"):
        for entry in list_folder(prefix / lib, _MAX_ENTRIES):
            match = re.fullmatch(_VERSIONED, entry.name)
            if match and is_folder(entry.path):
                found.append(((int(match[1]), int(match[2])), Path(entry.path)))
    return [path for _, path in sorted(found, key=lambda pair: pair[0], reverse=True)]


def _package_folders(prefix: Path, version: str) -> list[Path]:
    """Return site-packages (Debian: dist-packages) of the version given, else of the one used."""
    folders = _versioned(prefix)
    # pyvenv.cfg keeps its first version when the environment is upgraded in place.
    known = version in {_short(folder.name) for folder in folders}
    wanted = version if known else _used_version(prefix, folders)
    found = []
    for folder in folders:
        if _short(folder.name) == wanted:
            local = prefix / "local" / "lib" / folder.name / "dist-packages"
            found += [folder / "site-packages", local]
    found += [prefix / "lib" / "python3" / "dist-packages", prefix / "Lib" / "site-packages"]
    return [folder for folder in found if is_folder(folder)]


def _used_version(prefix: Path, folders: list[Path]) -> str:
    """Return X.Y of ``bin/python3 -> python3.11``, else of the newest folder."""
    names = [Path(_real(prefix / name)).name for name in ("bin/python", "bin/python3")]
    there = [folder.name for folder in folders]
    chosen = next((name for name in names if name in there), there[0] if there else "")
    return _short(chosen)


def _short(name: str) -> str:
    """Return X.Y for python3.11, and nothing for other names."""
    match = re.fullmatch(_VERSIONED, name)
    return f"{match[1]}.{match[2]}" if match else ""


def unique_folders(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the folders that are there, each once: lib64 is often a link to lib."""
    found: dict[str, str] = {}
    for folder in folders:
        if is_folder(folder):
            found.setdefault(_real(folder), str(folder))
    return tuple(found.values())


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return str(path)


def same_folder(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same folder, links followed."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def require_present(path: Path, name: str) -> None:
    """Raise TargetError, in words, where a path leads to neither a folder nor a file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        what = "a broken symbolic link" if path.is_symlink() else "does not exist"
    except OSError as error:
        loop = error.errno == errno.ELOOP
        what = "symbolic links that go in circles" if loop else f"cannot be read: {error.strerror}"
    except ValueError:
        what = "not a path"
    else:
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return
        what = "neither a folder nor a program"
    raise TargetError(printable(f"{name}: {what}"))


def require_readable(folder: Path, name: str) -> None:
    """Raise TargetError where a folder may not be listed."""
    if not os.access(folder, os.R_OK | os.X_OK):
        raise TargetError(printable(f"{name}: the folder cannot be read: permission denied"))
