"""Markers on one target, each evaluated once: a lock repeats the same few hundreds of times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.probes.requires import MarkerTarget, marker_holds

if TYPE_CHECKING:
    from fadoctor.sources.manifests.chosen import ManifestRequest

# uv: extra == 'extra-7-project-cu128', where extras of a project exclude each other
_CHOSEN = re.compile(r"extra [!=]= '((?:extra|group)-[^']{1,200})'")

MARKER_LIMIT = 5_000
"""Different markers that are evaluated: real files have dozens."""


class Markers:
    """What markers come to on a target."""

    def __init__(self, target: MarkerTarget, choice: ManifestRequest | None = None) -> None:
        """Take the variables that are known of the target, and what was chosen."""
        self._target = target
        self._choice = choice if choice is not None and choice.is_made else None
        self._held: dict[tuple[str, str], bool | None] = {}

    def hold(self, marker: str, extra: str = "") -> bool | None:
        """Return whether a marker holds, "" always; None where that is not known.

        With an extra: whether it holds because of that extra. What holds without it, does not.
        """
        asked = (marker, extra)
        if asked not in self._held:
            if len(self._held) >= MARKER_LIMIT:
                return None
            self._held[asked] = self._evaluated(marker, extra)
        return self._held[asked]

    def _evaluated(self, marker: str, extra: str) -> bool | None:
        if (chosen := _CHOSEN.findall(marker)) and self._choice is not None:
            settled = self._choice.settled(marker)
            return marker_holds(settled, MarkerTarget({**self._target.variables, "extra": ""}))
        if chosen:
            return self._of_any(marker, ("", *dict.fromkeys(chosen[:20])))
        if not marker or "extra" not in marker:
            return False if extra else marker_holds(marker, self._target) if marker else True
        return marker_holds(marker, MarkerTarget({**self._target.variables, "extra": extra}))

    def _of_any(self, marker: str, extras: tuple[str, ...]) -> bool | None:
        """Return what a marker comes to whichever of the project's extras are chosen."""
        found = {
            marker_holds(marker, MarkerTarget({**self._target.variables, "extra": each}))
            for each in extras
        }
        return found.pop() if len(found) == 1 else None
