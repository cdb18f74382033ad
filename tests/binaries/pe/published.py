"""Libraries out of published wheels for Windows, fetched by ranges: megabytes, never gigabytes."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from packaging.version import Version

from tools.refresh.index import Index
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from tools.refresh.wheel import Wheel


class Published(NamedTuple):
    """Files of one wheel."""

    package: str
    version: str
    tag: str
    """Of the Python that the wheel is for; "" where there is but one wheel."""
    patterns: tuple[str, ...]


_TORCH = ("*/c10.dll", "*/torch_python.dll", "torch/_C.*", "*/shm.dll", "*/torch_global_deps.dll",
          "*/libiomp5md.dll")  # fmt: skip
WHEELS = (
    Published("torch", "2.4.1", "cp311", (*_TORCH, "*/lib/uv.dll", "*/lib/fbgemm.dll")),
    Published("torch", "2.8.0", "cp313t", _TORCH[:3]),
    Published("torch", "2.15.0", "cp311", _TORCH),
    Published("xformers", "0.0.27.post2", "cp311", ("xformers/_C.pyd",)),
    Published("xformers", "0.0.35", "", ("*.pyd",)),
    Published("bitsandbytes", "0.50.2", "", ("*cuda130.dll", "*cpu.dll", "*rocm72.dll")),
    Published("triton-windows", "3.4.0.post21", "cp311", ("*tcc.exe", "*libtcc.dll")),
    Published("triton-windows", "3.8.0.post29", "cp311", ("*tcc.exe", "*libtcc.dll")),
    Published("torchvision", "0.25.0", "cp311", ("*.pyd", "*.dll")),
    Published("torchaudio", "2.8.0", "cp311", ("torchaudio/lib/*.pyd",)),
)
LIMIT = 64 << 20


def open_wheel(index: Index, package: str, version: str, tag: str) -> Wheel:
    """Return the wheel for 64-bit Windows of one release."""
    ending = f"-{tag}-win_amd64.whl" if tag else "-win_amd64.whl"
    files = index.releases(package)[Version(version)].files
    return index.wheel(next(file for file in files if file.name.endswith(ending)))


def index_in(folder: Path) -> Index:
    """Return the package index that pip uses; FADOCTOR_TESTS_WHEELS keeps what was fetched."""
    kept = Path(os.environ.get("FADOCTOR_TESTS_WHEELS") or folder, "ranges")
    settings = read_settings()
    return Index(Transport(settings, kept), settings.indexes)


def files_of(index: Index, wanted: Published, folder: Path) -> list[Path]:
    """Return the files of one wheel, written to a folder."""
    wheel = open_wheel(index, wanted.package, wanted.version, wanted.tag)
    found = []
    for name in sorted(wheel.names):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted.patterns):
            path = folder / f"{wanted.package}-{wanted.version}" / name.replace("/", "__")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(wheel.chunks(name, LIMIT)))
            found.append(path)
    return found
