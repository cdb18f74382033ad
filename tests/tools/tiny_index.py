"""A package index in a folder, served over the loopback with byte ranges, well or badly."""

from __future__ import annotations

import io
import re
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tools.refresh.index import Index
from tools.refresh.settings import Settings, settings_for
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType


class Handler(BaseHTTPRequestHandler):
    """Serves files of a folder; paths with a behaviour of their own answer by that."""

    served: TinyIndex

    def do_GET(self) -> None:
        self.served.asked.append((self.path, self.headers.get("Range", "")))
        self.served.headers.append(dict(self.headers))
        if behaviour := self.served.behaviours.get(self.path):
            behaviour(self)
            return
        body = self.served.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.answer(body, self.headers.get("Range", ""))

    def answer(self, body: bytes, wanted: str) -> None:
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted)
        if match is None:
            self.reply(200, body)
            return
        start = int(match[1]) if match[1] else max(0, len(body) - int(match[2]))
        end = min(int(match[2]), len(body) - 1) if match[1] and match[2] else len(body) - 1
        self.reply(206, body[start : end + 1], f"bytes {start}-{end}/{len(body)}")

    def reply(self, status: int, body: bytes, content_range: str = "", kind: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind or self.served.kinds.get(self.path, "text/html"))
        self.send_header("Content-Length", str(len(body)))
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class TinyIndex:
    """Files by path; ``url`` is the base of its Simple API."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, bytes] = {}
        self.kinds: dict[str, str] = {}
        self.behaviours: dict[str, Callable[[Handler], None]] = {}
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        handler = type("BoundHandler", (Handler,), {"served": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> TinyIndex:  # noqa: PYI034 -- Self is of Python 3.11
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/simple/"

    def add(self, package: str, *wheels: tuple[str, bytes]) -> None:
        """Offer files of a package."""
        for name, body in wheels:
            self.files[f"/files/{name}"] = body
        links = "".join(f'<a href="../../files/{name}">{name}</a>\n' for name, _ in wheels)
        self.files[f"/simple/{package}/"] = f"<html><body>{links}</body></html>".encode()

    def settings(self) -> Settings:
        return settings_for((self.url,))

    def transport(self, *, offline: bool = False) -> Transport:
        return Transport(self.settings(), self.folder / "cache", offline=offline)

    def open(self) -> Index:
        return Index(self.transport(), (self.url,))


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a wheel with these members: the same bytes at any time, for names of tests."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, body in members.items():
            archive.writestr(zipfile.ZipInfo(name), body, method)
    return buffer.getvalue()


def metadata(name: str, version: str, *requirements: str) -> bytes:
    """Return a METADATA."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requirements]
    return "\n".join([*lines, "", "Requires-Dist: not-a-header"]).encode()


def strings(*texts: str) -> bytes:
    """Return bytes of a library in which these texts stand, each between NULs."""
    return b"\x7fELF" + b"\1" * 5000 + b"\0" + b"\0".join(t.encode() for t in texts) + b"\0\2\2"


OLD_STRING = "_ZN3c105ErrorC1ENS_14SourceLocationESs"
NEW_STRING = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcE"


def torch_wheel(
    version: str,
    *,
    python: str = "cp311-cp311",
    platform: str = "manylinux_2_28_x86_64",
    cuda: str | None = "99.1",
    flags: str = "sm_75 sm_90a sm_100",
    glibc: str = "GLIBC_2.17",
    constructor: str = NEW_STRING,
    triton: str = 'triton==9.1.0; platform_system == "Linux"',
) -> tuple[str, bytes]:
    """Return name and bytes of something that looks like torch."""
    told = f"from typing import Optional\ncuda: Optional[str] = {cuda!r}\nhip = None\n"
    body = packed(
        {
            "torch/version.py": told.encode(),
            "torch/lib/libtorch_python.so": strings(glibc, *([flags] if flags else [])),
            "torch/lib/libc10.so": strings("GLIBC_2.2.5", constructor),
            f"torch-{version}.dist-info/METADATA": metadata("torch", version, "filelock", triton),
        }
    )
    return f"torch-{version}-{python}-{platform}.whl", body
