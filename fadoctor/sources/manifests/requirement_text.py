"""One requirement as files write it: PEP 508, a wheel's address or path, a version control URL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.requirement_parser import parse_requirement
from fadoctor.model.fact import printable
from fadoctor.model.packages import package_of
from fadoctor.sources.manifests.planned import Requirement
from fadoctor.sources.probes.metadata import clean_url, normalise_name

if TYPE_CHECKING:
    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.source import Source

LENGTH_LIMIT = 4_000
"""Characters of one requirement."""

# torch==2.7.1, most lines of what tools write: 20 times as fast as a parser
_PINNED = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})\s{0,9}==\s{0,9}"
    r"(\d{1,9}(?:\.\d{1,9}){0,5}(?:(?:a|b|rc)\d{1,9})?(?:\.post\d{1,9})?(?:\.dev\d{1,9})?"
    r"(?:\+[a-z0-9]{1,40}(?:\.[a-z0-9]{1,40}){0,5})?)"
)
"""The usual line, read without a parser; what is written otherwise is parsed."""
# flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl
_WHEEL = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.]{0,99})-(?P<version>[0-9][\w.!+]{0,99})(?:-[0-9]\w{0,40})?"
    r"-[\w.]{1,60}-[\w.]{1,60}-[\w.]{1,200}\.whl",
    re.ASCII,
)
# https://example.org/x-1.0-py3-none-any.whl; sys_platform == "win32"
_MARKER = re.compile(r" ;|; ")
"""What parts an address from its marker: a semicolon alone may be in the address."""
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]{0,99})")
# flash-attn-2.8.3.tar.gz
_ARCHIVE = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,99}?)-(?P<version>[0-9][\w.!+]{0,99})\.(?:tar\.gz|zip)", re.ASCII
)

# git+https://github.com/huggingface/transformers.git, of no tag and no commit
_OF_MAIN = re.compile(
    r"git\+(?:https|ssh)://(?:git@)?github\.com/huggingface/(?P<name>[\w.-]{1,100}?)"
    r"(?:\.git)?/?(?:@main|@HEAD)?",
    re.ASCII,
)
"""Repositories that are named after the package in them; others need not be."""

# ., .[dev], ./server[all], tests/utils, ../x
_LOCAL = re.compile(
    r"(?:\.{1,2}|(?:\.{0,2}/|~/)?[\w.~-]{1,100}(?:/[\w.~-]{0,100}){1,20})(?:\[[\w\s,.-]{0,300}\])?",
    re.ASCII,
)


def is_local(text: str) -> bool:
    """Return whether a word is a folder or a file beside, with or without extras: no name."""
    return _LOCAL.fullmatch(text) is not None


def read_requirement(text: str, place: Place, source: Source, *, index: str = "") -> Requirement:
    """Return what a PEP 508 string asks for; InputError with the line where it is none."""
    text = text.strip()
    if pinned := _PINNED.fullmatch(text):
        return Requirement(normalise_name(pinned[1]), place, f"=={pinned[2]}", index=index)
    if len(text) > LENGTH_LIMIT:
        raise source.error("a requirement that is too long", line=place.line)
    parsed = parse_requirement(text)
    if parsed is None:
        raise source.error(_complaint(text, source), line=place.line)
    url = _of_address(parsed.url) if parsed.url else ""
    return Requirement(
        normalise_name(parsed.name),
        place,
        str(parsed.specifier) or version_of_url(url),
        url=url,
        marker=str(parsed.marker or ""),
        extras=tuple(sorted(parsed.extras)),
        index=index,
    )


def without_remark(text: str) -> str:
    """Return a requirement as setuptools and tox take it: torch>=2  # for sdpa."""
    return text.partition(" #")[0].strip()


def _complaint(text: str, source: Source) -> str:
    """Say what cannot be read; of what another file names nothing is quoted: it can be any file."""
    shown = "" if source.is_included else f": {printable(text, 80)!r}"
    return f"no requirement as PEP 508 has it{shown}"


def read_address(text: str, place: Place) -> Requirement | None:
    """Return what an address or a path without a name asks for; None where it says no name."""
    address, marker = (*_MARKER.split(text, maxsplit=1), "")[:2]
    address = address.strip()
    url = _of_address(address)
    egg = _EGG.search(address)
    main = _OF_MAIN.fullmatch(url)
    name = name_of_url(url) or (egg[1] if egg else "") or (main["name"] if main else "")
    if main and not package_of(normalise_name(name)):
        return None
    if not name:
        return None
    return Requirement(
        normalise_name(name), place, version_of_url(url), url=url, marker=marker.strip()
    )


def _of_address(text: str) -> str:
    """Return an address without credentials, query and fragment; paths as they are."""
    return clean_url(text) if "://" in text else text.split("#", 1)[0]


def is_of_main(url: str, name: str) -> bool:
    """Return whether an address is the main branch of a package's authors."""
    found = _OF_MAIN.fullmatch(url)
    return found is not None and normalise_name(found["name"]) == name


def file_of(url: str) -> str:
    """Return the name of the file that an address or a path leads to."""
    return re.split(r"[/\\]", url.replace("%2B", "+").replace("%2b", "+"))[-1]


def version_of_url(url: str) -> str:
    """Return ``==2.8.3`` for the address of a wheel or source archive, "" where it has none."""
    found = _file(url)
    return f"=={found['version']}" if found else ""


def name_of_url(url: str) -> str:
    """Return ``flash_attn`` for the address of a wheel or source archive, "" where it has none."""
    found = _file(url)
    return found["name"] if found else ""


def _file(url: str) -> re.Match[str] | None:
    return _WHEEL.fullmatch(file_of(url)) or _ARCHIVE.fullmatch(file_of(url)) if url else None
