"""Advice for Windows is left out where a text shows Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import ASSUMED_PLATFORM
from fadoctor.model.fact import Known
from fadoctor.model.fix import StepKind
from fadoctor.syntax.likely_lines import stands
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix, Step

# "On Windows: pip install triton-windows", but not: On Windows and Linux
_OF_WINDOWS = compiled(r"On Windows\b(?![^\n]{0,2000}\bLinux\b)")
# Words and paths by which a text shows Linux itself
OF_LINUX = compiled(
    r"(?i)\b(?:ubuntu|debian|fedora|centos|rhel|linux)\b|(?<![\w.])/(?:home|usr|opt)/|/lib/python3\.\d"
)
# WSL is a Linux whose driver is that of Windows
_WSL = compiled(r"(?i)\bwsl")


def for_linux(fixes: Iterable[Fix], said: Environment, lines: Sequence[str]) -> tuple[Fix, ...]:
    """Return fixes without the steps of advice that are for Windows, where the text shows Linux.

    A fix that has no other step keeps them. What a text leaves open is assumed, and shows nothing.
    """
    offered = tuple(fixes)
    if not any(map(_has_parts, offered)):
        return offered
    system = said.fact("host.os")
    is_linux = isinstance(system, Known) and system.value == "linux"
    if not is_linux or stands(_WSL, lines):
        return offered
    is_shown = system.source != ASSUMED_PLATFORM or stands(OF_LINUX, lines)
    return tuple(map(_without, offered)) if is_shown else offered


def _has_parts(fix: Fix) -> bool:
    return any(map(_is_of_windows, fix.steps))


def _without(fix: Fix) -> Fix:
    """Return a fix without its steps for Windows; one that introduces a command stays."""
    behind = (*fix.steps[1:], None)
    kept = tuple(
        step
        for step, after in zip(fix.steps, behind, strict=True)
        if not _is_of_windows(step) or (after is not None and after.kind is not StepKind.ADVICE)
    )
    return fix if not kept or kept == fix.steps else msgspec.structs.replace(fix, steps=kept)


def _is_of_windows(step: Step) -> bool:
    return step.kind is StepKind.ADVICE and _OF_WINDOWS.match(step.text) is not None
