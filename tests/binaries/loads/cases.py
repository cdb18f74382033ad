"""What a case for the loader is: what is opened, in which process, and what must come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.binary.prediction import LoadStage
from tests.binaries.forge import offers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.binary.reason import ReasonKind
    from tests.binaries.forge import Forge


class Case(NamedTuple):
    """One library to open."""

    path: Path
    kind: ReasonKind | None
    """The first obstacle; None where it loads."""
    name: str = ""
    """The soname, version or symbol that is named."""
    torch: Path | None = None
    library_path: tuple[Path, ...] = ()
    preload: Path | None = None
    stage: LoadStage = LoadStage.EXTENSION

    def environ(self) -> dict[str, str]:
        """Return the variables of the process."""
        environ = {}
        if self.library_path:
            environ["LD_LIBRARY_PATH"] = ":".join(map(str, self.library_path))
        if self.preload:
            environ["LD_PRELOAD"] = str(self.preload)
        return environ


CASES: dict[str, Callable[[Forge], Case]] = {}


def listed(build: Callable[[Forge], Case]) -> Callable[[Forge], Case]:
    CASES[build.__name__.replace("_", "-")] = build
    return build


def extension(forge: Forge, source: str, torch: Path, *flags: str) -> Path:
    return forge.library("ext.so", source, *flags, needs=(torch / "lib" / "libc10.so",))


def two_sorts(forge: Forge) -> tuple[Path, Path]:
    """Return libdep.so with the function a, and one with the function b."""
    one = forge.below("a").library("libdep.so", offers("a"))
    return one, forge.below("b").library("libdep.so", offers("b"))
