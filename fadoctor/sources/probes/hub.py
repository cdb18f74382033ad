"""The cache of the Hub: the kernels that lie in it, with the builds of each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.sources.hub.cache import find_cache, read_cache
from fadoctor.sources.probes.world import Facts, World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.fact import Fact
    from fadoctor.sources.hub.cache import Kernel

NAMES = ("hub.kernels", "hub.models", "hub.offline", "hub.archs", "hub.metadata", "hub.needs")

OPENED = ("hub.loads", "hub.code")
"""What is said of builds that would be taken, once it is known which: see hub_binaries."""


def probe(world: World, facts: Facts) -> Facts:  # noqa: ARG001 -- the probes' contract
    """Return what lies in the cache; Absent where there is no kernel, or no cache."""
    environ = dict(world.environ)
    if environ.get("LOCAL_KERNELS"):
        return _with_folders(world, environ)
    unset = absent("LOCAL_KERNELS is not set")
    return {**_in_cache(world, environ, ()), "hub.local": unset, "hub.local_wrong": unset}


def _with_folders(world: World, environ: dict[str, str]) -> Facts:
    """Return what lies in the folders that LOCAL_KERNELS names, beside what lies in the cache."""
    from fadoctor.sources.hub.local import (  # noqa: PLC0415 -- few environments name a folder
        VARIABLE,
        parse_local,
        read_local,
    )

    named = parse_local(environ[VARIABLE])
    kernels = tuple(read_local(named, lambda folder: place_of(world, Path(folder))))
    wrong = known(named.wrong, VARIABLE) if named.wrong else absent(VARIABLE)
    return {
        **_in_cache(world, environ, kernels),
        "hub.local": _builds(kernels, "local", VARIABLE),
        "hub.local_wrong": wrong,
    }


def place_of(world: World, path: Path) -> Path:
    """Return where a path lies; one that is not whole is so from the folder one is in."""
    return world.path(str(path)) if path.is_absolute() else path


def _in_cache(world: World, environ: dict[str, str], beside: tuple[Kernel, ...]) -> Facts:
    folder, of_old = find_cache(environ), find_cache(environ, "model")
    if folder is None or of_old is None:
        nobody = unknown("no home is known", "the environment")
        return {"hub.cache": nobody, **dict.fromkeys((*NAMES, *OPENED), nobody)}
    found, name = _read(world, folder, of_old), world.name(folder)
    gone = absent(f"{name} is not there")
    if found is None and not beside:
        return {"hub.cache": gone, **dict.fromkeys((*NAMES, *OPENED), gone)}
    kernels = (*(found or ()), *beside)
    return {
        "hub.cache": gone if found is None else known(name, name),
        **dict.fromkeys(OPENED, absent("no build in it was opened")),
        "hub.kernels": _builds(kernels, "kernel", name),
        "hub.models": _builds(kernels, "model", name),
        "hub.offline": known(
            tuple(
                _key(each)
                for each in kernels
                if each.named and each.whole and each.kind == "kernel"
            ),
            name,
        ),
        "hub.archs": _said(kernels, "archs", name),
        "hub.metadata": _said(kernels, "keys", name),
        "hub.needs": _said(kernels, "needs", name),
    }


def _read(world: World, folder: Path, of_old: Path) -> tuple[Kernel, ...] | None:
    """Return the kernels of one cache, or of two; None where neither is there."""
    kinds = {"kernel": folder, "model": of_old}
    found: tuple[Kernel, ...] | None = None
    for place in dict.fromkeys(kinds.values()):
        path = place_of(world, place)
        if path.is_dir():
            here = tuple(kind for kind, each in kinds.items() if each == place)
            offline = bool(world.environ.get("HF_HUB_OFFLINE"))
            found = (found or ()) + read_cache(path, here, offline=offline)
    return found


def _builds(kernels: Iterable[Kernel], kind: str, source: str) -> Fact:
    return known(
        {_key(kernel): " ".join(kernel.builds) for kernel in kernels if kernel.kind == kind},
        source,
    )


def _said(kernels: Iterable[Kernel], field: str, source: str) -> Fact:
    """Return what the metadata of builds say of one thing, where they say anything."""
    return known(
        {
            f"{_key(kernel)} {build}": " ".join(words)
            for kernel in kernels
            for build, metadata in kernel.builds.items()
            if (words := getattr(metadata, field))
        },
        source,
    )


def _key(kernel: Kernel) -> str:
    return f"{kernel.repository}@{kernel.branch}"
