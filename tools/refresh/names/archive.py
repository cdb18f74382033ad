"""The Python sources of a release: out of a wheel by few ranges, or out of a small sdist."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING

from tools.refresh.errors import WheelError
from tools.refresh.wheel import RemoteFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.refresh.index import File, Release
    from tools.refresh.transport import Transport

FILE_LIMIT = 4 << 20
"""Bytes of one source file."""
SDIST_LIMIT = 40 << 20
_GAP = 256 << 10
"""Members of a wheel with less than this between them are fetched together."""
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, OSError, ValueError, struct.error, EOFError)
_DEFLATED, _STORED = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED


class Sources:
    """Members of one archive by their path below the import folder."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        """Path -> a digest of what it holds: what is known already is not fetched again."""
        self.others: set[str] = set()
        """Paths of compiled modules."""
        self.stubs: set[str] = set()
        """Paths of what only tells types, in wheels."""

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the text of some members."""
        raise NotImplementedError


class WheelSources(Sources):
    """Those of a wheel."""

    def __init__(self, transport: Transport, file: File) -> None:
        super().__init__()
        self._file = RemoteFile(transport, file.url)
        try:
            entries = zipfile.ZipFile(self._file).infolist()
        except _BROKEN as error:
            raise WheelError(f"{file.url}: not a wheel: {type(error).__name__}") from error
        self._entries = {entry.filename: entry for entry in entries}
        for entry in entries:
            if entry.filename.endswith(".py") and entry.file_size <= FILE_LIMIT:
                self.digests[entry.filename] = f"{entry.CRC:08x}{entry.file_size:x}"
            elif entry.filename.endswith((".so", ".pyd")):
                self.others.add(entry.filename)
            elif entry.filename.endswith(".pyi") and entry.file_size <= FILE_LIMIT:
                self.stubs.add(entry.filename)

    @property
    def marks(self) -> dict[str, str]:
        """Path -> a digest of what any member holds, of other languages, too."""
        return {name: f"{each.CRC:08x}{each.file_size:x}" for name, each in self._entries.items()}

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the text of some members; neighbours are fetched together."""
        return {path: raw.decode("utf-8", "replace") for path, raw in self.read_raw(paths).items()}

    def read_raw(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return what some members hold."""
        entries = sorted((self._entries[path] for path in paths), key=lambda e: e.header_offset)
        found = {}
        for group in _neighbours(entries):
            start, end = group[0].header_offset, _end(group[-1])
            body = self._file.at(start, end - start)
            for entry in group:
                found[entry.filename] = _unpacked(body, entry.header_offset - start, entry)
        return found


def _end(entry: zipfile.ZipInfo) -> int:
    """Return where a member ends at the latest: its local header may be longer than known."""
    return entry.header_offset + 30 + 2 * len(entry.filename) + 1024 + entry.compress_size


def _neighbours(entries: list[zipfile.ZipInfo]) -> Iterator[list[zipfile.ZipInfo]]:
    group: list[zipfile.ZipInfo] = []
    for entry in entries:
        if group and entry.header_offset - _end(group[-1]) > _GAP:
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _unpacked(body: bytes, at: int, entry: zipfile.ZipInfo) -> bytes:
    header = body[at : at + 30]
    if header[:4] != b"PK\3\4" or entry.compress_type not in {_STORED, _DEFLATED}:
        raise WheelError(f"{entry.filename}: no member where the directory says")
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    start = at + 30 + name_length + extra_length
    packed = body[start : start + entry.compress_size]
    if entry.compress_type == _STORED:
        return packed
    try:
        return zlib.decompressobj(-15).decompress(packed, FILE_LIMIT)
    except zlib.error as error:
        raise WheelError(f"{entry.filename} is broken") from error


class SdistSources(Sources):
    """Those of a source distribution, which is read whole."""

    def __init__(self, transport: Transport, file: File) -> None:
        super().__init__()
        remote = RemoteFile(transport, file.url)
        if remote.size > SDIST_LIMIT:
            raise WheelError(f"{file.url}: larger than {SDIST_LIMIT >> 20} MiB")
        self._texts: dict[str, str] = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(remote.at(0, remote.size))) as archive:
                for member in archive:
                    if member.isfile() and member.name.endswith(".py"):
                        self._take(archive, member)
        except (*_BROKEN, zlib.error) as error:
            raise WheelError(f"{file.url}: not an sdist: {type(error).__name__}") from error

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        stream = archive.extractfile(member) if member.size <= FILE_LIMIT else None
        if stream is None:
            return
        path = member.name.partition("/")[2].removeprefix("src/").removeprefix("python/")
        raw = stream.read()
        self._texts[path] = raw.decode("utf-8", "replace")
        self.digests[path] = f"{zlib.crc32(raw):08x}{len(raw):x}"

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the text of some members."""
        return {path: self._texts[path] for path in paths}


def open_sources(transport: Transport, release: Release) -> Sources:
    """Return the sources of a release: of its Linux wheel, else of its sdist."""
    wheels = release.wheels() or release.wheels("x86_64")
    usable = [file for file in wheels if file.name.endswith(".whl")]
    if usable:
        return WheelSources(transport, max(usable, key=lambda file: file.name))
    sdists = [file for file in release.files if file.name.endswith(".tar.gz")]
    if sdists:
        return SdistSources(transport, sdists[0])
    raise WheelError(f"{release.package} {release.version}: neither wheel nor sdist")
