"""Remove what identifies a person or a machine from anything that is meant for sharing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.explanation import Agreement
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.fix import Safety, StepKind
from fadoctor.model.packages import PACKAGES
from fadoctor.model.plan import ActionKind, Answer, PlanOutcome
from fadoctor.model.secrets import hide_tokens
from fadoctor.model.smoke import Failure
from fadoctor.model.typed import convert
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PATTERNS = (
    (re.compile(r"/(home|Users)/[^/\s:'\"]+"), "~"),
    (re.compile(r"(?i)[a-z]:\\Users\\[^\\\s:'\"]+"), "~"),
    (re.compile(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
)

_GENERIC = {
    "root", "user", "admin", "ubuntu", "runner", "jovyan", "nobody", "dev", "usr", "lib", "bin",
    "opt", "mnt", "srv", "tmp", "var", "etc", "proc", "sys", "run", "home", "data", "env", "envs",
    "cuda", "conda", "python", "torch", "triton", "site", "prefix", "host", "linux", "docker",
}  # fmt: skip
"""Names of users that say nothing about a person, or that are words of every report."""

_FORMAT = {
    "known", "absent", "unknown", "environment", "site-packages", "facts", "manifest",
    *(
        str(item.value)
        for kind in (
            Severity, Confidence, Safety, StepKind, Backend, Dtype, Predicted, Measured, Failure,
            Agreement, ActionKind, PlanOutcome, Answer,
        )
        for item in kind
    ),
}  # fmt: skip
"""Values that the format itself uses: a text that is one of them stays as it is."""

_KEY = re.compile(r"[A-Za-z_][\w.\[\]*-]*")
"""What a field or a fact is called; other keys come from outside."""

_SHORTEST = 3
"""A word of fewer letters is no name to look for."""

_T = TypeVar("_T", bound=msgspec.Struct)


def redact(document: _T, environ: Mapping[str, str], host: str) -> _T:
    """Return the document without user name, folders of the target, host name, UUIDs and tokens.

    The target's folders are replaced by the names of its roots, which is how facts name them.
    """
    plain = msgspec.to_builtins(document)
    words = _words(environ, host, (plain.get("target") or {}).get("roots", {}))
    bounded = "|".join(rf"(?<![\w.]){re.escape(word)}(?!\w)" for word in words)
    pattern = re.compile(bounded or r"(?!)", re.IGNORECASE)

    def clean_text(text: str) -> str:
        if text in _FORMAT:
            return text
        text = pattern.sub(lambda match: words[match[0].lower()], text)
        for form, replacement in _PATTERNS:
            text = form.sub(replacement, text)
        return hide_tokens(text)

    return convert(_clean(plain, clean_text), type(document))


def _words(environ: Mapping[str, str], host: str, roots: Mapping[str, str]) -> dict[str, str]:
    """Return word (lower case) -> replacement, longest first: a home before the name in it."""
    home = (environ.get("HOME") or environ.get("USERPROFILE") or "").rstrip("/")
    user = environ.get("USER") or environ.get("USERNAME") or home.rpartition("/")[2]
    names = {host: "<host>", host.partition(".")[0]: "<host>", user: "<user>"}
    ours = _GENERIC | _own_words()
    found = {home: "~", **{name: mark for name, mark in names.items() if name.lower() not in ours}}
    found |= {roots.get(name, ""): f"${name}" for name in ("prefix", "site")}
    found[roots.get("home", "")] = "~"
    kept = {word.lower(): mark for word, mark in found.items() if len(word) >= _SHORTEST}
    return dict(sorted(kept.items(), key=lambda pair: -len(pair[0])))


def _own_words() -> set[str]:
    """Return the words that facts, packages and GPUs are named with."""
    names = [*build_catalogue(), *(name for known in PACKAGES.values() for name in known)]
    return {word for name in names for word in re.split(r"[^a-z0-9]+", name.lower())}


def _clean(value: Any, clean_text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {
            key if _KEY.fullmatch(key) else clean_text(key): _clean(item, clean_text)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_clean(item, clean_text) for item in value]
    return value
