"""Remove what identifies a person or a machine from anything that is meant for sharing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

_GENERIC_USERS = {"root", "user", "admin", "ubuntu", "runner", "jovyan", "nobody"}
"""Names that say nothing about a person."""

_T = TypeVar("_T", bound=msgspec.Struct)

_PATTERNS = (
    (re.compile(r"/(home|Users)/[^/\s:'\"]+"), "~"),
    (re.compile(r"(?i)[a-z]:\\Users\\[^\\\s:'\"]+"), "~"),
    (re.compile(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"(://)[^/\s@]+@"), r"\1<redacted>@"),
    (re.compile(r"\b(hf|gh[pousr]|sk|pypi|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"), "<token>"),
)


def redact(document: _T, environ: Mapping[str, str], host: str) -> _T:
    """Return the document without user name, folders of the target, host name, UUIDs and tokens.

    The target's folders are replaced by the names of its roots, which is how facts name them.
    """
    plain = msgspec.to_builtins(document)
    words = _words(environ, host, plain.get("target", {}).get("roots", {}))
    return msgspec.convert(_clean(plain, words), type(document))


def _words(
    environ: Mapping[str, str], host: str, roots: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return what to replace, longest first: a home folder before the user's name in it."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    user = environ.get("USER") or environ.get("USERNAME") or home.rpartition("/")[2]
    found = [(home.rstrip("/"), "~"), (host, "<host>")]
    if user.lower() not in _GENERIC_USERS:
        found.append((user, "<user>"))
    found += [(roots.get(name, ""), f"${name}") for name in ("prefix", "site")]
    found.append((roots.get("home", ""), "~"))
    return sorted((pair for pair in found if len(pair[0]) > 3), key=lambda pair: -len(pair[0]))


def _clean(value: Any, words: list[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        return _clean_text(value, words)
    if isinstance(value, dict):
        return {key: _clean(item, words) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item, words) for item in value]
    return value


def _clean_text(text: str, words: list[tuple[str, str]]) -> str:
    for word, replacement in words:
        bounded = rf"(?<![\w.-]){re.escape(word)}(?![\w-])"
        text = re.sub(bounded, replacement, text)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
