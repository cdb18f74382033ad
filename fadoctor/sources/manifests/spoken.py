"""What a text says beside what it asks for: a variable of a build, and where a file comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.place import Place
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.manifests.requirement_text import file_of
from fadoctor.sources.probes.metadata import clean_url

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest, Requirement
    from fadoctor.sources.manifests.source import Source

_SKIP, _TRUE = "FLASH_ATTENTION_SKIP_CUDA_BUILD", "TRUE"
# ENV NAME=TRUE, NAME: "TRUE", "NAME": "TRUE", export NAME=TRUE
_SKIPS = re.compile(rf"{_SKIP}['\"]?\s{{0,3}}[=:\s]\s{{0,3}}['\"]?{_TRUE}\b")
# wget https://.../flash_attn-2.8.3+cu12torch2.4cxx11abiTRUE-cp311-cp311-linux_x86_64.whl
_FETCHED = re.compile(r"https://[^\s'\"<>|;]{1,1000}/[^\s'\"<>|;/]{1,300}\.whl")
_WHEEL = ".whl"


def with_spoken(manifest: Manifest, source: Source) -> Manifest:
    """Return a manifest with what its text says in other places than its requirements."""
    return _with_variable(_with_addresses(manifest, source), source)


def _with_variable(manifest: Manifest, source: Source) -> Manifest:
    """Return a manifest with the variable that keeps flash-attn's setup from compiling.

    It counts wherever a text sets it: for a job, a step, a stage or one command.
    """
    found = _SKIPS.search(source.text) if _SKIP in source.text else None
    if found is None or _SKIP in manifest.variables:
        return manifest
    at = Place(source.name, source.text.count("\n", 0, found.start()) + 1)
    variables = {**manifest.variables, _SKIP: Setting(_TRUE, at)}
    return msgspec.structs.replace(manifest, variables=variables)


def _with_addresses(manifest: Manifest, source: Source) -> Manifest:
    """Return a manifest whose local wheels have the address from which its commands fetch them."""
    if not manifest.is_in_steps or not any(map(_is_local, manifest.requirements)):
        return manifest
    fetched = {file_of(each[0]): clean_url(each[0]) for each in _FETCHED.finditer(source.text)}
    asked = tuple(
        msgspec.structs.replace(each, url=fetched.get(file_of(each.url), each.url))
        if _is_local(each)
        else each
        for each in manifest.requirements
    )
    return msgspec.structs.replace(manifest, requirements=asked)


def _is_local(asked: Requirement) -> bool:
    return asked.url.endswith(_WHEEL) and "://" not in asked.url
