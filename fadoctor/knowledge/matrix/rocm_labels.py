"""The label of a torch for ROCm that the index of PyTorch has: ``2.13.0+rocm7.2``."""

from __future__ import annotations

import re

from fadoctor.knowledge.matrix.versions import version_part

# rocm6.4, rocm6.2.4; AMD's own are rocm7.2.1.lw.gitff65f5bc and the like
_LABEL = r"rocm\d{1,3}(?:\.\d{1,3}){1,2}"


def label_of(version: str) -> str:
    """Return ``rocm7.2`` for a version with such a label, "" for any other."""
    label = version_part(version, "local") or ""
    return label if re.fullmatch(_LABEL, label) else ""
