"""Markers on one target, each evaluated once: a lock repeats the same few hundreds of times."""

from __future__ import annotations

from fadoctor.probes.requires import Target, marker_holds


class Markers:
    """What markers come to on a target."""

    def __init__(self, target: Target) -> None:
        """Take the variables that are known of the target."""
        self._target = target
        self._held: dict[tuple[str, str], bool | None] = {}

    def hold(self, marker: str, extra: str = "") -> bool | None:
        """Return whether a marker holds, "" always; None where that is not known.

        With an extra: whether it holds because of that extra. What holds without it, does not.
        """
        asked = (marker, extra)
        if asked not in self._held:
            self._held[asked] = self._evaluated(marker, extra)
        return self._held[asked]

    def _evaluated(self, marker: str, extra: str) -> bool | None:
        if not marker or "extra" not in marker:
            return False if extra else marker_holds(marker, self._target) if marker else True
        return marker_holds(marker, Target({**self._target.variables, "extra": extra}))
