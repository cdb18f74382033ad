"""A requirement that a text tells of, and how its parts are written."""

from __future__ import annotations

import msgspec


class ToldRequirement(msgspec.Struct, frozen=True):
    """One requirement that a line tells of. Names are normalised."""

    asker: str
    """The distribution that requires it, "" where the line names none."""
    release: str
    """The asker's release, "" where the line does not say it."""
    needs: str
    """The distribution that is required."""
    specifier: str
    """The versions that will do, "" for any."""
    found: str = ""
    """The version that is installed, "" where none is, or the line says nothing of it."""
    is_missing: bool = False
    """Whether the line says that it is not installed."""

    @property
    def is_certain(self) -> bool:
        """Return whether the line says itself that the requirement is not met."""
        return self.is_missing or bool(self.found)


VERSION = r"\d[\w.+!-]{0,80}"
RELEASE = (
    r"(?:\d{1,4}!)?\d{1,8}(?:\.\d{1,8}){0,6}(?:\.\*)?(?:(?:a|b|rc|\.?post|\.?dev)\d{1,8})?"
    r"(?:\+[\w.]{1,30})?"
)
CLAUSE = rf"(?:===?|~=|!=|<=?|>=?) ?{RELEASE}"
RANGE = rf"{CLAUSE}(?:, ?{CLAUSE}){{0,11}}"


def specifier_of(text: str) -> str:
    """Return a specifier as pip writes it: conda has 2.0.1 for ==2.0.1, and =2.0 for ==2.0.*."""
    text = text.replace(" ", "").rstrip(",")
    if text[:1].isdigit():
        return f"=={text}"
    return f"={text}.*" if text[:1] == "=" and text[1:2].isdigit() else text
