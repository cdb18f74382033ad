"""Fetch pages and byte ranges, bounded, and keep them in a folder.

Everything that comes back is hostile: sizes, ranges and times are checked against what was asked.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from tools.refresh.errors import FetchError

if TYPE_CHECKING:
    from email.message import Message

    from tools.refresh.settings import Settings

PAGE_LIMIT = 32 << 20
PAGE_AGE_S = 24 * 3600
REQUEST_LIMIT = 5000
"""Requests of one run, where it does not say how many it needs."""
RECEIVED_LIMIT = 6 << 30
"""Bytes of one run. What was fetched stays in the folder, so that the next one goes on."""
_PIECE = 64 << 10
_PATIENCE_S = 300.0
"""One answer may take this long, however slowly it drips."""

# Content-Range: bytes 100-199/5000
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})")


@dataclass(frozen=True)
class Answer:
    """What came back for one address."""

    body: bytes
    url: str
    """The address after redirections."""
    content_type: str = ""
    total: int = 0
    """Bytes of the whole file, where only a range was asked for."""


class Transport:
    """Answers requests from the folder first, then from the network."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        *,
        offline: bool = False,
        requests: int = 0,
        received: int = 0,
    ) -> None:
        self._settings = settings
        self._limit = requests or REQUEST_LIMIT
        self._received_limit = received or RECEIVED_LIMIT
        self._folder = folder
        self._offline = offline
        self._opener = _opener(settings)
        self.requests = 0
        self.received = 0

    def page(self, url: str, accept: str = "*/*") -> Answer:
        """Return a whole page; one in the folder is good for a day."""
        return self._kept(url, {"Accept": accept}, PAGE_LIMIT, PAGE_AGE_S)

    def part(self, url: str, start: int, length: int) -> Answer:
        """Return ``length`` bytes from ``start``; with a negative start, the last ``length``."""
        wanted = f"bytes=-{length}" if start < 0 else f"bytes={start}-{start + length - 1}"
        return self._kept(url, {"Range": wanted}, length, None)

    def _kept(self, url: str, headers: dict[str, str], limit: int, age_s: float | None) -> Answer:
        path = self._folder / hashlib.sha256(f"{url} {headers}".encode()).hexdigest()
        if path.is_file() and (self._offline or age_s is None or _age_s(path) < age_s):
            return _load(path)
        scheme = urlsplit(url).scheme
        if scheme == "file":
            return _local(url, headers.get("Range", ""), limit)
        if scheme not in {"https", "http"}:
            raise FetchError(f"{url}: an address of this kind is not followed")
        if self._offline:
            raise FetchError(f"{url}: not in the folder, and --offline")
        answer = self._ask(url, headers, limit)
        _save(path, answer)
        return answer

    def _ask(self, url: str, headers: dict[str, str], limit: int) -> Answer:
        self.requests += 1
        if self.requests > self._limit:
            raise FetchError(f"more than {self._limit} requests")
        if self.received > self._received_limit:
            raise FetchError(f"more than {self._received_limit >> 20} MiB")
        parts = urlsplit(url)
        secret = self._settings.authorization.get(f"{parts.scheme}://{parts.netloc}")
        request = urllib.request.Request(url, headers={**headers, "User-Agent": "fadoctor-refresh"})  # noqa: S310 -- the scheme was checked
        if secret:
            request.add_unredirected_header("Authorization", secret)
        try:
            with self._opener.open(request, timeout=self._settings.timeout_s) as response:
                body = _read(response, limit, url)
                self.received += len(body)
                kind = response.headers.get("Content-Type", "")
                total = 0
                if "Range" in headers:
                    total = _checked(response.status, response.headers, headers["Range"], body, url)
                return Answer(body, response.url, kind, total)
        except urllib.error.HTTPError as error:
            raise FetchError(f"{url}: the server says {error.code}") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise FetchError(f"{url}: {type(error).__name__}") from error


class _NoFtp(urllib.request.FTPHandler):
    """Refuses where a redirection of urllib would go beyond http."""

    def ftp_open(self, _: urllib.request.Request) -> NoReturn:
        raise urllib.error.URLError("no ftp")


def _opener(settings: Settings) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context(cafile=settings.cert or None)
    https = urllib.request.HTTPSHandler(context=context)
    handlers: list[urllib.request.BaseHandler] = [_NoFtp(), https]
    if settings.proxy:
        proxies = {"http": settings.proxy, "https": settings.proxy}
        handlers.append(urllib.request.ProxyHandler(proxies))
    return urllib.request.build_opener(*handlers)


def _read(stream: IO[bytes], limit: int, url: str) -> bytes:
    """Return the whole body; FetchError where it is too long or too slow."""
    pieces, size, end = [], 0, time.monotonic() + _PATIENCE_S
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise FetchError(f"{url}: more than the {limit} bytes that were asked for")
        if time.monotonic() > end:
            raise FetchError(f"{url}: took longer than {_PATIENCE_S:.0f} s")
    return b"".join(pieces)


def _checked(status: int, headers: Message, wanted: str, body: bytes, url: str) -> int:
    """Return the file's size; FetchError unless the answer is exactly the range."""
    if status != 206:
        raise FetchError(f"{url}: the server does not serve ranges")
    match = _CONTENT_RANGE.fullmatch(str(headers.get("Content-Range")))
    if match is None:
        raise FetchError(f"{url}: no usable Content-Range")
    first, last, total = (int(group) for group in match.groups())
    start, _, end = wanted.removeprefix("bytes=").partition("-")
    asked = (
        (int(start), min(int(end), total - 1)) if start else (max(0, total - int(end)), total - 1)
    )
    if (first, last) != asked or len(body) != last - first + 1:
        raise FetchError(f"{url}: another range than the one that was asked for")
    return total


def _local(url: str, wanted: str, limit: int) -> Answer:
    path = Path(urllib.request.url2pathname(urlsplit(url).path))
    if path.is_dir():
        path /= "index.html"
    try:
        with path.open("rb") as stream:
            total = stream.seek(0, os.SEEK_END)
            start, _, end = wanted.removeprefix("bytes=").partition("-")
            stream.seek(int(start) if start else max(0, total - int(end)) if end else 0)
            body = stream.read(limit if wanted else limit + 1)
    except OSError as error:
        raise FetchError(f"{url}: {type(error).__name__}") from error
    if len(body) > limit:
        raise FetchError(f"{url}: larger than {limit} bytes")
    return Answer(body, url, "text/html", total)


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _save(path: Path, answer: Answer) -> None:
    """Write one line of JSON and the body; the name is a digest, so no outside text names it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    head = {"url": answer.url, "content_type": answer.content_type, "total": answer.total}
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(json.dumps(head).encode() + b"\n" + answer.body)
    unfinished.replace(path)


def _load(path: Path) -> Answer:
    head, _, body = path.read_bytes().partition(b"\n")
    return Answer(body=body, **json.loads(head))
