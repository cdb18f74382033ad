"""In what two nodes differ, and how much that weighs by the table ``fleet-agreement``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.fleet.content import digest_of
from fadoctor.fleet.fingerprint import ALL, UNKNOWN
from fadoctor.fleet.model import Difference
from fadoctor.model.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.fleet.content import Content
    from fadoctor.model.rule import Table

TABLE = "fleet-agreement"
NONE, NOT_SAID = "none", "not said"
_ANY = "*"


class TableAgreement(NamedTuple):
    """What the table says of one key."""

    label: str
    level: Severity
    part: str
    """``major`` where only the first number of a version must agree."""


class Agreements:
    """The table, asked by key; a row may stand for a whole section."""

    def __init__(self, table: Table) -> None:
        """Take the table."""
        self.rows = {str(row["key"]): row for row in table.rows}

    def of(self, key: str) -> TableAgreement:
        """Return what is said of ``pkg.torch``: by its row, or by that of its section."""
        section, _, name = key.partition(".")
        row = self.rows.get(key) or self.rows.get(f"{section}.{_ANY}") or {}
        label = str(row.get("label") or "{name}").replace("{name}", name)
        level = Severity(str(row.get("level") or Severity.NOTE.value))
        return TableAgreement(label, level, str(row.get("part") or ""))


def differences(
    reference: Content, other: Content, agreements: Agreements
) -> tuple[Difference, ...]:
    """Return in what a node differs from another one: what weighs most first."""
    found = list(_found(reference, other, agreements))
    keys = {each.key for each in found}
    kept = [each for each in found if not _follows(each.key, keys)]
    order = list(Severity)
    return tuple(sorted(kept, key=lambda each: (order.index(each.level), each.key)))


def _found(reference: Content, other: Content, agreements: Agreements) -> Iterator[Difference]:
    for section in sorted({*reference.t, *other.t, *reference.o, *other.o}):
        if section in reference.o or section in other.o:
            yield from _by_digest(section, reference, other)
            continue
        theirs, ours = reference.t.get(section, {}), other.t.get(section, {})
        for key in sorted({*theirs, *ours}):
            there, here = theirs.get(key, NONE), ours.get(key, NONE)
            if there != here and not _is_other_kind(section, there, here):
                said = agreements.of(f"{section}.{key}")
                level = _level(said, there, here)
                yield Difference(f"{section}.{key}", said.label, _word(here), _word(there), level)


def _by_digest(section: str, reference: Content, other: Content) -> Iterator[Difference]:
    """Compare a section that had no room: its digest tells whether it differs, not in what."""
    theirs, ours = (
        each.o.get(section) or digest_of(each.t.get(section, {})) for each in (reference, other)
    )
    if theirs != ours and section in {*reference.t, *other.t, *reference.o, *other.o}:
        label = f"something in `{section}`"
        yield Difference(section, label, NOT_SAID, NOT_SAID, Severity.NOTE)


def _level(said: TableAgreement, there: str, here: str) -> Severity:
    if UNKNOWN in (there, here):
        return Severity.NOTE
    if said.part == "major" and there.partition(".")[0] == here.partition(".")[0]:
        return Severity.NOTE
    return said.level


def _word(value: str) -> str:
    return "unknown" if value == UNKNOWN else value


def _is_other_kind(section: str, there: str, here: str) -> bool:
    """Return whether one binary was told by its build id and the other by something else."""
    told = {there.startswith("~"), here.startswith("~")}
    return section == "bin" and len(told) == 2 and NONE not in (there, here)


def _follows(key: str, keys: set[str]) -> bool:
    """Return whether a difference follows from another one: a build from a version."""
    section, _, name = key.partition(".")
    if section == "bin":
        package = name.partition(".")[0].replace("_", "-")
        return f"pkg.{package}" in keys or f"lib.{package}" in keys
    others = {"lib": ("pkg.", "lib.", "nv."), "nv": ("nv.",)}
    return name == ALL and any(
        each.startswith(others.get(section, ())) and each != key for each in keys
    )


_BUILD = "the build of "
"""How a compiled extension's label begins."""


def differs(label: str, here: str, there: str) -> str:
    """Return ``driver 550.54 instead of 580.95``, ``no flash-attn instead of 2.8.3``."""
    if label.startswith(_BUILD):
        name = label.removeprefix(_BUILD)
        return (
            f"no compiled {name} instead of build {there}"
            if here == NONE
            else f"build {here} of {name} instead of {there}"
        )
    if here == NONE:
        return f"no {label.removeprefix('the ')} instead of {there}"
    return f"{label} {here} instead of {there}"
