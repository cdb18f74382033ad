"""What a container image decides of a planned environment, and what it leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.fact import Absent, Fact, Known, Unknown, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.planned import Manifest

IN_IMAGE = "toolkit.in_image"
"""Whether a container image has nvcc, the compiler of CUDA."""
UNSAID = "the tag of the image does not say it"
"""How the reason of a fact begins that the name of an image leaves open."""
_OF_PYTORCH = "pytorch"
"""The channel of conda that PyTorch's authors filled."""
_OF_THE_IMAGE = ("host.libc", "host.glibc", "host.glibcxx", "host.distribution")
_GIVEN_BY = {"host.glibc": "--glibc", "host.libc": "--glibc", "python.": "--python-version"}
"""Facts -> the option that assumes them, which goes before everything."""


def image_facts(manifests: Iterable[Manifest], overlays: tuple[str, ...]) -> dict[str, Fact]:
    """Return the facts that an image has in place of the machine's: its glibc, Python, toolkit.

    What its name does not say is Unknown, as the machine's own says nothing of an image.
    """
    manifest = next((each for each in manifests if each.image), None)
    if manifest is None or manifest.image is None:
        return {}
    source = printable(f"{manifest.image.place}: {manifest.image.value}")
    open_ = Unknown(printable(f"{UNSAID}: {manifest.image.value}"), source)
    names = [
        name
        for name in build_catalogue()
        if name in _OF_THE_IMAGE or name.startswith(("python.", "toolkit."))
    ]
    out: dict[str, Fact] = {name: open_ for name in names if not _is_given(name, overlays)}
    for name, setting in manifest.facts.items():
        if name == IN_IMAGE:
            out |= _without_nvcc(printable(f"{setting.place}: {manifest.image.value}"))
        elif name in out:
            out[name] = Known(setting.value, printable(f"{setting.place}: {manifest.image.value}"))
    return out


def _without_nvcc(source: str) -> dict[str, Fact]:
    """Return that an image has no CUDA compiler, and that no command adds one."""
    names = ("toolkit.nvcc.version", "toolkit.nvcc.path")
    found: dict[str, Fact] = {name: Absent(source) for name in names}
    return found | {IN_IMAGE: Known(value=False, source=source), "toolkit.count": Known(0, source)}


def conda_facts(
    manifests: Iterable[Manifest], facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, Fact]:
    """Return the CUDA that conda's torch is built for, where a file says it and nothing better.

    What comes from PyTorch's own channel has the C++ ABI of that channel.
    """
    out: dict[str, Fact] = {}
    for manifest in manifests:
        setting = manifest.facts.get("torch.cuda")
        if setting is None:
            continue
        torch = [each for each in manifest.requirements if each.name == "torch"]
        is_its = all(each.manager == "conda" or each.place == setting.place for each in torch)
        if torch and is_its and isinstance(facts.get("torch.cuda"), Unknown):
            out["torch.cuda"] = Known(setting.value, printable(str(setting.place)))
            if all(each.index == _OF_PYTORCH for each in torch):
                row = matrix.find("conda-torch-releases", {"cuda": out["torch.cuda"]})
                out["torch.cxx11_abi"] = row.cell("cxx11_abi")
    return out


def _is_given(name: str, overlays: tuple[str, ...]) -> bool:
    return any(
        name.startswith(prefix) and any(text.startswith(option) for text in overlays)
        for prefix, option in _GIVEN_BY.items()
    )
