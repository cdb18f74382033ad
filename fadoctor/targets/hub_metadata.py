"""What the metadata of a build in the Hub's cache say, and whether it is found offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNREAD = Unknown("no probe has looked", "the Hub's cache")


def offline_of(name: str, facts: Mapping[str, Fact]) -> Fact:
    """Return whether ``owner/name@branch`` is found by its name without the network."""
    found = facts.get("hub.offline", _UNREAD)
    if not isinstance(found, Known) or not isinstance(found.value, (tuple, list)):
        return found
    return Known(name in found.value, found.source)


def metadata_of(key: str, wanted: Fact, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what a build says of itself; `wanted` are the keys that this kernels insists on."""
    archs, keys, needs = (_words(f"hub.{noun}", key, facts) for noun in _NOUNS)
    silent = Unknown("its metadata name no architectures", "the Hub's cache")
    return {
        "archs": silent if isinstance(archs, Absent) else archs,
        "needs": needs,
        "lacking": _lacking(keys, wanted),
    }


_NOUNS = ("archs", "metadata", "needs")


def _words(fact: str, key: str, facts: Mapping[str, Fact]) -> Fact:
    """Return what a fact says of one build, word by word; Absent where it says nothing."""
    found = facts.get(fact, _UNREAD)
    if not isinstance(found, Known) or not isinstance(found.value, dict):
        return found
    words = tuple(found.value.get(key, "").split())
    return Known(words, found.source) if words else Absent(f"{found.source}: nothing is said")


def _lacking(keys: Fact, wanted: Fact) -> Fact:
    if isinstance(keys, Unknown) or not isinstance(wanted, Known):
        return keys if isinstance(keys, Unknown) else wanted
    said = keys.value if isinstance(keys, Known) and isinstance(keys.value, tuple) else ()
    missing = tuple(each for each in _listed(wanted.value) if each not in said)
    return Known(missing, keys.source) if missing else Absent(f"{keys.source}: all are there")


def _listed(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, (list, tuple)) else ()
