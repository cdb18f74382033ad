"""Hide what looks like a secret in text that enters a fact."""

from __future__ import annotations

import re

HIDDEN = "***"

# https://user:password@host/path, git+https://token@host
_USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^/\s]{1,300}@")
# ?token=abc, password: abc, api-key=abc
_NAMED = re.compile(
    r"(?i)((?:token|secret|passw(?:or)?d|credential|signature|api[_-]?key)s?\s?[=:]\s?)[^\s&;,]{1,500}"
)
# hf_AbC..., ghp_AbC..., AKIA..., eyJhbGciOi...
_PREFIXED = re.compile(
    r"\b(?:(?:hf|gh[opsu])_[A-Za-z0-9]{20,500}|github_pat_\w{20,500}|glpat-[\w-]{16,500}"
    r"|pypi-[\w-]{20,500}|xox[abp]-[\w-]{10,500}|AKIA[A-Z0-9]{16}|eyJ[\w-]{10,500}[\w.-]{0,2000})"
    r"|(?<![\w/.-])sk-[\w-]{20,500}"
)
# a run of 40 or more letters and digits that is no part of a path; UUIDs of GPUs stay
_RANDOM = re.compile(
    r"(?<![\w/.+-])(?!(?:GPU|MIG)-)(?=[^\s]{0,39}\d)(?=[^\s]{0,39}[A-Za-z])[\w+-]{40,500}={0,2}(?![\w/.-])"
)
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE")


def hide_secrets(text: str) -> str:
    """Return text with what is or may be a secret replaced by ``***``: long random words too."""
    return _RANDOM.sub(HIDDEN, hide_tokens(text))


def hide_tokens(text: str) -> str:
    """Return text with credentials of URLs, named secrets and known tokens replaced by ``***``."""
    text = _USER_INFO.sub(rf"\g<1>{HIDDEN}@", text)
    text = _NAMED.sub(rf"\g<1>{HIDDEN}", text)
    return _PREFIXED.sub(HIDDEN, text)


def is_secret_name(name: str) -> bool:
    """Say whether a variable of this name holds a secret whatever its value looks like."""
    return _SECRET_NAME.search(name.upper()) is not None
