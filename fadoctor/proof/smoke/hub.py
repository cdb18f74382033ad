"""Which kernel of the Hub a worker loads for a backend: the one that programs here would load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Known, fact_text
from fadoctor.model.verdict import Backend
from fadoctor.sources.hub.cache import locate_build

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.knowledge.matrix.kernels import Kernels
    from fadoctor.model.environment import Environment

FROM_HUB = (Backend.HUB_FA2, Backend.HUB_FA3, Backend.HUB_FA4, Backend.HUB_SAGE)

Asked = dict[str, str]
"""What a worker is told: repository, branch, and online: yes, no, or own, as the variables say; and
the folder of a snapshot, where this kernels does not find by its version what it fetched so."""

_LISTS = ("hub.kernels", "hub.models")


def ask_for(kernels: Kernels, backends: Iterable[Backend], *, online: bool) -> dict[str, Asked]:
    """Return what is to be loaded for each backend of the Hub among some."""
    environment = kernels.environment
    own = isinstance(environment.fact("env.HF_HUB_OFFLINE"), Known)
    found: dict[str, Asked] = {}
    for backend in backends:
        if backend in FROM_HUB:
            repository, branch = kernel_of(kernels, backend)
            way = "yes" if online else "own" if own else "no"
            asked = {"repository": repository, "branch": branch, "online": way}
            if way == "no" and (folder := snapshot_of(kernels, backend)):
                asked["folder"] = folder
            found[backend.value] = asked
    return found


def snapshot_of(kernels: Kernels, backend: Backend) -> str:
    """Return the snapshot in the cache that holds the build that is taken, "" for none.

    "" also where a folder is named already, or where this kernels heeds no such folder.
    """
    environment, prefix = kernels.environment, f"hub.{backend.value.removeprefix('hub-')}"
    release = {"version": environment.fact("kernels.version")}
    row = kernels.matrix.find("kernels-releases", release)
    heeds, kind = (fact_text(row.cell(name), "") for name in ("local_kernels", "repositories"))
    cache, build = environment.fact("hub.cache"), environment.fact(f"{prefix}.build")
    named = isinstance(environment.fact("env.LOCAL_KERNELS"), Known)
    if heeds != "True" or named or not isinstance(cache, Known) or not isinstance(build, Known):
        return ""
    home = environment.target.roots.get("home", "~")
    folder = Path(str(cache.value).replace("~", home, 1))
    found = locate_build(folder, kind, "@".join(kernel_of(kernels, backend)), str(build.value))
    snapshot = "" if found is None else str(found.parent.parent)
    return "" if ":" in snapshot else snapshot


def kernel_of(kernels: Kernels, backend: Backend) -> tuple[str, str]:
    """Return repository and branch: what transformers or diffusers takes, else what is there."""
    environment, prefix = kernels.environment, f"hub.{backend.value.removeprefix('hub-')}"
    taken = tuple(
        fact_text(environment.fact(f"{prefix}.{noun}"), "") for noun in ("repository", "branch")
    )
    if all(taken):
        return taken[0], taken[1]
    keys = {"backend": Known(backend.value, "asked")}
    row = kernels.matrix.find("hub-smoke-kernels", keys)
    repository, branch = (fact_text(row.cell(name), "") for name in ("kernel", "branch"))
    listed = (name.rpartition("@") for name in _listed(environment))
    there = [other for name, _, other in listed if name == repository]
    return repository, max(there, key=_rank, default=branch)


def _rank(branch: str) -> tuple[object, ...]:
    """Return the key that puts the newest version last, and other branches before all of them."""
    number = branch.removeprefix("v")
    return (True, int(number)) if number.isdigit() else (False, 0)


def is_missing(kernels: Kernels, backend: Backend) -> str:
    """Return the kernel that surely lies in no cache, "" where it does or nobody knows."""
    environment = kernels.environment
    if isinstance(environment.fact("env.LOCAL_KERNELS"), Known):
        return ""
    if not all(isinstance(environment.fact(name), (Known, Absent)) for name in _LISTS):
        return ""
    name = "@".join(kernel_of(kernels, backend))
    return "" if name in _listed(environment) else name


def _listed(environment: Environment) -> list[str]:
    """Return the kernels in the cache, owner/name@branch."""
    facts = (environment.fact(name) for name in _LISTS)
    found = [f.value for f in facts if isinstance(f, Known) and isinstance(f.value, dict)]
    return [name for each in found for name in each]
