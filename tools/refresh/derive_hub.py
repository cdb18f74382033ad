"""Say what transformers and kernels tell about kernels of the Hub: ranges, branches, habits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier
from tools.refresh.artefact import Value, requirements
from tools.refresh.derive import DerivedRow
from tools.refresh.errors import WheelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.version import Version

    from tools.refresh.index import File, Index, Release
    from tools.refresh.wheel import Wheel

_UTILS = "transformers/utils/import_utils.py"
_ATTENTION = "transformers/modeling_flash_attention_utils.py"
_BOUND = re.compile(r"^KERNELS_(MIN|MAX)_VERSION = \"([0-9.]{1,12})\"", re.MULTILINE)
_FALLBACK = re.compile(r"^FLASH_ATTN_KERNEL_FALLBACK = \{(.{0,2000}?)^\}", re.MULTILINE | re.DOTALL)
_VERSIONS = re.compile(r"^FLASH_ATTN_KERNEL_VERSIONS = \{(.{0,2000}?)^\}", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"\"flash_attention_([234])\": (.{0,300}?),\n", re.DOTALL)
_REPOSITORY = re.compile(r"kernels-community/[\w-]{1,60}")
_MAJOR = re.compile(
    r"\"(kernels-community/[\w-]{1,60})\": (\d{1,3})"
    r"(?: if is_torch_greater_or_equal\(\"([0-9.]{1,8})\"[^)]{0,40}\) else (\d{1,3}))?,"
)
_LOOK_BACK = 20
"""Releases that are asked for one to go back to."""

_OLDER_TORCH = "2.0.0"
"""A release of torch that is below every bound of transformers."""


def transformers_hub_kernels(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive ``transformers-hub-kernels``: the kernels that it accepts, and what it loads."""
    for file in release.wheels():
        wheel = index.wheel(file)
        bounds = dict(_BOUND.findall(wheel.text(_UTILS)))
        accepted = f">={bounds.get('MIN', '0')}"
        accepted += f",<{bounds['MAX']}" if "MAX" in bounds else ""
        cells = {"kernels": Value(accepted, f"{file.name}, {_UTILS}")}
        for generation, repository in _fallbacks(wheel).items():
            cells[generation] = Value(repository, f"{file.name}, {_ATTENTION}")
        declared = _declared(index, file)
        if declared:
            newest = _newest(index, declared)
            cells["installable"] = Value(newest or "absent", f"the index, of kernels {declared}")
            older = None if newest else _last_installable(index, release.version)
            cells["instead"] = Value(older, "the index, of older releases")
        yield DerivedRow(release.version, {}, cells)


def transformers_hub_branches(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive ``transformers-hub-branches`` from the release that lists versions on."""
    for file in release.wheels():
        wheel = index.wheel(file)
        listed = _VERSIONS.search(wheel.text(_ATTENTION))
        if listed is None:
            return
        majors = {found[0]: found[1:] for found in _MAJOR.findall(listed.group(1))}
        for generation, repository in _fallbacks(wheel).items():
            major, torch, older = majors.get(repository, ("1", "", ""))
            source = f"{file.name}, {_ATTENTION}"
            keys = {"generation": generation}
            if not torch:
                yield DerivedRow(release.version, keys, {"branch": Value(f"v{major}", source)})
                continue
            for at, branch in ((torch, major), (_OLDER_TORCH, older)):
                cells = {"branch": Value(f"v{branch}", source)}
                yield DerivedRow(release.version, {**keys, "torch": at}, cells)


def kernels_releases(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive ``kernels-releases``: what stands in the sources of the package."""
    for file in [*release.wheels(), *release.wheels("x86_64")][:1]:
        wheel = index.wheel(file)
        names = [name for name in wheel.names if re.fullmatch(r"kernels/\w{1,40}\.py", name)]
        if not names:
            raise WheelError(f"{file.name}: no sources of kernels")
        text = "\n".join(wheel.text(name) for name in sorted(names))
        said = {
            "by_name": "def resolve_variant" not in text,
            "stable_abi": re.search(r"stable[-_]abi", text) is not None,
            "trust": "trustedKernelPublisher" in text,
            "names_version": "A kernel version or revision must be specified" in text,
            "asks_gpu": "def _cuda_arch_supports" in text,
            "local_kernels": "LOCAL_KERNELS" in text,
        }
        source = f"{file.name}, its sources"
        cells = {name: Value(str(each).lower(), source) for name, each in said.items()}
        kind = "kernel" if 'repo_type="kernel"' in text else "model"
        cells["repositories"] = Value(kind, source)
        yield DerivedRow(release.version, {}, cells)


def _fallbacks(wheel: Wheel) -> dict[str, str]:
    """Return what is loaded on NVIDIA for each generation: of two the second, after ROCm's."""
    listed = _FALLBACK.search(wheel.text(_ATTENTION))
    found = {}
    for generation, value in _ENTRY.findall(listed.group(1) if listed else ""):
        repositories = _REPOSITORY.findall(value)
        if repositories:
            found[f"fa{generation}"] = repositories[-1]
    return found


def _declared(index: Index, file: File) -> str:
    """Return the range of kernels that an extra asks for, "" where none does."""
    for required in requirements(index, file):
        if required.name == "kernels" and "kernels" in str(required.marker):
            return str(required.specifier)
    return ""


def _last_installable(index: Index, before: Version) -> str | None:
    """Return the newest release before another whose extra asks for kernels that are there."""
    older = [
        each
        for version, each in index.releases("transformers").items()
        if version < before
        and not version.is_prerelease
        and not all(file.yanked for file in each.files)
    ]
    for release in reversed(older[-_LOOK_BACK:]):
        declared = _declared(index, release.wheels()[0])
        if declared and _newest(index, declared):
            return str(release.version)
    return None


def _newest(index: Index, declared: str) -> str | None:
    """Return the newest release of kernels in a range; None where the index has none."""
    specifier = parse_specifier(declared)
    fitting: list[Version] = [
        version
        for version, release in index.releases("kernels").items()
        if specifier is not None
        and not version.is_prerelease
        and not all(file.yanked for file in release.files)
        and specifier.contains(version)
    ]
    return str(max(fitting)) if fitting else None
