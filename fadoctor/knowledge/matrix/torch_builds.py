"""What follows from a torch's version, its build and the platform, by the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.rocm_labels import label_of
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix

XPU = "xpu"
"""The label of builds for Intel's GPUs: they have no CUDA."""

_NO_PLATFORM = Unknown("the platform is not known", "host.platform")


def as_probed(build: str, version: str, platform: Fact | None, matrix: Matrix) -> str:
    """Return the build as torch itself says it: PyPI's can be a CPU build on some platforms.

    "" where no table speaks of the platform. A `version` that is "" is any release: then it is a
    CPU build where no release has CUDA.
    """
    if build == XPU:
        return "other"
    platform = platform or _NO_PLATFORM
    if build == "pypi" and not version and isinstance(platform, Known):
        rows = matrix.find("torch-releases", {"platform": platform}).rows
        return "cpu" if rows and not any(row.get("pypi_cuda") for row in rows) else build
    if build != "pypi" or not version:
        return build
    keys = {"version": Known(version, "asked"), "platform": platform}
    cell = matrix.find("torch-releases", keys).cell("pypi_cuda")
    if isinstance(cell, Absent):
        return "cpu"
    return build if matrix.find("torch-releases", {"platform": platform}).rows else ""


def _rocm_of(version: str, source: str) -> Fact:
    """Return the ROCm that the label of a version names."""
    label = label_of(version) if version else ""
    if not label:
        return Unknown("which ROCm is not known", source)
    return Known(label.removeprefix("rocm"), source)


def of_build(
    version: str, build: str, platform: Fact | None, matrix: Matrix, source: str
) -> dict[str, Fact]:
    """Return build, CUDA, ROCm and C++ ABI of a torch; `version` is "" where it is a range."""
    out: dict[str, Fact] = {"torch.build": Known(build, source)}
    out["torch.hip"] = _rocm_of(version, source) if build == "rocm" else Absent(source)
    keys: dict[str, Fact] = {
        "version": Known(version, source) if version else Unknown("a range", source),
        "build": Known(build, source),
        "platform": platform or _NO_PLATFORM,
    }
    rows = matrix.find("torch-builds", keys)
    out["torch.cxx11_abi"] = rows.cell("cxx11_abi")
    if build in ("cpu", "rocm") or version_part(version, "local") == XPU:
        out["torch.cuda"] = Absent(source)
        # Such a build has no row: it has the ABI of all the release's builds, if that is one.
        without = {name: fact for name, fact in keys.items() if name != "build"}
        out["torch.cxx11_abi"] = matrix.find("torch-builds", without).cell("cxx11_abi")
    elif build == "other":
        out["torch.cuda"] = Unknown("a build of its own", source)
    else:
        out["torch.cuda"] = rows.cell("cuda")
        if isinstance(out["torch.cuda"], Unknown) and build.startswith("cu"):
            out["torch.cuda"] = Known(f"{build[2:4]}.{build[4:]}", source)
    return out
