"""GPUs of which a table shows only the beginning of the name: what all that fit have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError
from fadoctor.sources.pasted.claims import CUT_NAME, Claim
from fadoctor.sources.targets.gpu_name import GpuModel, find_gpu, key_of, models

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.model.rule import Table

_FORMS = ("pcie", "sxm", "hbm", "nvl", "oam", "with", "laptop", "gpu", "mobile", "max")
"""Words behind a model's name that can be cut, too."""


def with_whole_names(claims: Iterable[Claim], tables: Mapping[str, Table]) -> list[Claim]:
    """Return claims with what names that were cut surely are, in place of these."""
    return [found for claim in claims for found in _whole(claim, tables)]


def _whole(claim: Claim, tables: Mapping[str, Table]) -> Iterator[Claim]:
    at, _, part = claim.name.partition(".")
    if part != CUT_NAME:
        yield claim
        return
    fitting = _fitting(str(claim.value), tables)
    names = {gpu.name for gpu in fitting}
    capabilities = {gpu.compute_capability or gpu.gfx for gpu in fitting}
    if len(names) == 1:
        yield Claim(f"{at}.name", fitting[0].name, claim.line, claim.tool)
    if len(capabilities) == 1 and fitting[0].compute_capability:
        capability = fitting[0].compute_capability
        yield Claim(f"{at}.compute_capability", capability, claim.line, claim.tool)


def _fitting(cut: str, tables: Mapping[str, Table]) -> list[GpuModel]:
    """Return the models that a name can go on to be, or that it names already."""
    split = re.split(r"[ -](?=[^ -]*$)", cut)
    if len(split) > 1 and any(form.startswith(split[-1].lower()) for form in _FORMS):
        cut = split[0]
    try:
        return [find_gpu(cut, tables)]
    except UsageError:
        key = key_of(cut)
    return [gpu for gpu in models(tables) if len(key) > 2 and key_of(gpu.name).startswith(key)]
