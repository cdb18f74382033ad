"""Hold what is called, and what is watched, against the functions of one release after another."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tools.signatures.read import (
    Called,
    Unreadable,
    call_in,
    refusal,
    signature_of,
    unknown_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Read = Callable[[str], str | None]

_EMPTY = inspect.Parameter.empty


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a script, and where releases define what it calls."""

    backend: str
    script: str
    within: str
    calls: str
    package: str
    where: tuple[str, ...]
    stars: int = 0
    asked: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    """Keywords that the script gives where the function cannot do without."""
    since: str = "0"

    def made(self, folder: Path) -> Called:
        """Return how the script makes it."""
        text = (folder / f"{self.script}.py").read_text("utf-8")
        found = call_in(text, self.within, self.calls)
        return Called(found.positional + self.stars, found.keywords)


class Entry(msgspec.Struct, frozen=True):
    """One entry point that is watched."""

    package: str
    versions: str
    module: str
    attribute: str
    names: tuple[str, ...]
    """Parameters that it must have."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Entry:
        """Return the entry point of a row of the table."""
        given = row["tensors"].split() if row["tensors"] != "none" else []
        names = [each.rpartition(":")[2] for each in given]
        names += [row.get(each) or "" for each in ("mask", "causal", "dropout")]
        wanted = tuple(dict.fromkeys(each for each in names if each))
        return cls(row["package"], row["version"], row["module"], row["attribute"], wanted)

    @property
    def readable(self) -> bool:
        """Return whether its module is one file of the package."""
        return "*" not in self.module and ":" not in self.module


class Held:
    """Everything that was held against releases."""

    def __init__(self, calls: tuple[Call, ...], entries: tuple[Entry, ...], folder: Path) -> None:
        self._calls = [(each, each.made(folder)) for each in calls]
        self._entries = entries
        self.unread: list[str] = []
        self.lines: list[str] = []
        self.fits: Counter[str] = Counter()
        """Backend -> releases that its call fits."""
        self._misfits = 0
        self._seen: dict[Entry, list[str]] = {}
        """Entry point -> what is wrong with it, for each release that has it; "" nothing."""

    def release(self, package: str, version: str, read: Read) -> None:
        """Hold everything of a package against one release."""
        for call, made in self._calls:
            if call.package == package and Version(version) >= Version(call.since):
                self._hold_call(call, made, version, read)
        for entry in self._entries:
            if entry.package == package and entry.readable and _covers(entry.versions, version):
                self._hold_entry(entry, version, read)

    def _hold_call(self, call: Call, made: Called, version: str, read: Read) -> None:
        what = f"{call.backend}: {call.package} {version}"
        signature, why = _first(call.where, read)
        if signature is None:
            self.unread.append(f"{what}: {why}")
            return
        keywords = made.keywords
        if call.either:
            one = [each for each in call.either if each in signature.parameters]
            keywords = (*keywords, *(one[:1] or call.either[:1]))
        known = signature.parameters
        keywords += tuple(n for n in call.filled if n in known and known[n].default is _EMPTY)
        said = refusal(signature, Called(made.positional, keywords))
        if said:
            self._misfits += 1
            self.lines.append(f"DOES NOT FIT {what}: {said}")
            return
        self.fits[call.backend] += 1
        without = unknown_names(signature, call.asked)
        if without:
            self.lines.append(f"note {what}: has no {', '.join(without)}; the script asks first")

    def _hold_entry(self, entry: Entry, version: str, read: Read) -> None:
        try:
            signature = signature_of(read, entry.module, entry.attribute)
        except Unreadable:
            self._seen.setdefault(entry, [])
            return
        lacking = unknown_names(signature, entry.names)
        said = f"{version} has no {', '.join(lacking)}" if lacking else ""
        self._seen.setdefault(entry, []).append(said)

    def wrong(self) -> int:
        """Return how many calls and entry points do not fit."""
        return self._misfits + sum(1 for said in self._seen.values() if said and all(said))

    def report(self) -> list[str]:
        """Return what was found, a line each, the counts last."""
        lines = list(self.lines)
        for entry, said in self._seen.items():
            name = f"{entry.package} {entry.module}.{entry.attribute}"
            if not said:
                lines.append(f"note {name}: defined in no release that was read")
            elif all(said):
                lines.append(f"DOES NOT FIT {name}: {'; '.join(said)}")
            else:
                lines += [f"note {name}: {each}" for each in said if each]
        lines += [f"NOT READ {each}" for each in self.unread]
        lines += [f"{backend}: fits {count} releases" for backend, count in self.fits.items()]
        right = sum(1 for said in self._seen.values() if said and not all(said))
        lines.append(f"{right} of {len(self._seen)} watched entry points agree with a release")
        return ["".join(letter for letter in line if letter.isprintable()) for line in lines]


def _first(places: tuple[str, ...], read: Read) -> tuple[inspect.Signature | None, str]:
    """Return what the first place that a release has takes, else why none was read."""
    why = []
    for place in places:
        module, _, path = place.partition(":")
        try:
            return signature_of(read, module, path), ""
        except Unreadable as error:
            why.append(str(error))
    return None, "; ".join(why)


def _covers(versions: str, version: str) -> bool:
    return versions == "*" or SpecifierSet(versions).contains(version, prereleases=True)
