"""Hide what looks like a secret in text that enters a fact."""

from __future__ import annotations

import re

from fadoctor.syntax.credentials.hiding import HIDDEN, hide_credentials
from fadoctor.syntax.credentials.names import is_secret_name

__all__ = ("HIDDEN", "hide_secrets", "hide_tokens", "is_secret_name")

# a run of 40 or more letters and digits that is no part of a path; UUIDs of GPUs stay
_RANDOM = re.compile(
    r"(?<![\w/.+-])(?!(?:GPU|MIG)-)(?=[^\s]{0,39}\d)(?=[^\s]{0,39}[A-Za-z])[\w+-]{40,500}={0,2}(?![\w/.-])"
)


def hide_secrets(text: str) -> str:
    """Return text with what is or may be a secret replaced by ``***``: long random words too."""
    return _RANDOM.sub(HIDDEN, hide_tokens(text))


def hide_tokens(text: str) -> str:
    """Return text with credentials of URLs, named secrets and known tokens replaced by ``***``."""
    return hide_credentials(text)
