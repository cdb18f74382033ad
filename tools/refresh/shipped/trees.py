"""Released packages, a folder each: their Python sources, and empty files for what is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.errors import RefreshError
from tools.refresh.names.archive import WheelSources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tools.refresh.index import File, Index, Release
    from tools.refresh.transport import Transport

DONE = ".complete"


@dataclass(frozen=True)
class Shelf:
    """Where sources are fetched from, and where they lie."""

    index: Index
    transport: Transport
    folder: Path

    def place(self, requirement: str) -> Path:
        """Return the folder of ``name==version``, filled where it was not."""
        name, _, version = requirement.partition("==")
        place = self.folder / f"{name}-{version}"
        if not (place / DONE).exists():
            release = self.index.releases(name).get(Version(version))
            if release is None:
                raise RefreshError(f"{requirement}: no such release")
            self._fill(place, WheelSources(self.transport, _wheel(release, requirement)))
            (place / DONE).touch()
        return place

    def _fill(self, place: Path, sources: WheelSources) -> None:
        wanted = [path for path in sources.digests if is_safe(path)]
        for path, text in sources.read_raw(wanted).items():
            _made(place / path).write_bytes(text)
        for path in filter(is_safe, sources.others):
            _made(place / path).touch()


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def is_safe(path: str) -> bool:
    """Return whether a member lies below the import folder."""
    parts = path.split("/")
    return not (path.startswith("/") or ".." in parts or parts[0].endswith(".data"))


def _wheel(release: Release, requirement: str) -> File:
    """Return the wheel that is read: the same whenever it is asked."""
    wheels = release.wheels() or release.wheels("x86_64")
    usable = [file for file in wheels if file.name.endswith(".whl")]
    if not usable:
        raise RefreshError(f"{requirement}: no wheel")
    return max(usable, key=lambda file: file.name)


def assume_distributed(place: Path) -> None:
    """Let a release of torch say that it has torch.distributed: its wheels for Linux do.

    What says so is no Python source, and lies in a file that is not fetched.
    """
    if (place / "torch").is_dir():
        told = _made(place / "torch" / "share" / "cmake" / "Caffe2" / "Caffe2Targets.cmake")
        told.write_text('INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"\n')


def stubs(folder: Path, modules: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Make empty modules that are only asked whether they are there; yield name and version."""
    for distribution, module in modules.items():
        _made(folder / module / "__init__.py").touch()
        yield distribution, "9999"
