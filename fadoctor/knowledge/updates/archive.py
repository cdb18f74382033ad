"""Read a release of rules from a wheel, or from a folder into which an installer unpacked one.

Everything in it is hostile: sizes, counts and names are bounded before anything is written, and
only the names of rules and tables ever reach the disk.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from typing import IO, TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.fetched import version_key
from fadoctor.knowledge.matrix.yaml_reader import SIZE_LIMIT
from fadoctor.knowledge.updates import FOLDER, FORMAT, ReleaseError
from fadoctor.model.fact import printable
from fadoctor.model.files import read_bytes
from fadoctor.model.typed import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ARCHIVE_LIMIT = 16 << 20
"""Largest archive, bytes."""

TOTAL_LIMIT = 32 << 20
"""Most bytes of all files together, unpacked."""

COUNT_LIMIT = 5_000
"""Most files."""

_NAME = r"[a-z0-9][a-z0-9_-]{0,99}"
_RULES = re.compile(rf"{FOLDER}/rules/((?:{_NAME}/{_NAME}|knowledge)\.yaml)")
_SAID = f"{FOLDER}/release.json"
_OTHERS = re.compile(
    rf"{FOLDER}/README\.md"
    rf"|{FOLDER}-[0-9.]{{1,60}}\.dist-info/(METADATA|WHEEL|RECORD|INSTALLER|REQUESTED"
    r"|direct_url\.json|uv_cache\.json|licenses/LICENSE)"
)
"""What a wheel has beside: looked at by nobody here."""


_BROKEN = (
    OSError, EOFError, ValueError, LookupError, RuntimeError, ArithmeticError,
    zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip
"""What zipfile raises for archives that are damaged; RuntimeError for those with a password."""


class Stated(msgspec.Struct, frozen=True):
    """What a release says about itself, in release.json."""

    format: int
    version: str


class Release(msgspec.Struct, frozen=True):
    """The files of a release, in memory."""

    version: str
    sha256: str
    files: dict[str, bytes]
    """Name below the folder of rules -> content: ``gpu/some-rule.yaml``."""


def read_wheel(path: Path) -> Release:
    """Return the release in a wheel; ReleaseError where it is not one, or does harm."""
    try:
        data = _bytes(path)
        if len(data) > ARCHIVE_LIMIT:
            raise ReleaseError(_text(f"{path}: there is no file of a sane size"))
        return _release(_members(io.BytesIO(data)), hashlib.sha256(data).hexdigest())
    except _BROKEN as error:
        raise ReleaseError(_text(f"{path}: not a wheel that can be read: {error}")) from error


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, ARCHIVE_LIMIT + 1)
    except OSError as error:
        raise ReleaseError(_text(f"{path}: there is no file of a sane size")) from error


def read_folder(folder: Path) -> Release:
    """Return the release that an installer unpacked into a folder."""
    try:
        files = dict(_entries(folder))
    except OSError as error:
        raise ReleaseError(_text(f"{folder}: cannot be read: {error}")) from error
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return _release(files.items(), digest.hexdigest())


def _release(members: Iterable[tuple[str, bytes]], digest: str) -> Release:
    """Return what the members of an archive make."""
    found: dict[str, bytes] = {}
    said = b""
    for name, data in members:
        if name == _SAID:
            said = data
        elif match := _RULES.fullmatch(name):
            found[match[1]] = data
    stated = _stated(said)
    if "knowledge.yaml" not in found:
        raise ReleaseError("the archive holds no rules")
    return Release(stated.version, digest, found)


def _stated(said: bytes) -> Stated:
    try:
        stated = decode(said, Stated)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ReleaseError(f"the archive is no release of rules: {_SAID} is not right") from error
    if stated.format != FORMAT:
        need = "a newer fadoctor reads them" if stated.format > FORMAT else "they are too old"
        problem = f"these rules have format {stated.format}, and this fadoctor reads {FORMAT}"
        raise ReleaseError(f"{problem}: {need}")
    if version_key(stated.version) is None:
        raise ReleaseError(_text(f"{stated.version!r} is not a version of rules"))
    return stated


def _members(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(stream) as archive:
        total = 0
        for info in _listed(archive):
            with archive.open(info) as member:
                data = member.read(min(SIZE_LIMIT, TOTAL_LIMIT - total) + 1)
            total += len(data)
            _bounded(info.filename, len(data), total)
            yield info.filename, data


def _listed(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members, where none has a name, a kind or a size that a release has not."""
    found = [info for info in archive.infolist() if not _is_folder(info)]
    names = [info.filename for info in found]
    if len(found) > COUNT_LIMIT or len(set(names)) < len(names):
        raise ReleaseError("the archive holds too many files, or one twice")
    for info in found:
        _refuse(info.filename)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise ReleaseError(_text(f"{info.filename}: a link or a device has no place in rules"))
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ReleaseError(_text(f"{info.filename}: compressed in a way that wheels are not"))
    return found


def _is_folder(info: zipfile.ZipInfo) -> bool:
    return info.is_dir() and not info.file_size and ".." not in info.filename


def _refuse(name: str) -> None:
    known = name == _SAID or _RULES.fullmatch(name) or _OTHERS.fullmatch(name)
    if not known:
        raise ReleaseError(_text(f"{name}: a release of rules holds no such file"))


def _bounded(name: str, size: int, total: int) -> None:
    if size > SIZE_LIMIT or total > TOTAL_LIMIT:
        raise ReleaseError(_text(f"{name}: larger than a release of rules may be"))


def _entries(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of what lies below the one folder of rules; follows no link."""
    total, count, open_ = 0, 0, [folder / FOLDER]
    if open_[0].is_symlink():
        raise ReleaseError(f"{FOLDER}: a link has no place in rules")
    while open_:
        for path in sorted(open_.pop().iterdir()):
            count += 1
            if count > COUNT_LIMIT:
                raise ReleaseError("the folder holds too many files")
            if path.is_symlink():
                raise ReleaseError(_text(f"{path.name}: a link has no place in rules"))
            if path.is_dir():
                open_.append(path)
                continue
            name = path.relative_to(folder).as_posix()
            _refuse(name)
            data = read_bytes(path, SIZE_LIMIT + 1, str(folder))
            total += len(data)
            _bounded(name, len(data), total)
            yield name, data


def _text(text: str) -> str:
    return printable(text, 500)
