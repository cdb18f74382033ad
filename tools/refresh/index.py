"""Read the Simple API: which releases there are, and their files (PEP 503, 658, 691)."""

from __future__ import annotations

import hashlib
import html
import json
import posixpath
import re
from dataclasses import dataclass, field
from email.parser import Parser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from tools.refresh.errors import FetchError, WheelError
from tools.refresh.wheel import TEXT_LIMIT, Wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

    from packaging.tags import Tag

    from tools.refresh.transport import Answer, Transport

FILE_LIMIT = 50_000
NAME_LIMIT = 200
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
# <a href="../x/torch-1.0-py3-none-any.whl#sha256=..." data-requires-python="&gt;=3.8">
_ANCHOR = re.compile(
    r"""<a((?:\s{1,9}[\w-]{1,40}(?:=(?:"[^"<]{0,4000}"|'[^'<]{0,4000}'))?){1,12})\s{0,9}>""",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""([\w-]{1,40})(?:="([^"]*)"|='([^']*)'|(?=\s|$))""")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?=T)")
_DIGEST = re.compile(r"sha256=([0-9a-f]{64})")


@dataclass(frozen=True)
class File:
    """One file of a release."""

    name: str
    url: str
    version: Version
    tags: frozenset[Tag] = frozenset()
    """Empty for a source distribution."""
    yanked: bool = False
    metadata: str | None = None
    """None: the index has no separate METADATA; else its sha256, "" where it is not told."""
    python: str = ""
    """The specifier of Requires-Python, "" where the index does not tell it."""
    uploaded: str = ""
    """The day, as 2026-01-31, "" where the index does not tell it."""


@dataclass
class Release:
    """The files of one version."""

    package: str
    version: Version
    files: list[File] = field(default_factory=list)

    def wheels(self, machine: str = "") -> list[File]:
        """Return the Linux wheels for a machine (``x86_64``), or those for any platform."""
        end = f"_{machine}" if machine else "any"
        return [file for file in self.files if any(_is_for(tag, end) for tag in file.tags)]


def _is_for(tag: Tag, end: str) -> bool:
    return tag.platform == end or (
        tag.platform.startswith(("manylinux", "linux_")) and tag.platform.endswith(end)
    )


class Index:
    """The package indexes of one run."""

    def __init__(self, transport: Transport, urls: tuple[str, ...]) -> None:
        self._transport = transport
        self._urls = urls
        self._releases: dict[str, dict[Version, Release]] = {}

    @property
    def transport(self) -> Transport:
        """What fetches, for those who read more of a file than this does."""
        return self._transport

    def releases(self, package: str) -> dict[Version, Release]:
        """Return the releases of a package, oldest first; local versions (``+cpu``) left out."""
        if package not in self._releases:
            found: dict[Version, Release] = {}
            for file in sorted(self._files(package), key=lambda file: (file.version, file.name)):
                release = found.setdefault(file.version, Release(package, file.version))
                release.files.append(file)
            self._releases[package] = found
        return self._releases[package]

    def _files(self, package: str) -> list[File]:
        files: dict[str, File] = {}
        problems = []
        for base in self._urls:
            url = f"{base}{canonicalize_name(package)}/"
            try:
                answer = self._transport.page(url, _ACCEPT)
            except FetchError as error:
                problems.append(str(error))
                continue
            for file in parse_page(answer, package):
                files.setdefault(file.name, file)
        if not files:
            raise FetchError(f"{package}: in no index ({'; '.join(problems) or 'no files'})")
        return list(files.values())

    def wheel(self, file: File) -> Wheel:
        """Open a wheel by ranges."""
        return Wheel(self._transport, file.url)

    def metadata(self, file: File) -> Message:
        """Return METADATA: the separate file where the index has one, else by ranges."""
        if file.metadata is None:
            return Parser().parsestr(_metadata_member(self.wheel(file)), headersonly=True)
        body = self._transport.page(f"{file.url}.metadata").body
        if file.metadata and hashlib.sha256(body).hexdigest() != file.metadata:
            raise FetchError(f"{file.url}.metadata: another digest than the index says")
        return Parser().parsestr(body[:TEXT_LIMIT].decode("utf-8", "replace"), headersonly=True)


def _metadata_member(wheel: Wheel) -> str:
    for name in wheel.names:
        folder, _, rest = name.partition("/")
        if folder.endswith(".dist-info") and rest == "METADATA":
            return wheel.text(name)
    raise WheelError("a wheel without METADATA")


def parse_page(answer: Answer, package: str) -> Iterator[File]:
    """Yield the files of a project's page that are of this package and have a public version."""
    links = _json_links if "json" in answer.content_type else _html_links
    for number, (href, attributes) in enumerate(links(answer.body.decode("utf-8", "replace"))):
        if number >= FILE_LIMIT:
            raise FetchError(f"{answer.url}: more than {FILE_LIMIT} files")
        url = urljoin(answer.url, href).partition("#")[0]
        # A page from the network must not point into this machine.
        if urlsplit(url).scheme == "file" and urlsplit(answer.url).scheme != "file":
            continue
        file = _file(url, attributes, package)
        if file is not None:
            yield file


def _file(url: str, attributes: dict[str, str | None], package: str) -> File | None:
    name = posixpath.basename(unquote(urlsplit(url).path))
    if len(name) > NAME_LIMIT:  # a name of many tags unfolds into their product
        return None
    try:
        if name.endswith(".whl"):
            project, version, _, tags = parse_wheel_filename(name)
        else:
            (project, version), tags = parse_sdist_filename(name), frozenset()
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    if project != canonicalize_name(package) or version.local:
        return None
    offered = attributes.get("data-core-metadata", attributes.get("data-dist-info-metadata", "-"))
    digest = _DIGEST.search(offered or "")
    metadata = None if offered in {"-", "false"} else digest.group(1) if digest else ""
    day = _DAY.match(attributes.get("data-upload-time") or "")
    return File(
        name,
        url,
        version,
        tags,
        yanked="data-yanked" in attributes,
        metadata=metadata,
        python=attributes.get("data-requires-python") or "",
        uploaded=day.group() if day else "",
    )


def _html_links(text: str) -> Iterator[tuple[str, dict[str, str | None]]]:
    for anchor in _ANCHOR.finditer(text):
        attributes: dict[str, str | None] = {
            name.lower(): html.unescape(double or single)
            for name, double, single in _ATTRIBUTE.findall(anchor.group(1))
        }
        if href := attributes.get("href"):
            yield href, attributes


def _json_links(text: str) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield what the HTML form would say."""
    try:
        files: list[dict[str, Any]] = json.loads(text)["files"]
        for file in files:
            attributes: dict[str, str | None] = {}
            offered = file.get("core-metadata", file.get("dist-info-metadata", False))
            if offered:
                digest = offered.get("sha256", "") if isinstance(offered, dict) else ""
                attributes["data-core-metadata"] = f"sha256={digest}"
            if file.get("yanked"):
                attributes["data-yanked"] = ""
            for key in ("requires-python", "upload-time"):
                attributes[f"data-{key}"] = str(file.get(key) or "")
            yield str(file["url"]), attributes
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FetchError(f"not the JSON of an index: {type(error).__name__}") from error
