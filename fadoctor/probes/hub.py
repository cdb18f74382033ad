"""The cache of the Hub: the kernels that lie in it, with the builds of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.hub.cache import find_cache, read_cache
from fadoctor.probes.world import Facts, World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.hub.cache import Kernel
    from fadoctor.model.fact import Fact

NAMES = ("hub.kernels", "hub.models", "hub.archs")


def probe(world: World, facts: Facts) -> Facts:  # noqa: ARG001 -- the probes' contract
    """Return what lies in the cache; Absent where there is no kernel, or no cache."""
    folder = find_cache(dict(world.environ))
    if folder is None:
        nobody = unknown("no home is known", "the environment")
        return {"hub.cache": nobody, **dict.fromkeys(NAMES, nobody)}
    name = world.name(folder)
    path = world.path(str(folder)) if folder.is_absolute() else folder
    if not path.is_dir():
        gone = absent(f"{name} is not there")
        return {"hub.cache": gone, **dict.fromkeys(NAMES, gone)}
    kernels = read_cache(path)
    return {
        "hub.cache": known(name, name),
        "hub.kernels": _builds(kernels, "kernel", name),
        "hub.models": _builds(kernels, "model", name),
        "hub.archs": known(
            {
                f"{kernel.repository}@{kernel.branch} {build}": " ".join(archs)
                for kernel in kernels
                for build, archs in kernel.builds.items()
                if archs
            },
            name,
        ),
    }


def _builds(kernels: Iterable[Kernel], kind: str, source: str) -> Fact:
    return known(
        {
            f"{kernel.repository}@{kernel.branch}": " ".join(kernel.builds)
            for kernel in kernels
            if kernel.kind == kind
        },
        source,
    )
