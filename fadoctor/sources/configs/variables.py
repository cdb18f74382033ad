"""Which environment variables of a script are what a run asks for."""

from __future__ import annotations

from fadoctor.model.fact_rows import ENVIRONMENT_VARIABLES

_ASKED = ("VLLM_", "FLASH_ATT", "XFORMERS_", "UNSLOTH_", "ACCELERATE_", "ATTN_BACKEND",
          "USE_FLASH_ATTENTION", "TRITON_INTERPRET")  # fmt: skip
"""Beginnings of those that choose attention and precision; paths and devices belong to a host."""


def is_asked(name: str) -> bool:
    """Return whether a variable is one that is looked at, and that a configuration may set."""
    return name.startswith(_ASKED) and any(
        name.startswith(each[:-1]) if each.endswith("*") else name == each
        for each in ENVIRONMENT_VARIABLES
    )
