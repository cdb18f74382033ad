"""Why the loader would refuse a file, or why that cannot be told."""

from __future__ import annotations

import enum

import msgspec


class ReasonKind(enum.Enum):
    """What stops the loader, or us."""

    MISSING_FILE = "missing-file"
    """The file that is to be opened is not there."""
    MISSING_SONAME = "missing-soname"
    VERSION_NOT_FOUND = "version-not-found"
    UNDEFINED_SYMBOL = "undefined-symbol"
    UNVERSIONED_PROVIDER = "unversioned-provider"
    """The library that is named for a version has no version table: ld.so ends the process."""
    TRUNCATED = "truncated"
    NOT_ELF = "not-elf"
    FOREIGN_MACHINE = "foreign-machine"
    NOT_A_LIBRARY = "not-a-library"
    NOT_FOR_DLOPEN = "not-for-dlopen"
    """It was linked to be loaded at the start of a program only."""
    PROCESSOR_TOO_OLD = "processor-too-old"
    STATIC_TLS = "static-tls"
    """The block for thread-local variables that is shared by all libraries is full."""

    # What cannot be decided
    MALFORMED = "malformed"
    UNREADABLE = "unreadable"
    INTERPRETER_UNKNOWN = "interpreter-unknown"
    MUSL = "musl"
    MACHINE_UNKNOWN = "machine-unknown"
    TOO_LARGE = "too-large"
    PROCESSOR_UNKNOWN = "processor-unknown"
    STATIC_TLS_UNSURE = "static-tls-unsure"


UNDECIDED = frozenset(
    {
        ReasonKind.MALFORMED,
        ReasonKind.UNREADABLE,
        ReasonKind.INTERPRETER_UNKNOWN,
        ReasonKind.MUSL,
        ReasonKind.MACHINE_UNKNOWN,
        ReasonKind.TOO_LARGE,
        ReasonKind.PROCESSOR_UNKNOWN,
        ReasonKind.STATIC_TLS_UNSURE,
    }
)
"""Kinds that say nothing about what the loader would do."""


class Reason(msgspec.Struct, frozen=True):
    """One obstacle. Paths are as the loader would spell them; empty where there is none."""

    kind: ReasonKind
    path: str
    """The object whose loading ends here."""
    name: str = ""
    """The soname, version or symbol."""
    version: str = ""
    """The version that the symbol is wanted in."""
    provider: str = ""
    """Who should have had it: a path, or a soname where it is named only."""
    detail: str = ""
    """What the loader says about the file, or what hindered us."""


NOT_OPENED = "cannot open shared object file"
_NOT_FOUND = f"{NOT_OPENED}: No such file or directory"
NO_PROGRAM_HEADERS = "cannot read file data"
"""What the loader says to a file that ends within its program headers; later it just dies."""


LOADER_ASSERTION = (
    "check_match: Assertion `version->filename == NULL || ! _dl_name_match_p (version->filename,"
    " map)' failed!"
)
"""What ld.so prints where it ends the process at a provider without versions."""


def dlerror(reason: Reason) -> str:
    """Return the text that ``dlerror()`` gives in glibc, "" where the process dies without one."""
    path, name = reason.path, reason.name
    match reason.kind:
        case ReasonKind.MISSING_FILE | ReasonKind.FOREIGN_MACHINE:
            text = f"{path}: {reason.detail or _NOT_FOUND}"
        case ReasonKind.MISSING_SONAME:
            text = f"{name}: {reason.detail or _NOT_FOUND}"
        case ReasonKind.VERSION_NOT_FOUND:
            text = f"{reason.provider}: version `{name}' not found (required by {path})"
        case ReasonKind.UNDEFINED_SYMBOL:
            version = f", version {reason.version}" if reason.version else ""
            text = f"{path}: undefined symbol: {name}{version}"
        case ReasonKind.NOT_ELF | ReasonKind.NOT_A_LIBRARY | ReasonKind.NOT_FOR_DLOPEN:
            text = f"{path}: {reason.detail}"
        case ReasonKind.PROCESSOR_TOO_OLD:
            text = f"{path}: CPU ISA level is lower than required"
        case ReasonKind.STATIC_TLS:
            text = f"{path}: cannot allocate memory in static TLS block"
        case ReasonKind.TRUNCATED if reason.detail == NO_PROGRAM_HEADERS:
            text = f"{path}: {reason.detail}"
        case _:
            text = ""
    return text
