"""Read the text files of a distribution's metadata: METADATA, WHEEL, RECORD, direct_url.json.

Pure readers of hostile text: bounded, no code is run, importlib.metadata is not used.
"""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from fadoctor.sources.probes.world import TEXT_LIMIT, absent, read_text, unknown
from fadoctor.syntax.secrets import hide_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.fact import Absent, Unknown

MAX_HEADER_LINES = 5_000
HEADER_LIMIT = 1 << 18
"""Bytes in which the headers of a metadata file must end; the longest known take 40,000."""
MAX_RECORD_ENTRIES = 2_000
RECORD_LIMIT = 1 << 19
"""Bytes of RECORD that are read: 2,000 entries need about half of it."""

_NAME_SEPARATORS = re.compile(r"[-_.]+")
_VERSION = re.compile(r"v?[0-9][0-9A-Za-z.!+_-]{0,99}")
_SCHEME_AND_USER = r"^([A-Za-z][A-Za-z0-9+.-]{0,20}://)(?:[^/?#]*@)?"
_COMMIT = r"[0-9A-Za-z._/-]{1,100}"
_VCS = ("git", "hg", "svn", "bzr")


class Headers(msgspec.Struct, frozen=True):
    """The header lines of a metadata file, names in lower case, in order."""

    lines: tuple[tuple[str, str], ...] = ()
    complete: bool = True
    """Whether they ended before the limits."""

    def first(self, name: str) -> str:
        """Return the first value of a header, or ""."""
        return next((value for key, value in self.lines if key == name), "")

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a header."""
        return tuple(value for key, value in self.lines if key == name)


class DirectUrl(msgspec.Struct, frozen=True):
    """What direct_url.json records (PEP 610)."""

    url: str
    """Without credentials and query; ``git+https://...@commit`` for version control."""
    editable: bool


_RECORD_LINE = 4096
_SIZE_DIGITS = 15


def normalise_name(name: str) -> str:
    """Return the normalised name of a distribution (PEP 503): ``Flash_Attn`` -> ``flash-attn``."""
    return _NAME_SEPARATORS.sub("-", name).lower()


def is_version(text: str) -> bool:
    """Say whether a text can be a version: starts with a digit, holds nothing odd."""
    return _VERSION.fullmatch(text) is not None


def is_text(text: str) -> bool:
    """Say whether a file that was decoded looks like text: no NUL bytes."""
    return "\0" not in text


def trouble_with(path: Path, limit: int = TEXT_LIMIT) -> str:
    """Return why a file cannot be read as metadata, or "": its content is not looked at."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no {path.name}"
    except (OSError, ValueError) as error:
        return f"{path.name} cannot be read: {getattr(error, 'strerror', None) or 'no path'}"
    if not stat.S_ISREG(found.st_mode):
        return f"{path.name} is not a regular file"
    if found.st_size > limit:
        return f"{path.name} has {found.st_size:,} bytes, more than any metadata"
    return f"{path.name} is empty" if found.st_size == 0 else ""


def read_member(path: Path, label: str, limit: int = TEXT_LIMIT) -> str | Absent | Unknown:
    """Return the text of a small file; Absent where there is none, Unknown where it is odd."""
    trouble = trouble_with(path, limit)
    if trouble.startswith("there is no"):
        return absent(f"{label} is not there")
    if trouble.endswith("is empty"):
        return ""
    if trouble:
        return unknown(trouble, label)
    text = read_text(path, limit)
    if text is None:
        return unknown(f"{path.name} cannot be read", label)
    return text if is_text(text) else unknown(f"{path.name} is not text", label)


def parse_headers(text: str) -> Headers:
    """Return the headers before the first empty line; a continued value is joined by a space."""
    # Requires-Dist: triton==3.4.0; platform_system == "Linux"
    head = text.replace("\r\n", "\n").partition("\n\n")
    raw = head[0].split("\n", MAX_HEADER_LINES)
    lines: list[tuple[str, str]] = []
    for line in raw[:MAX_HEADER_LINES]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t"):
            if lines:
                lines[-1] = (lines[-1][0], f"{lines[-1][1]} {line.strip()}"[:4_000])
        elif colon:
            lines.append((name.strip().lower(), value.strip()))
    complete = len(raw) <= MAX_HEADER_LINES and (bool(head[1]) or len(text) < HEADER_LIMIT // 4)
    return Headers(tuple(lines), complete)


def parse_direct_url(text: str) -> DirectUrl | None:
    """Return what direct_url.json says, or None where it says nothing that can be understood."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    url = found.get("url") if isinstance(found, dict) else None
    if not isinstance(url, str) or not url:
        return None
    folder = found.get("dir_info")
    editable = isinstance(folder, dict) and folder.get("editable") is True
    return DirectUrl(_with_commit(clean_url(url), found.get("vcs_info")), editable)


def clean_url(url: str) -> str:
    """Return a URL without user, password, query and fragment; a file URL unquoted."""
    bare = re.split(r"[?#]", url[:4_000], maxsplit=1)[0]
    bare = hide_secrets(re.sub(_SCHEME_AND_USER, r"\1", bare))
    if not bare.startswith("file:"):
        return bare
    path = unquote(bare.removeprefix("file://").removeprefix("localhost"))
    return "file://" + (path[1:] if re.match(r"/[A-Za-z]:", path) else path)


def _with_commit(url: str, info: object) -> str:
    if not isinstance(info, dict) or info.get("vcs") not in _VCS:
        return url
    commit = info.get("commit_id")
    ending = f"@{commit}" if isinstance(commit, str) and re.fullmatch(_COMMIT, commit) else ""
    return f"{info['vcs']}+{url}{ending}"


def record_paths(text: str) -> list[str]:
    """Return the first paths of RECORD that lie below the site folder, without ``.pyc`` files.

    Byte code is left out because it may be deleted at any time; what an install puts outside of
    the site folder (``../../../bin/x``), and anything absolute, is never followed.
    """
    # torch/version.py,sha256=7n4hZ...,212
    lines = text.split("\n", MAX_RECORD_ENTRIES)[:MAX_RECORD_ENTRIES]
    return [
        path
        for line in lines
        if "," in line
        and (path := line.partition(",")[0] if line[0] != '"' else _unquoted(line))
        and not path.endswith(".pyc")
        and _stays_below(path)
    ]


def _unquoted(line: str) -> str:
    return line[1:].rpartition('",')[0].replace('""', '"')


def record_size(text: str, path: str) -> int | None:
    """Return the bytes that RECORD gives for a file, None where it has no line or no size."""
    # torch/_C.cpython-311-x86_64-linux-gnu.so,sha256=7n4hZ...,37912
    start = 0 if text.startswith(f"{path},") else text.find(f"\n{path},") + 1
    if not start and not text.startswith(f"{path},"):
        return None
    size = text[start : start + _RECORD_LINE].partition("\n")[0].strip().rpartition(",")[2]
    return int(size) if size.isdecimal() and len(size) < _SIZE_DIGITS else None


def _stays_below(path: str) -> bool:
    return not (".." in path or ":" in path or "\0" in path or path.startswith(("/", "\\")))
