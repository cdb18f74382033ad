"""The facts of one installed distribution, from the files of its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Unknown
from fadoctor.sources.probes.metadata import (
    RECORD_LIMIT,
    is_text,
    parse_direct_url,
    parse_headers,
    read_member,
    record_paths,
    trouble_with,
)
from fadoctor.sources.probes.missing import find_missing
from fadoctor.sources.probes.requires import (
    MarkerTarget,
    conditional_lines,
    egg_requirements,
    read_requirements,
)
from fadoctor.sources.probes.world import Facts, World, absent, known, read_text, unknown

if TYPE_CHECKING:
    from fadoctor.sources.probes.distributions import Distribution

NAMES = (
    "version",
    "distribution",
    "location",
    "installer",
    "direct_url",
    "editable",
    "wheel.tags",
    "requires",
    "requires_lines",
    "requires_python",
    "missing_files",
)
"""The facts of every package, as the catalogue has them."""

SMALL = 1 << 16
"""Bytes of INSTALLER, WHEEL, direct_url.json and requires.txt; larger ones are not theirs."""
MAX_TAGS = 200
RECORD_SIZE = 1 << 28
"""Bytes of a RECORD that is believed; only its beginning is read."""


def package_facts(
    world: World, record: Distribution, target: MarkerTarget, *, linked: bool
) -> Facts:
    """Return the facts by their name after the package's prefix.

    `linked`: an ``.egg-link`` makes it editable the old way.
    """
    source = world.name(record.metadata)
    python = record.headers.first("requires-python")
    return {
        "version": known(record.version, f"{source}: Version: {record.version}"),
        "distribution": known(record.name, source),
        "location": known(world.name(record.folder), source),
        "installer": read_installer(world, record),
        "wheel.tags": _tags(world, record),
        **_requires(world, record, target),
        "requires_python": known(python, source) if python else absent(f"{source}: none"),
        "missing_files": _missing_files(world, record),
        **_origin(world, record, linked=linked),
    }


def _read(world: World, record: Distribution, name: str) -> str | Absent | Unknown:
    file = record.member(name)
    return read_member(file, world.name(file), SMALL)


def read_installer(world: World, record: Distribution) -> Fact:
    """Return which tool has installed a distribution, by its INSTALLER."""
    text = _read(world, record, "INSTALLER")
    if not isinstance(text, str):
        return text
    name, source = text.strip().lower(), world.name(record.member("INSTALLER"))
    return known(name, source) if name else absent(f"{source} is blank")


def _origin(world: World, record: Distribution, *, linked: bool) -> Facts:
    source = world.name(record.member("direct_url.json"))
    text = _read(world, record, "direct_url.json")
    if isinstance(text, Absent):
        return {"direct_url": text, "editable": known(linked, text.source)}
    origin = parse_direct_url(text) if isinstance(text, str) else None
    if origin is None:
        odd = text if isinstance(text, Unknown) else unknown("it is not as PEP 610 has it", source)
        return {"direct_url": odd, "editable": odd}
    return {
        "direct_url": known(_named(world, origin.url), source),
        "editable": known(origin.editable or linked, source),
    }


def _named(world: World, url: str) -> str:
    scheme, mark, path = url.partition("file://")
    return scheme + mark + world.name(path) if mark else url


def _tags(world: World, record: Distribution) -> Fact:
    text = _read(world, record, "WHEEL")
    if not isinstance(text, str):
        return text
    tags, source = parse_headers(text).all("tag"), world.name(record.member("WHEEL"))
    return known(tags[:MAX_TAGS], source) if tags else absent(f"{source}: no Tag")


def _requires(world: World, record: Distribution, target: MarkerTarget) -> Facts:
    source = f"{world.name(record.metadata)}: Requires-Dist"
    lines = list(record.headers.all("requires-dist"))
    if not lines and not record.entry.endswith(".dist-info"):
        text = _read(world, record, "requires.txt")
        lines = egg_requirements(text) if isinstance(text, str) else []
    return requires_facts(lines, target, source)


def requires_facts(lines: list[str], target: MarkerTarget, source: str) -> Facts:
    """Return what lines of metadata ask for on a target, and how they are written."""
    needs, written = read_requirements(lines, target), conditional_lines(lines)
    reason = f"too many facts are unknown: {needs.undecided}"
    return {
        "requires": unknown(reason, source) if needs.undecided else known(needs.specifiers, source),
        "requires_lines": known(written, source) if written else absent(f"{source}: no condition"),
    }


def _missing_files(world: World, record: Distribution) -> Fact:
    file = record.member("RECORD")
    source = world.name(file)
    trouble = trouble_with(file, RECORD_SIZE)
    if trouble.startswith("there is no"):
        return absent(f"{source} is not there")
    text = None if trouble else read_text(file, RECORD_LIMIT)
    if text is None or not is_text(text):
        return unknown(trouble or "RECORD is not text", source)
    # The last line may be cut off in the middle.
    paths = record_paths(text.rpartition("\n")[0])
    missing = find_missing(str(record.folder), paths)
    first = f", first missing: {missing[0]}" if missing else ""
    return known(len(missing), f"{source}: {len(paths):,} files were looked for{first}")
