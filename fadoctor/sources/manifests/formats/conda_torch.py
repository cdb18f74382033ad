"""Which torch conda's solver takes: by the channels, the CUDA that is named, and the Python.

PyTorch's own channel has builds that require exactly one ``cudatoolkit``, or since 1.13 exactly one
``pytorch-cuda``. Where none fits, conda takes its build for the CPU.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.packages import BESIDE_TORCH, TORCH, XFORMERS
from fadoctor.sources.manifests.formats.conda_build import CPU, conda_cuda, is_cpu
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.planned import Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.planned import Requirement

_TABLE, _COMPANIONS = "conda-torch-builds", "torch-companions"
_TOOLKIT, _METAPACKAGE = "cudatoolkit", "pytorch-cuda"
"""What a build requires: until 1.12 the first, since 1.13 the second."""
_CPU_ONLY = "cpuonly"
"""A package that lets conda take the build for the CPU."""
_OWN, _DEFAULTS, _NVIDIA, _FORGE = "pytorch", "defaults", "nvidia", "conda-forge"
_WITHOUT_TORCH = frozenset((_NVIDIA, "nodefaults", "pyg", "dglteam", XFORMERS, "bioconda"))
"""Channels in which no package is called pytorch."""
_KNOWN = _WITHOUT_TORCH | {_OWN, _DEFAULTS, _FORGE}
_TOOLKITS_OF_DEFAULTS = frozenset(("9.0", "9.2", "10.0", "10.1", "10.2", "11.0", "11.3", "11.8"))
"""The cudatoolkit that Anaconda's own channel has, whose torch could be built for it."""
_LAST_TOOLKIT, _FIRST_FORGE_CUDA = (11, 8), (12, 0)
"""The last cudatoolkit of all channels; the first CUDA whose libraries conda-forge has singly."""
_MINOR = re.compile(r"==([0-9]{1,2}\.[0-9]{1,2})(?:\.[0-9*.]{1,12})?")
_NAMED_CHANNEL = re.compile(r"(?:^|/)([\w-]{1,60})(?:/label/[\w.-]{1,60})?/?$")


class CondaBuild(msgspec.Struct, frozen=True):
    """One release of torch for one CUDA."""

    torch: str
    cuda: str
    chosen_by: str
    python: str


@lru_cache(maxsize=1)
def conda_builds() -> tuple[CondaBuild, ...]:
    """Return the builds for CUDA that PyTorch's channel has, the oldest first."""
    rows = load_knowledge().tables[_TABLE].rows
    found = [
        CondaBuild(torch, str(row["cuda"]), str(row["chosen_by"]), str(row["python"]))
        for row in rows
        for torch in cell_words(row["torch"])
    ]
    return tuple(sorted(found, key=lambda build: _ordered(build.torch)))


def settle_torch(draft: Draft, channels: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Bound the torch of a draft to what conda can take; say its CUDA, or that it has none.

    Return notes on what decides nothing, each with its line.
    `channels`: those of the file or the command, first the one that goes before the others.
    """
    names = [_name_of(each) for each in channels]
    _refuse(draft, names)
    found = [each for each in draft.requirements if each.name == TORCH and each.manager == "conda"]
    if len(found) == 1 and not (conda_cuda(found[0].build) or is_cpu(found[0].build)):
        settling = _Settling(draft, found[0], names)
        settling.settle()
        return settling.idle_toolkit()
    return ()


def _ordered(version: str) -> tuple[int, ...]:
    parsed = parse_version(version)
    return parsed.release if parsed else ()


def _name_of(channel: str) -> str:
    found = _NAMED_CHANNEL.search(channel)
    return found[1] if found else channel


def _minor_of(draft: Draft, name: str) -> tuple[str, Requirement | None]:
    """Return the version of a package of CUDA that a draft names to its second part."""
    for each in draft.requirements:
        if each.name == name and each.manager == "conda":
            found = _MINOR.fullmatch(each.specifier)
            return (found[1] if found else ""), each
    return "", None


def _torches_beside(asked: Sequence[Requirement]) -> set[str] | None:
    """Return the releases of torch that torchvision and torchaudio of conda admit; None for all.

    Each of theirs requires exactly one torch.
    """
    bounds = {
        each.name: each.specifier
        for each in asked
        if each.name in BESIDE_TORCH and each.manager == "conda" and each.specifier
    }
    if not bounds:
        return None
    return {
        str(row["torch"])
        for row in load_knowledge().tables[_COMPANIONS].rows
        if all(
            not is_impossible((text, f"=={row[name]}"))
            for name, text in bounds.items()
            if name in row
        )
    }


class _Settling:
    """One torch, and what is named beside it."""

    def __init__(self, draft: Draft, torch: Requirement, channels: Sequence[str]) -> None:
        self.draft, self.torch, self.channels = draft, torch, channels
        self.toolkit, self.toolkit_of = _minor_of(draft, _TOOLKIT)
        self.metapackage, self.metapackage_of = _minor_of(draft, _METAPACKAGE)
        python = draft.python.value if draft.python else ""
        beside = _torches_beside(draft.requirements)
        self.fitting = [
            each
            for each in conda_builds()
            if self.admits(each.torch)
            and (beside is None or each.torch in beside)
            and not (python and is_impossible((python, each.python)))
        ]

    def admits(self, release: str) -> bool:
        """Say whether the file asks for a torch that may be this release."""
        return not is_impossible((self.torch.specifier, f"=={release}"))

    def settle(self) -> None:
        """Decide by what the newest release that fits is built for."""
        if any(each.name == _CPU_ONLY and each.manager for each in self.draft.requirements):
            self.put(msgspec.structs.replace(self.torch, build=CPU))
            return
        first = self.first_channel()
        if first not in (_OWN, _DEFAULTS) or not self.fitting:
            return
        newest = self.fitting[-1]
        if newest.chosen_by == _METAPACKAGE:
            self.by_metapackage(is_own=first == _OWN)
            return
        if self.metapackage_of is not None:
            # an older torch does not require it: it is there for nothing
            cuda = self.draft.facts.get("torch.cuda")
            if cuda is not None and cuda.place == self.metapackage_of.place:
                del self.draft.facts["torch.cuda"]
        if self.toolkit and self.toolkit_of is not None:
            self.by_toolkit(newest, is_own=first == _OWN)

    def idle_toolkit(self) -> tuple[tuple[int, str], ...]:
        """Return that cudatoolkit chooses no build, as the newest torch requires none."""
        newest = self.fitting[-1] if self.fitting else None
        if newest is None or newest.chosen_by != _METAPACKAGE or self.metapackage_of is not None:
            return ()
        named = self.toolkit_of
        if named is None or self.first_channel() != _OWN:
            return ()
        text = (
            f"{_TOOLKIT} does not choose the build: torch {newest.torch} requires {_METAPACKAGE} "
            f"instead; without it and channel {_NVIDIA} conda may take the CPU build"
        )
        return ((named.place.line, text),)

    def first_channel(self) -> str:
        """Return the channel that the torch comes from; "" where several may have it."""
        own = _name_of(self.torch.index)
        if own == _OWN:
            return own
        if not self.channels or own != self.channels[0]:
            return ""
        others = [each for each in self.channels if each not in _WITHOUT_TORCH]
        if others[:1] == [_OWN]:
            return _OWN
        is_after = others[:2] == [_DEFAULTS, _OWN]
        return _DEFAULTS if is_after and self.toolkit not in _TOOLKITS_OF_DEFAULTS else ""

    def by_metapackage(self, *, is_own: bool) -> None:
        """Bound a torch that pytorch-cuda decides on."""
        found = [
            each
            for each in self.fitting
            if each.chosen_by == _METAPACKAGE and each.cuda == self.metapackage
        ]
        if is_own and found:
            self.replace(found)

    def by_toolkit(self, newest: CondaBuild, *, is_own: bool) -> None:
        """Bound a torch that cudatoolkit decides on, or say that it is the build for the CPU."""
        found = [each for each in self.fitting if each.cuda == self.toolkit]
        if found and found[-1].torch == newest.torch:
            place = self.toolkit_of.place if self.toolkit_of else self.torch.place
            self.draft.facts["torch.cuda"] = Setting(self.toolkit, place)
            if is_own:
                self.replace(found)
        elif is_own and not found:
            self.put(msgspec.structs.replace(self.torch, build=CPU, index=_OWN))

    def replace(self, found: list[CondaBuild]) -> None:
        """Put the bounds of the builds in the place of what the file asks for."""
        if exact_version(self.torch.specifier):
            self.put(msgspec.structs.replace(self.torch, index=_OWN))
            return
        low, high = found[0].torch, found[-1].torch
        is_series = _ordered(low)[:2] == _ordered(high)[:2]
        text = f"=={high}" if is_series else f">={low},<={high}"
        asked = "" if is_series else self.torch.specifier
        both = ",".join(filter(None, (asked, text)))
        self.put(msgspec.structs.replace(self.torch, specifier=both, index=_OWN))

    def put(self, torch: Requirement) -> None:
        """Put another torch in the place of the one that is asked for."""
        asked = self.draft.requirements
        self.draft.requirements = [torch if each is self.torch else each for each in asked]


def _refuse(draft: Draft, channels: Sequence[str]) -> None:
    """Note what no channel has, or what requires what none of the channels has."""
    cuda, metapackage = _minor_of(draft, _METAPACKAGE)
    builds = conda_builds()
    known = {each.cuda for each in builds if each.chosen_by == _METAPACKAGE}
    if metapackage is not None and cuda:
        why = _without_metapackage(cuda, known, channels) or _for_another_cuda(
            draft, cuda, channels
        )
        if why:
            draft.refused[_METAPACKAGE] = f"{metapackage.place}: {why}"
    toolkit, named = _minor_of(draft, _TOOLKIT)
    if named is not None and toolkit and _ordered(toolkit) > _LAST_TOOLKIT:
        draft.refused[_TOOLKIT] = (
            f"{named.place}: no channel has cudatoolkit {toolkit}, it ends with 11.8"
        )


def _without_metapackage(cuda: str, known: set[str], channels: Sequence[str]) -> str:
    """Return why pytorch-cuda of this CUDA cannot be installed, "" where it may be."""
    if not channels or not _KNOWN.issuperset(channels):
        return ""
    if cuda not in known:
        newest = max(known, key=_ordered)
        return f"channel pytorch has no pytorch-cuda {cuda}, it ends with {newest}"
    if _NVIDIA not in channels and _ordered(cuda) < _FIRST_FORGE_CUDA:
        return f"pytorch-cuda {cuda} requires packages of channel nvidia, which is not named"
    return ""


def _for_another_cuda(draft: Draft, cuda: str, channels: Sequence[str]) -> str:
    """Return that the torch of the channel is built for other CUDAs, "" where one is for this."""
    if _FORGE in channels or not _KNOWN.issuperset(channels):
        return ""
    for each in draft.requirements:
        if each.name == TORCH and each.manager == "conda" and each.specifier:
            built = [
                b for b in conda_builds() if not is_impossible((each.specifier, f"=={b.torch}"))
            ]
            is_later = built and all(b.chosen_by == _METAPACKAGE for b in built)
            if is_later and all(b.cuda != cuda for b in built):
                found = " and ".join(sorted({b.cuda for b in built}, key=_ordered))
                return f"torch{each.specifier} is built for CUDA {found}, not for {cuda}"
    return ""
