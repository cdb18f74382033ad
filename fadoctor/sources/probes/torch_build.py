"""Decide which build of torch this is: a release of an index, or something with no table."""

from __future__ import annotations

import re

import msgspec

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.world import known, unknown

INDEX_INSTALLERS = ("pip", "uv", "poetry", "pdm", "uv-pixi")
"""Installers that take a torch without local version from PyPI; conda builds its own."""

_PLAIN_RELEASE = r"[0-9]+(?:\.[0-9]+)*(?:\.post[0-9]+)?"
# cu118, and cu118.with.pypi.cudnn of the same release
_CUDA_LABEL = r"(cu[0-9]{2,3})(?:\.with\.pypi\.cudnn)?"


class BuildClues(msgspec.Struct, frozen=True):
    """What is known of a torch; its version is written in two places."""

    metadata: Fact
    """Version in the distribution's metadata. PyPI's CUDA wheels have no local part there."""
    file: str
    """``__version__`` in version.py, "" where it does not say. It has the local part."""
    cuda: Fact
    hip: bool
    xpu: bool
    installer: Fact


def classify_build(clues: BuildClues, source: str) -> Fact:
    """Return ``pypi``, ``cu128`` and the like, ``cpu``, ``rocm`` or ``other``; Unknown in doubt."""
    metadata = str(clues.metadata.value) if isinstance(clues.metadata, Known) else ""
    version = metadata or clues.file
    if conflict := _conflict(clues, metadata):
        return unknown(conflict, source)
    if other := _other_than_cuda(clues, version.partition("+")[2]):
        return known(other, source)
    if isinstance(clues.metadata, Unknown):
        return clues.metadata
    return _cuda_build(clues, metadata, source)


def _conflict(clues: BuildClues, metadata: str) -> str:
    """Return how metadata and version.py contradict each other, or ""."""
    public, _, local = (metadata or clues.file).partition("+")
    if metadata and clues.file and clues.file.partition("+")[0] != public:
        return f"metadata says {metadata}, version.py says {clues.file}: two torches are mixed"
    if _contradicts(local, clues.cuda):
        said = clues.cuda.value if isinstance(clues.cuda, Known) else "None"
        return f"its label is {local}, but version.py says cuda = {said}"
    return ""


def _other_than_cuda(clues: BuildClues, local: str) -> str:
    if clues.hip or local.startswith("rocm"):
        return "rocm"
    if clues.xpu or local.startswith("xpu"):
        return "other"
    return "cpu" if local.startswith("cpu") or isinstance(clues.cuda, Absent) else ""


def _contradicts(local: str, cuda: Fact) -> bool:
    label = re.fullmatch(_CUDA_LABEL, local)
    match cuda:
        case Known(value=str(value)) if label:
            return label[1] != cuda_label(value)
        case Known():
            return local.startswith("cpu")
        case Absent():
            return label is not None
        case _:
            return False


def cuda_label(version: str) -> str:
    """Return the label of a CUDA version: ``12.8`` -> ``cu128``."""
    return "cu" + "".join(version.split(".")[:2])


def _cuda_build(clues: BuildClues, metadata: str, source: str) -> Fact:
    """Classify a torch that is neither CPU nor ROCm."""
    public, _, local = metadata.partition("+")
    label = re.fullmatch(_CUDA_LABEL, local)
    if not re.fullmatch(_PLAIN_RELEASE, public):
        return known("other", source)  # no metadata at all, or NGC, nightly, own build
    if label:
        return known(label[1], source)
    if local:
        return known("other", source)
    return _without_label(clues, source)


def _without_label(clues: BuildClues, source: str) -> Fact:
    """Tell PyPI's wheels from conda's, Jetson's and own ones that have no local version either.

    Only releases on PyPI have no label in the metadata, but one in version.py.
    """
    for clue in (clues.cuda, clues.installer):
        if isinstance(clue, Unknown):
            return clue
    installer = str(clues.installer.value) if isinstance(clues.installer, Known) else ""
    from_index = installer.split(" ")[0] in INDEX_INSTALLERS
    label = re.fullmatch(_CUDA_LABEL, clues.file.partition("+")[2])
    return known("pypi" if from_index and label else "other", source)
