"""What the loader would say about an extension."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.binary.reason import Reason, ReasonKind
from fadoctor.binary.search import FoundBy


class LoadStage(enum.Enum):
    """Where it ends."""

    INTERPRETER = "interpreter"
    """The interpreter does not start."""
    TORCH = "torch"
    """``import torch`` fails, which the extension needs."""
    EXTENSION = "extension"


class Library(msgspec.Struct, frozen=True):
    """A library of the closure."""

    soname: str
    """The name that it was asked for by, or its path for the root."""
    path: str
    origin: FoundBy
    asked_by: str
    """The path of the object that asked first; empty for the executable."""


class LoadVerdict(msgspec.Struct, frozen=True):
    """An answer; `loads` is None where it cannot be told."""

    loads: bool | None
    reason: Reason | None


class Prediction(msgspec.Struct, frozen=True):
    """What ``dlopen`` would do. Lists are in the loader's order."""

    path: str
    loads: bool | None
    """Whether it loads; None where that cannot be told. Loading is less than being compatible."""
    reason: Reason | None
    """The first obstacle, the one that the error message names."""
    stage: LoadStage
    beyond_driver: LoadVerdict | None
    """Where a library of the driver is the first obstacle: the answer if it were there.
    Symbols that only it can have are in `unchecked`, and `loads` is None for them."""
    missing: tuple[Reason, ...] = ()
    """Every library that is missing or cannot be used."""
    versions: tuple[Reason, ...] = ()
    undefined: tuple[Reason, ...] = ()
    """Symbols that nothing provides, at most 200, without those that a missing library may have."""
    undefined_count: int = 0
    unchecked: tuple[str, ...] = ()
    """Symbols that one of the missing libraries may have, at most 200."""
    needed: tuple[str, ...] = ()
    """Its DT_NEEDED."""
    libraries: tuple[Library, ...] = ()
    """Its closure, breadth first, without itself."""
    glibc: str = ""
    """The highest GLIBC_ version that it needs, "" for none; likewise the next two."""
    glibcxx: str = ""
    cxxabi: str = ""
    libcudart: str = ""
    """The libcudart in its DT_NEEDED, ``libcudart.so.12``; "" where it has none."""


def agreed(one: Prediction, other: Prediction) -> Prediction:
    """Return a prediction where two processors give the same one."""
    if (one.loads, one.reason) == (other.loads, other.reason) or one.loads is None:
        return one
    words = "the processor decides which libraries are loaded, and it is unknown"
    reason = Reason(ReasonKind.PROCESSOR_UNKNOWN, one.path, detail=words)
    return msgspec.structs.replace(one, loads=None, reason=reason, beyond_driver=None)
