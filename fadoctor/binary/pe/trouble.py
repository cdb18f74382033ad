"""What stops the loader of Windows, and its words for it."""

from __future__ import annotations

import enum

import msgspec


class TroubleKind(enum.Enum):
    """What is wrong."""

    MISSING_DLL = "missing-dll"
    MISSING_PROCEDURE = "missing-procedure"
    OTHER_MACHINE = "other-machine"
    OTHER_PYTHON = "other-python"
    """It is linked to the library of another Python, which this process does not hold."""
    TRUNCATED = "truncated"
    NOT_PE = "not-pe"

    # What cannot be decided
    UNFOUND = "unfound"
    """No folder that is known has it; others may."""
    UNREADABLE = "unreadable"
    TOO_LARGE = "too-large"


UNDECIDED_TROUBLE = frozenset({TroubleKind.UNFOUND, TroubleKind.UNREADABLE, TroubleKind.TOO_LARGE})


class DllTrouble(msgspec.Struct, frozen=True):
    """One obstacle."""

    kind: TroubleKind
    path: str
    """The file whose loading ends here."""
    name: str = ""
    """The library or the symbol."""
    provider: str = ""
    """The file, or the library, that should have the symbol."""
    detail: str = ""


_SAYS = {
    TroubleKind.MISSING_DLL: "The specified module could not be found",
    TroubleKind.MISSING_PROCEDURE: "The specified procedure could not be found",
    TroubleKind.OTHER_MACHINE: "%1 is not a valid Win32 application",
    TroubleKind.NOT_PE: "%1 is not a valid Win32 application",
    TroubleKind.TRUNCATED: "%1 is not a valid Win32 application",
    TroubleKind.OTHER_PYTHON: "The specified module could not be found",
}


def windows_says(trouble: DllTrouble) -> str:
    """Return what Windows says, with the name that it leaves out."""
    said = _SAYS.get(trouble.kind, "")
    if not said:
        return trouble.detail
    return f"{said} ({trouble.name or trouble.detail})" if trouble.name or trouble.detail else said
