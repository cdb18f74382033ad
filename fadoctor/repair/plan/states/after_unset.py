"""The facts of packages that PYTHONPATH or the user site hides, once it no longer does.

Of what is imported then only the version was read: its metadata stand in the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

_WAYS = {"PYTHONPATH": "PYTHONPATH", "PYTHONNOUSERSITE": "user site"}
"""The variable by which a folder no longer comes first -> how it did."""
_KEPT = ("distribution", "version", "hidden_version")
_SOURCE = "without the folder that hides it"


def without_folders(facts: Mapping[str, Fact], variables: frozenset[str]) -> dict[str, Fact]:
    """Return the facts that change where these variables no longer let packages be hidden."""
    how, hidden = facts.get("packages.hidden_how"), facts.get("packages.hidden")
    ways = how.value if isinstance(how, Known) and isinstance(how.value, tuple) else ()
    if not ways or not {_WAYS[name] for name in variables & _WAYS.keys()}.issuperset(ways):
        return {}
    changed: dict[str, Fact] = {}
    if isinstance(hidden, Known):
        gone = ("packages.hidden", "packages.hidden_by", "packages.hidden_how")
        changed |= dict.fromkeys(gone, Absent(_SOURCE))
    for key in PACKAGES:
        own = facts.get(f"{key}.hidden_version")
        if isinstance(own, Known):
            changed |= _own(facts, key, own)
    return changed


def _own(facts: Mapping[str, Fact], key: str, own: Known) -> dict[str, Fact]:
    """Return the facts of the environment's own copy: its version, and that the rest is unread."""
    unread = Unknown("another copy is imported then, of which only the version was read", _SOURCE)
    mine = [name for name in facts if name.startswith(f"{key}.")]
    rest = [name for name in mine if name.partition(".")[2] not in _KEPT]
    return {
        **dict.fromkeys(rest, unread),
        f"{key}.version": Known(own.value, _SOURCE),
        f"{key}.hidden_version": Absent(_SOURCE),
    }
