"""Fixes: what to do about a finding, as typed steps."""

from __future__ import annotations

import enum

import msgspec

Effect = bool | int | str | None
"""What a fact is after a step; None is Absent."""


class Safety(enum.Enum):
    """Whether a fix can lose something that worked before."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class StepKind(enum.Enum):
    """What a step does. Only install and uninstall are commands of the environment's installer."""

    INSTALL = "install"
    UNINSTALL = "uninstall"
    UNSET = "unset"
    SET = "set"
    SETTING = "setting"
    SYSTEM = "system"
    ADVICE = "advice"


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to do.

    ``install`` and ``uninstall`` carry requirements (PEP 508) in ``items``; ``set`` and ``unset``
    carry environment variables; ``setting``, ``system`` and ``advice`` carry only ``text``.
    """

    kind: StepKind
    text: str
    """One line for a person: the setting, the system command or the sentence."""
    items: tuple[str, ...] = ()
    index: str = ""
    """Package index for ``install``, where it is not the configured one."""
    options: tuple[str, ...] = ()
    """Options of the installer: ``--no-build-isolation``."""
    effects: dict[str, Effect] = {}
    """Facts as they are after it, where its kind does not say so: None is Absent."""


class Fix(msgspec.Struct, frozen=True, omit_defaults=True):
    """One way to remove a finding. The first fix of a rule is the best one."""

    id: str
    title: str
    safety: Safety = Safety.UNSAFE
    steps: tuple[Step, ...] = ()
    side_effects: str = ""
