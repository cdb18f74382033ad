"""For whom an environment is: who serves with vLLM sets nothing of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.packages import TRAINERS, VLLM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact

SERVER = VLLM


def framework_of(facts: Mapping[str, Fact]) -> str:
    """Return the framework whose words are spoken: configured, else installed; "" where none is.

    vLLM beside a trainer is its helper, and brings transformers itself.
    """
    configured = facts.get("config.framework")
    if isinstance(configured, Known):
        return str(configured.value)
    here = [name for name in TRAINERS if isinstance(facts.get(f"{name}.version"), Known)]
    if here:
        return here[0]
    return SERVER if isinstance(facts.get(f"{SERVER}.version"), Known) else ""


def serves(facts: Mapping[str, Fact]) -> bool:
    """Return whether vLLM is what an environment is for."""
    return framework_of(facts) == SERVER
