"""What the name of a container image says, by the tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_in, version_key
from fadoctor.model.packages import (
    BESIDE_TORCH,
    FLASH_ATTN,
    PACKAGES,
    RELEASE_TABLES,
    SGLANG,
    TORCH,
    VLLM,
)
from fadoctor.sources.manifests.images.told_tag import told_by_tag
from fadoctor.sources.manifests.planned import Requirement, Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.place import Place
    from fadoctor.model.rule import Table

_LIMIT = 300
# docker.io/pytorch/pytorch:2.7.1-cuda12.8-cudnn9-devel@sha256:...
_REFERENCE = re.compile(
    r"(?:(?:registry\.hub\.)?docker\.io/)?(?:library/)?(?P<image>[a-z0-9][a-z0-9./_:-]{0,200}?)"
    r"(?::(?P<tag>[A-Za-z0-9_][\w.-]{0,127}))?(?P<digest>@sha256:[0-9a-f]{8,64})?"
)
_OF_INDEX = (TORCH, *BESIDE_TORCH)
_OF_A_NIGHTLY = "the image has one of torch's own build, in no release"
_FACTS = {"cuda": "toolkit.nvcc.version", "torch_cuda": "torch.cuda"}


class ImageContents(msgspec.Struct, frozen=True):
    """What an image brings, by its tag."""

    requirements: tuple[Requirement, ...] = ()
    facts: dict[str, Setting] = {}
    python: Setting | None = None
    is_known: bool = False
    has_nvcc: bool | None = None
    """Whether CUDA's compiler is in it; None where the tag does not say."""
    system: str = ""
    """The distribution and its release: ``ubuntu22.04``."""


def read_image(reference: str, place: Place, tables: Mapping[str, Table]) -> ImageContents:
    """Return what the reference of an image says, nothing where no row speaks of it."""
    row, said = _row_of(reference, tables)
    if row is None:
        return _by_words(reference, place, tables)
    cells = {name: str(cell) for name, cell in row.items() if isinstance(cell, str)}
    nvcc = row.get("nvcc")
    has_nvcc = nvcc if isinstance(nvcc, bool) else None
    said = cells | said
    found = _said(said | (beside := _beside(row, said, tables)), place, tables)
    unnamed = [name for name in BESIDE_TORCH if row.get("beside_torch") and name not in beside]
    held = tuple(Requirement(name, place, "", doubt=_OF_A_NIGHTLY) for name in unnamed)
    asked = (*found.requirements, *held)
    return msgspec.structs.replace(found, requirements=asked, has_nvcc=has_nvcc)


def _by_words(reference: str, place: Place, tables: Mapping[str, Table]) -> ImageContents:
    """Return what the words of a tag say of an image that no row has; the rest of it is open.

    What is published with torch is taken to be there: a plan that moves torch moves it along.
    """
    found = _REFERENCE.fullmatch(reference) if len(reference) <= _LIMIT else None
    if found is None or not found["tag"]:
        return ImageContents()
    said = told_by_tag(found["tag"])
    beside = _beside({"beside_torch": True}, said, tables)
    contents = _said(said | beside, place, tables) if said else ImageContents()
    return msgspec.structs.replace(contents, is_known=False)


def has_torch_alone(reference: str, tables: Mapping[str, Table]) -> bool:
    """Return whether an image is one of torch, and of nothing that requires torch in its turn."""
    row, _ = _row_of(reference, tables)
    return row is not None and row.get("beside_torch") is True


def _row_of(reference: str, tables: Mapping[str, Table]) -> tuple[Row | None, dict[str, str]]:
    """Return the row that speaks of an image, and what its tag says."""
    found = _REFERENCE.fullmatch(reference) if len(reference) <= _LIMIT else None
    if found is None or (found["digest"] and not found["tag"]):
        return None, {}
    tag = found["tag"] or "latest"
    for row in tables["container-images"].rows:
        if found["image"] not in str(row["image"]).split():
            continue
        match = re.fullmatch(str(row["tag"]), tag)
        if match is not None:
            return row, {key: value for key, value in match.groupdict().items() if value}
    return None, {}


def with_release(reference: str, name: str, version: str, tables: Mapping[str, Table]) -> str:
    """Return the reference of the same image with another release of its server: vllm, 0.19.1.

    "" where the tag is more than that release, for whether such a tag exists is not known then.
    """
    found = _REFERENCE.fullmatch(reference) if len(reference) <= _LIMIT else None
    row, _ = _row_of(reference, tables)
    if found is None or row is None or found["digest"]:
        return ""
    tag, image = found["tag"] or "latest", reference.removesuffix(f":{found['tag']}")
    if row.get("newest") == name:
        written = row.get("written")
        return f"{image}:{written.format(version=version)}" if isinstance(written, str) else ""
    match = re.fullmatch(str(row["tag"]), tag)
    if match is None or name not in match.re.groupindex or match.end(name) != len(tag):
        return ""
    new = tag[: match.start(name)] + version
    return f"{image}:{new}" if match.re.fullmatch(new) else ""


def _said(parts: dict[str, str], place: Place, tables: Mapping[str, Table]) -> ImageContents:
    facts = {fact: Setting(parts[name], place) for name, fact in _FACTS.items() if name in parts}
    system = f"ubuntu{parts['ubuntu']}" if "ubuntu" in parts else parts.get("os", "")
    for row in tables["os-glibc"].rows:
        if system in str(row["os"]).split():
            facts["host.glibc"] = Setting(str(row["glibc"]), place)
    index = ""
    if "torch_build" in parts or "torch_cuda" in parts:
        build = parts.get("torch_build") or f"cu{parts['torch_cuda'].replace('.', '')}"
        rows = tables["torch-indexes"].rows
        index = next((str(row["index"]) for row in rows if row["build"] == build), "")
    if parts.get("newest") == VLLM and "torch_build" in parts:
        newest = parts | {VLLM: _newest_vllm(tables)}
        parts = newest if _is_own_build(newest, tables) else parts
    if VLLM in parts and _is_own_build(parts, tables):
        parts = parts | {VLLM: f"{parts[VLLM]}+{parts['torch_build']}"}
    if "torch_rocm" in parts:  # of AMD's own, as the label of its files says
        parts = parts | {TORCH: f"{parts[TORCH]}+rocm{parts['torch_rocm']}"}
    requirements = [
        Requirement(name, place, f"=={parts[name]}", index=index if name in _OF_INDEX else "")
        for name in (*_OF_INDEX, VLLM, SGLANG)
        if name in parts
    ]
    if flash := _flash_attn(parts.get(FLASH_ATTN, ""), tables):
        requirements.append(Requirement(PACKAGES[FLASH_ATTN][0], place, f"=={flash}"))
    if "newest" in parts and parts["newest"] not in parts:
        requirements.append(Requirement(parts["newest"], place, ""))
    if "torch_build" in parts:
        # The server's requirement says which torch, the tag only for which CUDA.
        requirements.append(Requirement(TORCH, place, "", index=index))
    python = parts.get("python")
    exact = f"=={python}" if python and python.count(".") > 1 else f"=={python}.*"
    return ImageContents(
        tuple(requirements),
        facts,
        Setting(exact, place) if python else None,
        is_known=True,
        system=system,
    )


def _flash_attn(told: str, tables: Mapping[str, Table]) -> str:
    """Return the release of flash-attn that PyPI has for one in a tag: 2.7.4 is 2.7.4.post1."""
    every = load_apart(tables)[RELEASE_TABLES[FLASH_ATTN]].rows if told else ()
    rows = (row for row in every if row.get("on_pypi") is True)
    listed = [word for row in rows for word in cell_words(row["version"])]
    posts = (each for each in listed if each.startswith(f"{told}.post"))
    return told if told in listed else next(posts, "")


def _newest_vllm(tables: Mapping[str, Table]) -> str:
    """Return the newest release of vLLM that its table lists."""
    rows = tables[RELEASE_TABLES[VLLM]].rows
    return max((each for row in rows for each in cell_words(row["version"])), key=version_key)


def _is_own_build(parts: Mapping[str, str], tables: Mapping[str, Table]) -> bool:
    """Return whether an image's vLLM is for another CUDA major version than PyPI's.

    vLLM labels such a build with its CUDA, and PyPI has none of them.
    """
    build = parts.get("torch_build", "")
    rows = [row for row in tables["vllm-minimum"].rows if is_in(parts[VLLM], str(row["version"]))]
    majors = {row["cuda"] for row in rows if isinstance(row["cuda"], str)}
    return bool(build and majors) and build.removeprefix("cu")[:2] not in majors


def _beside(image: Row, said: Mapping[str, str], tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the torchvision and the torchaudio of a release of torch, where they are there."""
    rows = tables["torch-companions"].rows if image.get("beside_torch") is True else ()
    row = next((each for each in rows if each[TORCH] == said.get(TORCH)), {})
    return {name: str(row[name]) for name in BESIDE_TORCH if name in row}
