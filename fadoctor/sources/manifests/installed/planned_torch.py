"""Which torch will be installed: its build, by label, file, or the index that it comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.torch_builds import XPU as _XPU
from fadoctor.knowledge.matrix.torch_builds import as_probed, of_build
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import BESIDE_TORCH, TORCH
from fadoctor.sources.manifests.formats.conda_build import conda_cuda, is_cpu
from fadoctor.sources.manifests.installed.index_releases import is_behind, lacks
from fadoctor.sources.manifests.installed.package_indexes import serves_others
from fadoctor.sources.manifests.requirement_text import file_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined, Planned

# https://download.pytorch.org/whl/cu128, and mirrors of it: .../pytorch-wheels/cu128/
_OF_INDEX = re.compile(r"/(cu\d{3}|cpu|rocm[\d.]{1,8}|xpu)/?$")
# PyPI's own index and mirrors of it
_PYPI = re.compile(r"https?://[\w.:/-]{1,200}/simple/?$")
_LABEL = re.compile(r"(cu\d{3}|cpu|rocm|xpu)")
_ROCM = re.compile(r"rocm\d{1,2}(?:\.\d{1,2}){1,2}")
# 3.12; not 3.13t, the Python without a lock
_MINOR = re.compile(r"3\.(\d{1,2})")
_CONDA = ("conda", "defaults", "bioconda", "nvidia", "pytorch")
_NO_CONDA = "://"
_OF_PIP = "requirements.txt"
_PROJECTS = ("pyproject.toml", "pixi.toml", "Pipfile", "script")
"""Kinds of files in which a package has an index of its own."""


def build_of(torch: Planned, combined: Combined) -> str:
    """Return the build that label, file or index name: ``pypi``, ``cu128``, ``cpu``; "" in doubt.

    Another than PyPI's index goes before it: its builds have a label, which makes them newer, and
    uv takes the first index that has a package. One that has no such release gives way, and in a
    file of pip one that no longer gets what is newest in the range.
    """
    if label := version_part(torch.version, "local") if torch.version else "":
        found = _LABEL.match(label)
        return found[1] if found else "other"
    if is_conda(torch):
        return "other"
    builds = _builds_of_indexes(torch, combined)
    if torch.url:
        return "pypi" if file_of(torch.url).startswith("torch-") else ""
    named = [build for build in builds if build not in ("pypi", "")]
    if named and torch.version and torch.requires is not None:
        return (
            ""  # a lock has the label where files of that index have one: on macOS they have none
        )
    if named:
        return "rocm" if named[0].startswith("rocm") else named[0]
    return "" if "" in builds else "pypi"


def _label_of(torch: Planned, combined: Combined) -> str:
    """Return the label that a torch for ROCm will have: ``rocm7.2``, "" where nothing names it."""
    named = (each for each in _builds_of_indexes(torch, combined) if each.startswith("rocm"))
    return next(named, "")


def is_of_an_index(package: Planned, combined: Combined) -> bool:
    """Return whether a package may come from an index with builds of torch, as from PyPI."""
    return any(build.startswith("cu") for build in _named_builds(package, combined))


def _named_builds(package: Planned, combined: Combined) -> list[str]:
    """Return the build of torch that each index of a package serves, "" of any other index."""
    indexes = [package.index] if package.index else [each.value for each in combined.indexes]
    return [_build_of_index(index) for index in indexes if not serves_others(index)]


def _builds_of_indexes(torch: Planned, combined: Combined) -> list[str]:
    builds = _named_builds(torch, combined)
    is_tied = torch.is_only_index or (not torch.index and bool(combined.only_index))
    is_of_pip = torch.kind == _OF_PIP and not (torch.index or torch.url)
    if is_of_pip and not (is_tied or torch.version):
        return [build for build in builds if not is_behind(build, torch.specifier)]
    if is_tied or not torch.version:
        return builds
    return [build for build in builds if not lacks(build, torch.version)]


def only_builds(combined: Combined) -> dict[str, str]:
    """Return the build of torch that alone can come, of it and of companions tied to that index.

    Indexes of pip are asked together, whoever is named first: several tie nothing.
    """
    found = {name: _only_build(name, combined) for name in (TORCH, *BESIDE_TORCH)}
    return {name: build for name, build in found.items() if build}


def _only_build(name: str, combined: Combined) -> str:
    planned = combined.packages.get(name)
    is_asked = planned is not None or name == TORCH
    if not is_asked or (planned and (planned.version or planned.url or planned.manager)):
        return ""
    is_tied = planned is not None and planned.kind.endswith(_PROJECTS)
    index = planned.index if planned is not None and is_tied else combined.only_index
    found = _OF_INDEX.search(index)
    return found[1] if found and found[1].startswith("cu") else ""


def is_conda(package: Planned) -> bool:
    """Return whether conda brings a package, whose builds are its own."""
    if package.manager:
        return package.manager == "conda"
    index = package.index
    named = "conda" in index or (bool(index) and _NO_CONDA not in index and index in _CONDA)
    return named or package.url.endswith((".conda", ".tar.bz2"))


def is_pypi(index: str) -> bool:
    """Return whether an index is PyPI's own, or a mirror."""
    return _build_of_index(index) == "pypi" and not serves_others(index)


def _build_of_index(index: str) -> str:
    found = _OF_INDEX.search(index)
    if found:
        return found[1]
    return "pypi" if _PYPI.match(index) and "torch" not in index else ""


def torch_facts(
    torch: Planned, combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, Fact]:
    """Return version, build and CUDA of the torch that will be there."""
    source, build = torch.source, build_of(torch, combined)
    version = _full(torch.version, _label_of(torch, combined) if build == "rocm" else build)
    build = as_probed(build, version, facts.get("host.platform"), matrix)
    out: dict[str, Fact] = {"torch.version": Known(version or torch.version, source)}
    if not build:
        asked = Unknown("the build that its index serves here is unknown", source)
        return dict.fromkeys(("torch.build", "torch.cuda", "torch.hip", "torch.cxx11_abi"), asked)
    out["torch.requires_python"] = _requires_python(torch, build, facts, matrix)
    out |= of_build(version, build, facts.get("host.platform"), matrix, source)
    if build == "other" and version_part(version, "local") != _XPU:
        cuda = conda_cuda(torch.build)
        out["torch.cuda"] = Known(cuda, source) if cuda else Unknown("a build of its own", source)
        if is_conda(torch) and is_cpu(torch.build):
            out["torch.cuda"] = Absent(source)
    return out


def _full(version: str, build: str) -> str:
    """Return the version with the label that files of an index have."""
    labelled = build in ("cpu", _XPU) or build.startswith("cu") or _ROCM.fullmatch(build)
    return f"{version}+{build}" if version and labelled and "+" not in version else version


def _requires_python(torch: Planned, build: str, facts: Mapping[str, Fact], matrix: Matrix) -> Fact:
    """Return for which Pythons PyPI has files of a release; of other indexes nobody counted."""
    counted = build == "pypi" or (build == "cpu" and "+" not in torch.version)
    if not counted or torch.url:
        return Unknown("not installed yet", torch.source)
    keys = {
        "version": Known(torch.version, "asked") if torch.version else Unknown("a range", "asked"),
        "platform": facts.get("host.platform", Unknown("not known", "host")),
    }
    cell = matrix.find("torch-releases", keys).cell("python")
    if not isinstance(cell, Known) or not isinstance(cell.value, (list, tuple)):
        return Unknown("the tables do not list its Pythons", torch.source)
    minors = sorted(int(m[1]) for each in cell.value if (m := _MINOR.fullmatch(str(each))))
    if not minors:
        return Unknown("the tables do not list its Pythons", torch.source)
    return Known(f">=3.{minors[0]},<3.{minors[-1] + 1}", "matrix torch-releases")
