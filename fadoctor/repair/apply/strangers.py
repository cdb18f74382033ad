"""Whose doing is it: an installer that somebody else ran while a step ran changed packages, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.repair.apply.ownership import installed, unequal
from fadoctor.sources.probes.interpreter_files import read_pyvenv
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fadoctor.repair.apply.ownership import Installed, OwnedDistribution
    from fadoctor.repair.apply.store import Store

_SIZE_LIMIT = 4 << 20

# Requires-Dist: nvidia-cublas-cu12 (==12.4.5.8) ; platform_system == "Linux"
_REQUIRES = re.compile(rb"^Requires-Dist: {1,10}([A-Za-z0-9][A-Za-z0-9._-]{0,100})", re.MULTILINE)


def strangers(
    store: Store, was: Installed, now: Installed, planned: Collection[str], *, whole: bool
) -> set[str]:
    """Return the distributions that came or went, and that no installer moves for what is planned.

    pip and uv change what they are asked for and what that requires; what conda changes is nobody's
    guess. Where one was stopped half-way the requirements may not be there yet: then only what is
    complete, and was asked for by name, is somebody else's.
    """
    prefix = store.prefix
    came = unequal(was, now).intersection(now).difference(planned)
    changed = {name for name in came if not _is_of_conda(prefix, now[name])}
    if whole:
        went = unequal(was, now).difference(
            now, planned
        )  # no installer removes what it was not told
        changed |= {name for name in went if not _is_of_conda(store.snapshot, was[name])}
        return changed.difference(_required(prefix, now, planned))
    return {name for name in changed if _is_asked_for(prefix, now.get(name, ()))}


def _required(prefix: Path, now: Installed, planned: Collection[str]) -> set[str]:
    """Return what distributions require, and what these require, whatever the conditions.

    What the environment shares with its interpreter asks for packages in it, too.
    """
    found: set[str] = set()
    waiting = list(planned)
    base = _shared(prefix)
    beyond = {} if base is None else installed(base)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for one in now.get(name, ()):
                waiting += _requirements(prefix / one.info)
            if base is not None and name not in now:
                for one in beyond.get(name, ()):
                    waiting += _requirements(base / one.info)
    return found


def _shared(prefix: Path) -> Path | None:
    """Return the installation whose packages an environment sees, None where it sees none."""
    said = read_pyvenv(prefix) or {}
    home = said.get("home", "")
    is_open = said.get("include-system-site-packages", "").lower() == "true"
    # home = /usr/bin on POSIX, C:\Python312 on Windows
    if not is_open or not home:
        return None
    folder = Path(home)
    return folder.parent if folder.name in ("bin", "Scripts") else folder


def _requirements(info: Path) -> Iterator[str]:
    for name in ("METADATA", "PKG-INFO"):
        path = info / name
        if path.is_file():
            with path.open("rb") as file:
                text = file.read(_SIZE_LIMIT)
            for match in _REQUIRES.finditer(text):
                yield normalise_name(match[1].decode())


def _is_of_conda(prefix: Path, several: Collection[OwnedDistribution]) -> bool:
    files = (prefix / one.info / "INSTALLER" for one in several)
    return any(path.is_file() and path.read_bytes()[:5] == b"conda" for path in files)


def _is_asked_for(prefix: Path, several: Collection[OwnedDistribution]) -> bool:
    """Return whether an installer has finished them, for somebody who named them."""
    marks = ("RECORD", "REQUESTED")
    return bool(several) and all(
        (prefix / one.info / mark).is_file() for one in several for mark in marks
    )
