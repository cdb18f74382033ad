"""Extras and groups that somebody asks for by name, and what files have to choose from."""

# A circle with `planned` by a type alone: a manifest is read as it was chosen, and what was chosen
# is held against manifests here.

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import UsageError, did_you_mean
from fadoctor.model.fact import printable
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.manifests.planned import Manifest

PIP, UV_PIP = "pip", "uv pip"
NAME_LIMIT = 32
"""Names that may be chosen."""

# uv: extra == 'extra-7-project-cu128': the length of the project's name, then both names
_OF_PROJECT = re.compile(r"(?P<kind>extra|group)-(?P<length>\d{1,3})-(?P<rest>.{1,300})")
_COMPARED = re.compile(r"extra (?P<sign>[!=]=) '(?P<name>(?:extra|group)-[^']{1,200})'")
# in a lock of Poetry: extra == "train" or extra == "all"
_EXTRA = re.compile(r"""extra (?P<sign>[!=]=) (?P<quote>["'])(?P<name>[^"']{1,100})(?P=quote)""")


class ManifestRequest(msgspec.Struct, frozen=True):
    """What ``--extra`` and ``--group`` name, as indexes write names."""

    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    installer: str = ""
    """The command of a file that chooses: ``uv sync``, ``pip``; "" for fadoctor's own."""

    @property
    def is_made(self) -> bool:
        """Whether anything was chosen; a lock with all extras in it counts with all if not."""
        return bool(self.extras or self.groups or self.installer)

    @property
    def is_for_package(self) -> bool:
        """Whether the project itself is installed: then no group of it counts."""
        return self.installer in (PIP, UV_PIP)

    def settled(self, marker: str) -> str:
        """Return a marker of uv in which the extras of a project are settled, for no extra."""

        def settle(found: re.Match[str]) -> str:
            is_true = self._has(found["name"]) is (found["sign"] == "==")
            return "extra == ''" if is_true else "extra != ''"

        return _COMPARED.sub(settle, marker)

    def with_extras(self, marker: str) -> str:
        """Return a marker in which the chosen extras are settled, for no extra."""

        def settle(found: re.Match[str]) -> str:
            is_chosen = normalise_name(found["name"]) in self.extras
            return f"extra {found['sign']} ''" if is_chosen else found[0]

        return _EXTRA.sub(settle, marker) if self.extras else marker

    def _has(self, name: str) -> bool:
        found = _OF_PROJECT.fullmatch(name)
        if found is None:
            return False
        chosen = self.extras if found["kind"] == "extra" else self.groups
        return normalise_name(found["rest"][int(found["length"]) + 1 :]) in chosen


def choice_of(extras: Iterable[str], groups: Iterable[str]) -> ManifestRequest:
    """Return what the command line chooses; UsageError where that is too much."""
    found = ManifestRequest(tuple(map(normalise_name, extras)), tuple(map(normalise_name, groups)))
    if len(found.extras) + len(found.groups) > NAME_LIMIT:
        raise UsageError(f"--extra and --group: at most {NAME_LIMIT} names")
    return found


def refuse_unknown(choice: ManifestRequest, manifests: Iterable[Manifest]) -> None:
    """Refuse a name that none of the files has: it would silently choose nothing."""
    manifests = tuple(manifests)
    offers = {
        "extra": tuple(name for each in manifests for name in each.extras),
        "group": tuple(name for each in manifests for name in each.groups),
    }
    for kind, chosen in (("extra", choice.extras), ("group", choice.groups)):
        known = dict.fromkeys(map(normalise_name, offers[kind]))
        for name in chosen:
            if name not in known:
                raise UsageError(_no_such(kind, name, tuple(known), offers))


def _no_such(
    kind: str, name: str, known: tuple[str, ...], offers: dict[str, tuple[str, ...]]
) -> str:
    said = f"--{kind} {printable(name, 100)}: no file has {'an' if kind == 'extra' else 'a'} {kind}"
    other = "group" if kind == "extra" else "extra"
    if name in map(normalise_name, offers[other]):
        return f"{said} of that name, but {other} {name}: --{other} {name} takes it"
    if not known:
        return f"{said} to choose"
    return f"{said} of that name.{did_you_mean(name, known)} There are: {', '.join(known[:20])}"
