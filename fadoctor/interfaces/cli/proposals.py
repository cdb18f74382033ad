"""What a shell proposes behind an option. Called while somebody types, and never otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.rule import Knowledge

Proposal = tuple[str, str]
"""A value, and what is said about it."""


def _starting(incomplete: str, proposals: Iterable[Proposal]) -> list[Proposal]:
    """Return what begins with what was typed, however it is capitalised."""
    typed = incomplete.lower()
    return [each for each in proposals if each[0].lower().startswith(typed)]


def _knowledge() -> Knowledge:
    from fadoctor.knowledge.matrix.load import load_knowledge

    return load_knowledge()


def gpus(incomplete: str) -> list[Proposal]:
    """Return names of GPUs, without spaces, which shells would take for the next word."""
    from fadoctor.sources.targets.gpu_name import models

    found = [
        (gpu.name.replace(" ", "-"), gpu.compute_capability or gpu.gfx)
        for gpu in models(_knowledge().tables)
    ]
    return _starting(incomplete, dict.fromkeys([*found, ("none", "no GPU at all")]))


def rule_ids(incomplete: str) -> list[Proposal]:
    """Return the ids of all rules, with their titles."""
    return _starting(incomplete, ((rule.id, rule.title) for rule in _knowledge().rules))


def areas(incomplete: str) -> list[Proposal]:
    """Return the areas of rules."""
    return _starting(incomplete, sorted({(rule.area, "") for rule in _knowledge().rules}))


def backends(incomplete: str) -> list[Proposal]:
    """Return the backends that a smoke run can try."""
    from fadoctor.model.smoke_catalogue import RUN

    return _starting(incomplete, ((name, "") for name in RUN))


def dtypes(incomplete: str) -> list[Proposal]:
    """Return the dtypes that a smoke run can try."""
    from fadoctor.model.verdict import Dtype

    return _starting(incomplete, ((each.value, "") for each in Dtype))


def devices(incomplete: str) -> list[Proposal]:
    """Return what a smoke run can run on."""
    return _starting(incomplete, ((name, "") for name in ("cuda", "cuda:0", "cpu", "all")))


def platforms(incomplete: str) -> list[Proposal]:
    """Return the platforms that can be assumed."""
    from fadoctor.sources.targets.overlay import PLATFORMS

    return _starting(incomplete, ((name, "") for name in PLATFORMS))


def config_kinds(incomplete: str) -> list[Proposal]:
    """Return the kinds of configurations that can be read."""
    from fadoctor.sources.configs import READERS

    return _starting(incomplete, ((name, "") for name in READERS))


def packages(incomplete: str) -> list[Proposal]:
    """Return the packages of the stack, as a plan knows them."""
    from fadoctor.model.packages import PACKAGES

    return _starting(incomplete, ((names[0], "") for names in PACKAGES.values()))


def wishes(incomplete: str) -> list[Proposal]:
    """Return what a plan can be asked for: packages, and kernels of the Hub."""
    from fadoctor.model.verdict import Backend

    of_hub = [(each.value, "") for each in Backend if each.value.startswith("hub-")]
    return [*packages(incomplete), *_starting(incomplete, of_hub)]
