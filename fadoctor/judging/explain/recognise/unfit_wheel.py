"""A wheel that a text names, and that an installer refuses by what the text says of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.logs.wheel_names import wheel_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FACT = "log.unfit_wheel"


def unfit_wheel(lines: Sequence[str], facts: Mapping[str, Fact]) -> Fact:
    """Return why the one wheel that a text names is refused on the machine that it tells of."""
    found = wheel_names(lines)
    if len(found) != 1:
        return Absent("the log names no one wheel")
    # Late: few texts name a wheel.
    from fadoctor.sources.manifests.installed.wheel_tags import unfit  # noqa: PLC0415

    problem = unfit(next(iter(found)), facts)
    return Known(problem, "the log") if problem else Absent("nothing told refuses it")
