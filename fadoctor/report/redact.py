"""Remove what identifies a person or a machine from anything that is meant for sharing."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fadoctor.judging.engine.condition import Truth
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.explanation import Agreement
from fadoctor.model.finding import Confidence, Outcome, Severity
from fadoctor.model.fix import Safety, StepKind
from fadoctor.model.packages import PACKAGES
from fadoctor.model.plan import ActionKind, Answer, PlanOutcome
from fadoctor.model.rule import with_written_parts
from fadoctor.model.smoke import CellFailure
from fadoctor.model.typed import convert
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted
from fadoctor.syntax.credentials.document import without_secrets
from fadoctor.syntax.identities import (
    GENERIC,
    HOST,
    USER,
    domains_in,
    hide_identities,
    identities_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

_FORMAT = {
    "known", "absent", "unknown", "environment", "site-packages", "facts", "manifest",
    "comparison", "group", "all", "any",
    *(
        str(item.value)
        for kind in (
            Severity, Confidence, Safety, StepKind, Backend, Dtype, Predicted, Measured,
            CellFailure, Agreement, ActionKind, PlanOutcome, Answer, Outcome, Truth,
        )
        for item in kind
    ),
}  # fmt: skip
"""Values that the format itself uses: a text that is one of them stays as it is."""

_KEY = re.compile(r"[A-Za-z_][\w.\[\]*-]*")
"""What a field or a fact is called; other keys come from outside."""

_BARE = re.compile(r"\.(?:com|org)\b")
"""What a word holds that may name a host without a scheme: few do, and all are asked slowly."""

_SHORTEST = 3
"""A word of fewer letters is no name to look for."""

_T = TypeVar("_T", bound=msgspec.Struct)


def redact(document: _T, environ: Mapping[str, str], host: str) -> _T:
    """Return the document without user name, folders of the target, host name, UUIDs and tokens.

    The target's folders are replaced by the names of its roots, which is how facts name them.
    """
    plain = without_secrets(msgspec.to_builtins(document))
    public = _public_hosts()
    ours = GENERIC | _own_words()
    words = _words(environ, host, (plain.get("target") or {}).get("roots", {}))
    hide_own, hide_told = _replacing(words), _replacing(_told(plain, public, ours))

    def clean_text(text: str) -> str:
        if text in _FORMAT:
            return text
        return hide_told(hide_identities(hide_own(text), public))

    return convert(_clean(plain, clean_text), type(document))


def _told(plain: Any, public: frozenset[str], ours: AbstractSet[str]) -> dict[str, str]:
    """Return the names of people and hosts that a document tells somewhere -> replacement."""
    told: dict[str, str] = {}
    for text in _texts(plain):
        found = identities_in(text, public)
        told |= {name.lower(): USER for name in found.users} | {
            name.lower(): HOST for name in found.hosts
        }
    return {
        name: mark
        for name, mark in told.items()
        if len(name) >= _SHORTEST and name not in ours and name not in _FORMAT
    }


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)


@cache
def _public_hosts() -> frozenset[str]:
    """Return the hosts that the rules name, in their words also bare: everybody knows them."""
    knowledge = load_knowledge()
    rules = tuple(map(with_written_parts, knowledge.rules))
    # `enc_hook`: tables that are unpacked when they are asked for.
    whole = msgspec.structs.replace(knowledge, rules=rules)
    encoded = msgspec.json.encode(whole, enc_hook=dict).decode().lower()
    said = [(rule.title, rule.message, rule.why, rule.written) for rule in rules]
    words = msgspec.json.encode(said).decode().lower().split()
    bare = domains_in(" ".join(word for word in words if _BARE.search(word)))
    return bare.union(re.findall(r"https?://([\w.-]{3,100})", encoded))


def _words(environ: Mapping[str, str], host: str, roots: Mapping[str, str]) -> dict[str, str]:
    """Return word (lower case) -> replacement, of what the environment variables tell."""
    home = (environ.get("HOME") or environ.get("USERPROFILE") or "").rstrip("/")
    user = environ.get("USER") or environ.get("USERNAME") or home.rpartition("/")[2]
    names = {host: "<host>", host.partition(".")[0]: "<host>", user: "<user>"}
    ours = GENERIC | _own_words()
    found = {home: "~", **{name: mark for name, mark in names.items() if name.lower() not in ours}}
    found |= {roots.get(name, ""): f"${name}" for name in ("prefix", "site")}
    found[roots.get("home", "")] = "~"
    return {word.lower(): mark for word, mark in found.items() if len(word) >= _SHORTEST}


def _replacing(words: Mapping[str, str]) -> Callable[[str], str]:
    """Return what replaces words of a text, the longest first: a home before the name in it."""
    longest = sorted(words, key=lambda word: -len(word))
    bounded = "|".join(rf"(?<![\w.]){re.escape(word)}(?!\w)" for word in longest)
    pattern = re.compile(bounded or r"(?!)", re.IGNORECASE)
    return lambda text: pattern.sub(lambda match: words[match[0].lower()], text)


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
