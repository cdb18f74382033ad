"""For whom an environment is: who serves with vLLM sets nothing of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.packages import SGLANG, TRAINERS, VLLM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact

SERVER = VLLM
SERVERS = (SERVER, SGLANG)
"""The servers, the one first that counts where both are here."""


_PROGRAMS = {"comfyui-frontend-package": "comfyui"}
"""A distribution -> the program that requires it, which is no distribution itself."""

_ASKED = "distribution"

ALONE = (*SERVERS, *_PROGRAMS.values())
"""Whose settings alone are given: transformers is their helper."""


def framework_of(facts: Mapping[str, Fact]) -> str:
    """Return the framework whose words are spoken: configured, else installed; "" where none is.

    A server beside a trainer is its helper. ComfyUI is known by a package of its own alone.
    """
    configured = facts.get("config.framework")
    if isinstance(configured, Known):
        return str(configured.value)
    here = [name for name in (*TRAINERS, *SERVERS) if _is_here(name, facts)]
    return here[0] if here else _program(facts)


def _is_here(name: str, facts: Mapping[str, Fact]) -> bool:
    """Return whether a framework is installed, or a file asks for it, in whatever release."""
    return any(isinstance(facts.get(f"{name}.{noun}"), Known) for noun in ("version", _ASKED))


def _program(facts: Mapping[str, Fact]) -> str:
    """Return the program whose environment this is, by what only that program requires."""
    every = facts.get("packages.installed")
    here = every.value if isinstance(every, Known) and isinstance(every.value, dict) else {}
    return next((name for package, name in _PROGRAMS.items() if package in here), "")


def serves(facts: Mapping[str, Fact]) -> bool:
    """Return whether vLLM is what an environment is for."""
    return framework_of(facts) == SERVER


def server_of(facts: Mapping[str, Fact]) -> str:
    """Return the server that an environment is for, vLLM or SGLang; "" where it is for none."""
    framework = framework_of(facts)
    return framework if framework in SERVERS else ""
