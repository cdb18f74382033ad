"""What an installation brings with it beside what is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known
from fadoctor.model.packages import FRAMEWORKS, TORCH
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.indexes import CPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def range_of(choice: Choice) -> str:
    """Return the range from which an installer takes a release, "" where one is named."""
    specifier = choice.requirement.removeprefix(choice.distribution)
    return specifier if specifier[:1] in set("<>~!") else ""


def owners_of(choices: Iterable[Choice]) -> Iterator[str]:
    """Yield who publishes the files that others than the package's authors built."""
    for choice in choices:
        if choice.kind is ChoiceKind.COMMUNITY:
            yield choice.url.split("/")[3]


def effects_of(choices: tuple[Choice, ...]) -> Iterator[str]:
    """Yield what an installation brings with it beside what is named."""
    kinds = [choice.kind for choice in choices]
    torch = next((choice for choice in choices if choice.package == TORCH), None)
    if torch is not None and version_part(torch.version, "local") != CPU:
        is_amd = isinstance(torch.facts.get("torch.hip"), Known)
        whose = "AMD's" if is_amd else "NVIDIA's"
        yield f"the download is several gigabytes, {whose} libraries included"
    is_open = any(c.kind is ChoiceKind.INSTALL and range_of(c) for c in choices)
    is_open |= any(choice.package in FRAMEWORKS for choice in choices)
    if ChoiceKind.FOLLOW in kinds or is_open:
        yield "the installer chooses the versions that are not named here, and what those require"
    for owner in owners_of(choices):
        yield f"{owner}, a third party, built the wheel, not the authors of flash-attn"
