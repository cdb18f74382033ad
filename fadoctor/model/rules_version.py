"""How a version of the rules is named wherever one is: in reports, lists, plans and updates."""

from __future__ import annotations

_SHIPPED = "as shipped with fadoctor"


def rules_version(version: str, origin: str, *, shipped: bool = False) -> str:
    """Return ``2026.11.22 (fetched on ...)``: where it came from, if not with fadoctor.

    With `shipped` that is said, too, for those who compare it with another.
    """
    said = origin or (_SHIPPED if shipped else "")
    return f"{version} ({said})" if said else version
